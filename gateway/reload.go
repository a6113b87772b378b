package gateway

import (
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/config"
	"sluice/router"
)

var errNoReload = errors.New("this gateway runs without a configuration file: there is nothing to reload")

// Reloaded is what a reload did.
type Reloaded struct {
	Changes []string // a line for each setting: "pools.a.cap.total: 64 → 32"; and for each certificate
	Restart []string // in the same form: what a restart would change besides
}

// Reload reads the configuration again, and the certificates and keys that it
// names, and puts all in force or nothing: whatever is wrong, the old one stays
// as it was. Replicas keep their leases, connections and breakers by address;
// requests that wait keep their places; running streams keep the policy that
// they began with. What happened is logged and counted.
func (g *Gateway) Reload() (Reloaded, error) {
	g.reloads.Lock()
	defer g.reloads.Unlock()
	done, err := g.reload()
	g.account.Reloaded(time.Now(), err)
	if err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			g.log.Error("reload refused, the last good configuration stays in force", "problem", problem)
		}
		return Reloaded{}, err
	}
	for _, change := range done.Changes {
		g.log.Info("reloaded", "change", change)
	}
	for _, change := range done.Restart {
		g.log.Warn("this change needs a restart", "change", change)
	}
	if len(done.Changes) == 0 {
		g.log.Info("reloaded, no setting has changed")
	}
	return done, nil
}

// reload does what can fail first; from the fleet's commit on nothing does.
func (g *Gateway) reload() (Reloaded, error) {
	if g.load == nil {
		return Reloaded{}, errNoReload
	}
	cfg, err := g.load()
	if err != nil {
		return Reloaded{}, err
	}
	fresh, policyErr := g.policies.build(cfg)
	shown, credentialsErr := readCredentials(cfg.Listeners)
	if err := errors.Join(policyErr, credentialsErr); err != nil {
		return Reloaded{}, err
	}
	old := g.policies.get().cfg
	err = g.fleet.ApplyWith(cfg, func(list []router.Replica) {
		// In this order each grant finds its pool in the policy, and each
		// outcome its pool in the ledger.
		g.account.Reconfigure(fresh.names())
		g.policies.current.Store(fresh)
		g.gate.Reload(cfg, list)
	})
	if err != nil {
		return Reloaded{}, err
	}
	changes := append(cfg.Diff(old), shown.diff(g.shown.Load())...)
	g.shown.Store(shown)
	g.follow(cfg.Log.Level)
	return Reloaded{Changes: changes, Restart: g.pending(cfg)}, nil
}

// follow sets the level of the log.
func (g *Gateway) follow(level string) {
	if err := g.level.UnmarshalText([]byte(level)); err != nil {
		panic("BUG: a validated configuration has a bad log level: " + err.Error())
	}
}

// readAtStart lists the settings that a reload can't put in force: they shape
// the listeners, their servers and the access log.
var readAtStart = []string{
	"listeners.data.address", "listeners.ops.address", "listeners.control.address",
	"limits.headers", "limits.connections",
	"timeouts.read_headers", "timeouts.idle_client", "timeouts.write_stall",
	"log.access",
}

// pending lists how the settings that were read at the start differ from what is
// written now, whichever reload brought the difference.
func (g *Gateway) pending(cfg *config.Config) []string {
	return slices.DeleteFunc(cfg.Diff(g.started), func(change string) bool {
		setting, _, _ := strings.Cut(change, ":")
		return !slices.Contains(readAtStart, setting)
	})
}
