package config

// Load reads the file at path, lays the environment's SLUICE_ variables
// ("NAME=value", as os.Environ gives them) and the flags (dotted path to value)
// over it, and checks the whole. The error is Problems, or that of reading the
// file. An empty path means that there is no file.
func Load(path string, env []string, flags map[string]any) (*Config, error) {
	return nil, nil
}

// Parse is Load for a file's content that is at hand, with no environment and
// no flags. The name stands in the problems.
func Parse(name string, data []byte) (*Config, error) {
	return nil, nil
}
