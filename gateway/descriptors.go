package gateway

import (
	"fmt"

	"sluice/config"
)

// ownFiles are the descriptors that are no client's and no replica's: listeners,
// logs, epoll, scrapes, probes and operators, and the 64 clients that may be being
// turned away at once.
const ownFiles = 192

// fewestConnections is what clients get of the descriptors however few there are.
const fewestConnections = 16

// Advise warns of what is valid but more than the process that asks is allowed by
// its machine, for `sluice serve` and `sluice check`.
func Advise(cfg *config.Config) []string {
	files := fileLimit()
	fits := connectionsThatFit(cfg, files)
	if fits >= cfg.Limits.Connections {
		return nil
	}
	return []string{fmt.Sprintf("limits.connections: %d, but this process may open %d files, which leaves room for %d; more clients than that will be turned away. "+
		"Raise the limit on open files (ulimit -n, LimitNOFILE=) to %d, or lower limits.connections",
		cfg.Limits.Connections, files, fits, uint64(cfg.Limits.Connections)+otherFiles(cfg))}
}

// otherFiles are the descriptors that clients must not take: a connection to a
// replica for each sequence that it may hold, two for its checks, and our own.
func otherFiles(cfg *config.Config) uint64 {
	n := uint64(ownFiles)
	for _, p := range cfg.Pools {
		n += uint64(len(p.Replicas)) * (uint64(p.Cap.Total) + 2)
	}
	return n
}

// connectionsThatFit is limits.connections, or less where the limit on open files
// doesn't go so far. A process that has run out of descriptors can't answer its
// probes or reach its replicas either, so clients stop before that.
func connectionsThatFit(cfg *config.Config, files uint64) int {
	need := otherFiles(cfg)
	if files >= need+uint64(cfg.Limits.Connections) {
		return cfg.Limits.Connections
	}
	room := max(files/4, fewestConnections)
	if files > need {
		room = max(room, files-need)
	}
	return int(min(room, uint64(cfg.Limits.Connections)))
}
