package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"sluice/config"
	"sluice/router"
	"sluice/router/lab"
	"sluice/router/tune"
)

// drawn is the traffic of a workload: each class at the pool that a route prefers
// for it. Its shifts and bursts don't count, nor what prompts share; nor do kinds that
// come at a rate of their own, as those of priority batch do.
func drawn(name string, cfg *config.Config) (map[string]tune.Traffic, error) {
	w, err := workload(name)
	if err != nil {
		return nil, err
	}
	all := map[string]tune.Traffic{}
	for pool := range cfg.Pools {
		t := tune.Traffic{Late: -1, Workload: w.Name}
		for _, k := range w.Kinds {
			if class := router.ParseClass(k.Class); prefers(cfg, pool, class) {
				s := t.Of(class)
				s.Prompts = append(s.Prompts, points(k.Prompt, k.Share, k.Prefix.Tokens)...)
				s.Answers = append(s.Answers, points(k.Answer, k.Share, 0)...)
			}
		}
		for _, s := range []*tune.Sizes{&t.Prefill, &t.Decode} {
			for _, p := range []tune.Points{s.Prompts, s.Answers} {
				slices.SortFunc(p, func(a, b tune.Point) int { return cmp.Compare(a.Value, b.Value) })
			}
		}
		all[pool] = t
	}
	return all, nil
}

// workload finds one by name among the committed ones, or else reads a file.
func workload(name string) (*lab.Workload, error) {
	known, err := lab.Workloads()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range known {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{"tune", fmt.Sprintf("there is no workload or file %q; the workloads are %s", name, strings.Join(names, ", "))}
	}
	if err != nil {
		return nil, configError{fmt.Errorf("read the workload: %w", err)}
	}
	w, err := lab.ParseWorkload(name, text)
	if err != nil {
		return nil, configError{fmt.Errorf("%s: %w", name, err)}
	}
	return w, nil
}

// prefers tells whether some route sends a class to the pool first.
func prefers(cfg *config.Config, pool string, class router.Class) bool {
	for _, rt := range cfg.Routes {
		order := rt.Decode.Pools
		if class == router.Prefill {
			order = rt.Prefill.Pools
		}
		if len(order) > 0 && order[0].Pool == pool {
			return true
		}
	}
	return false
}

// points are a length's quantiles, as of 10,000 requests in all.
func points(l lab.Length, share float64, more int) tune.Points {
	const n = 64
	var all tune.Points
	for i := range n {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+.5)/n-1)
		v := max(l.Median*math.Exp(l.Spread*z), float64(max(l.Min, 1)))
		if l.Max > 0 {
			v = min(v, float64(l.Max))
		}
		all = append(all, tune.Point{Value: math.Round(v) + float64(more), Weight: 10000 * share / n})
	}
	return all
}
