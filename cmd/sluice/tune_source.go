package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/config"
	"sluice/router/tune"
)

// Limits on a text of metrics.
const (
	metricsWithin = 5 * time.Second
	metricsAtMost = 32 << 20 // bytes
)

// traffic is what each pool has seen.
func (f *tuneFlags) traffic(p process, cfg *config.Config) (map[string]tune.Traffic, error) {
	if f.workload != "" {
		return drawn(f.workload, cfg)
	}
	var gateway *tune.Metrics
	if f.gateway != "" {
		var err error
		if gateway, err = metricsOf(p.ctx, f.gateway); err != nil {
			return nil, fmt.Errorf("--metrics: %w", err)
		}
	}
	read, err := f.readings(p, cfg)
	if err != nil {
		return nil, err
	}
	if gateway == nil && len(read) == 0 {
		return nil, errors.New("no replica told its metrics; --metrics and --replica-metrics name other sources")
	}
	all := map[string]tune.Traffic{}
	for pool := range cfg.Pools {
		all[pool] = tune.Seen(pool, gateway, read[pool])
	}
	return all, nil
}

// readings are the metrics of replicas, by pool.
func (f *tuneFlags) readings(p process, cfg *config.Config) (map[string][]*tune.Metrics, error) {
	read := map[string][]*tune.Metrics{}
	for _, source := range f.replicas {
		pool, rest := poolPrefix(source, cfg)
		m, err := metricsOf(p.ctx, rest)
		if err != nil {
			return nil, fmt.Errorf("--replica-metrics: %w", err)
		}
		if pool == "" {
			if pool, err = poolFor(rest, m, cfg); err != nil {
				return nil, fmt.Errorf("--replica-metrics: %w", err)
			}
		}
		read[pool] = append(read[pool], m)
	}
	if len(f.replicas) > 0 {
		return read, nil
	}
	for _, pool := range slices.Sorted(maps.Keys(cfg.Pools)) {
		for _, url := range cfg.Pools[pool].Replicas {
			m, err := metricsOf(p.ctx, url+"/metrics")
			if err != nil {
				fmt.Fprintf(p.stderr, "sluice: pool %s goes on without a replica: %v\n", pool, err)
				continue
			}
			read[pool] = append(read[pool], m)
		}
	}
	return read, nil
}

// poolPrefix parts POOL=SOURCE; pool is empty where there is no such prefix.
func poolPrefix(source string, cfg *config.Config) (pool, rest string) {
	if name, rest, found := strings.Cut(source, "="); found {
		if _, known := cfg.Pools[name]; known {
			return name, rest
		}
	}
	return "", source
}

// poolFor finds whose replica a source is: by its address, or by the model that
// its metrics name.
func poolFor(source string, m *tune.Metrics, cfg *config.Config) (string, error) {
	var named []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		p := cfg.Pools[name]
		if slices.ContainsFunc(p.Replicas, func(url string) bool { return strings.HasPrefix(source, url+"/") }) {
			return name, nil
		}
		if slices.Contains(m.Served(), p.Model) {
			named = append(named, name)
		}
	}
	if len(named) != 1 {
		return "", fmt.Errorf("%s: it serves %q, which is the model of %s; say whose it is: POOL=%s", source, strings.Join(m.Served(), ", "), count(len(named), "pool"), source)
	}
	return named[0], nil
}

// metricsOf reads a source.
func metricsOf(ctx context.Context, source string) (*tune.Metrics, error) {
	var text []byte
	var err error
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		text, err = get(ctx, source)
	} else {
		text, err = os.ReadFile(source)
	}
	if err != nil {
		return nil, err
	}
	m, err := tune.ParseMetrics(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return m, nil
}

// get fetches a URL whole.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err // names the URL
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, metricsAtMost+1))
	if err == nil && len(text) > metricsAtMost {
		return nil, fmt.Errorf("%s answers more than %d bytes", url, metricsAtMost)
	}
	return text, err
}
