package config

import (
	"maps"
	"slices"
)

// Files lists the files that the configuration names: certificates, keys,
// authorities and secrets, each once, sorted. Their contents count at the next
// reload, so whoever watches the configuration watches them too. Tokenizers are not
// among them: they belong to the model and don't change under it, and watching is
// reading, 33 MB of each.
func (c *Config) Files() []string {
	named := make(map[string]bool)
	for _, t := range []TLS{c.Listeners.Data.TLS, c.Listeners.Ops.TLS, c.Listeners.Control.TLS} {
		named[t.Cert], named[t.Key] = true, true
	}
	named[c.Listeners.Control.Token.File] = true
	for _, pool := range c.Pools {
		named[pool.APIKey.File], named[pool.CA] = true, true
	}
	delete(named, "") // not set
	return slices.Sorted(maps.Keys(named))
}
