package gateway

import (
	"errors"
	"strings"
	"time"
)

var errNoReload = errors.New("this gateway runs without a configuration file: there is nothing to reload")

// Reload reads the configuration again and puts it in force, all or nothing:
// whatever is wrong with the new one, the old one stays as it was. Replicas keep
// their leases, connections and breakers by address, and running streams keep
// the policy that they began with. It returns what changed.
func (g *Gateway) Reload() ([]string, error) {
	g.reloads.Lock()
	defer g.reloads.Unlock()
	changes, err := g.reload()
	g.account.Reloaded(time.Now(), err)
	if err != nil {
		g.log.Error("reload refused; the last good configuration stays in force", "error", err)
		return nil, err
	}
	if len(changes) == 0 {
		g.log.Info("reloaded; nothing has changed")
		return changes, nil
	}
	g.log.Info("reloaded", "changes", strings.Join(changes, "; "))
	return changes, nil
}

// reload does what can fail first, and only then puts the new policy in force.
func (g *Gateway) reload() ([]string, error) {
	if g.load == nil {
		return nil, errNoReload
	}
	cfg, err := g.load()
	if err != nil {
		return nil, err
	}
	old := g.policies.get()
	fresh, err := g.policies.build(cfg)
	if err != nil {
		return nil, err
	}
	if err := g.certs.load(cfg); err != nil {
		return nil, err
	}
	if err := g.fleet.Apply(cfg); err != nil {
		return nil, errors.Join(err, g.certs.load(old.cfg))
	}
	g.gate.ApplyConfig(cfg)
	g.account.Reconfigure(fresh.names())
	g.policies.current.Store(fresh)
	changes := cfg.Diff(old.cfg)
	for _, c := range changes {
		if strings.HasPrefix(c, "listeners.") && strings.Contains(c, ".address") || needsRestart(c) {
			g.log.Warn("this change needs a restart to take effect", "change", c)
		}
	}
	return changes, nil
}

// needsRestart tells which settings are read once, when the listeners open.
func needsRestart(change string) bool {
	for _, prefix := range []string{
		"listeners.control.token", "limits.headers", "limits.connections", "log.",
		"timeouts.read_headers", "timeouts.read_body", "timeouts.idle_client", "timeouts.write_stall",
	} {
		if strings.HasPrefix(change, prefix) {
			return true
		}
	}
	return false
}
