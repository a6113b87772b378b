package main

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sluice/gateway/vllmsim"
)

// define declares the flags: first vLLM's, then the simulation's own.
func (f *simFlags) define(fs *flag.FlagSet) {
	o := &f.options
	_ = f.model("google/gemma-3-27b-it") // any name is taken
	fs.Func("model", "`name` of a Gemma 3 of 4b, 12b or 27b (default google/gemma-3-27b-it)", f.model)
	fs.Func("served-model-name", "`name` in requests and metrics; may be given several times (default: the model's)", f.served)
	fs.StringVar(&f.host, "host", "127.0.0.1", "`address` to listen on")
	fs.IntVar(&f.port, "port", 8000, "port; 0: any that is free")
	fs.StringVar(&o.APIKey, "api-key", "", "`key` that clients must send")
	fs.Func("max-model-len", "`tokens` of prompt and answer together, 8192 or 8k (default 128000)", into(&o.MaxModelLen))
	fs.Func("max-num-seqs", "`sequences` that run at once (default 512)", into(&o.MaxNumSeqs))
	fs.Func("max-num-batched-tokens", "`tokens` of a step (default 8192)", into(&o.MaxNumBatchedTokens))
	fs.Func("max-num-queued-reqs", "`sequences` held at once, beyond which requests are refused (default: no bound)", into(&o.MaxNumQueuedReqs))
	fs.BoolVar(&o.RequestIDHeaders, "enable-request-id-headers", false, "answer with the request's X-Request-Id")
	fs.Float64Var(&o.Utilisation, "gpu-memory-utilization", 0, "`share` of the HBM that may be used (default 0.9)")
	fs.BoolVar(&o.NoHybrid, "disable-hybrid-kv-cache-manager", false, "keep the KV of sliding-window layers in full")
	fs.IntVar(&f.chips, "tensor-parallel-size", 0, "`chips`; must be the accelerator's, if given")
	fs.IntVar(&f.shutdown, "shutdown-timeout", 0, "`seconds` that running requests get when the replica is stopped")
	fs.StringVar(&o.Accelerator, "accelerator", "v6e-2x2", "`slice`: v6e-1x1, v6e-2x2 or v6e-2x4")
	fs.Float64Var(&o.Speed, "speed", 1, "modelled seconds that pass in a real one")
	fs.DurationVar(&o.WarmUp, "warm-up", 0, "modelled `duration` in which connections are refused first")
	fs.DurationVar(&o.CompileStall, "compile-stall", 0, "modelled `duration` that the first step of each size takes longer")
	fs.IntVar(&o.Burst, "burst", 1, "most `tokens` that a step of decodes alone makes for each sequence")
	fs.Float64Var(&o.Jitter, "jitter", 0, "standard deviation of the steps' durations, as a `share`")
	fs.Uint64Var(&o.Seed, "seed", 0, "what the jitter is drawn from, and what fails with --published")
	fs.BoolVar(&o.Published, "published", false, "latencies and failures of the published table instead of an engine: 12b and 27b on v6e-2x2")
	fs.Func("release", "vLLM `release` to behave like: 0.10.0 or 0.32.0 (default 0.32.0)", f.release)
	fs.BoolVar(&f.restart, "restart", false, "start again after a crash, warm-up included")
	fs.Func("fault", "inject a `fault`; may be given several times", f.fault)
}

// model takes the architecture out of a model's name: google/gemma-3-27b-it.
func (f *simFlags) model(name string) error {
	base := name[strings.LastIndexByte(name, '/')+1:]
	f.options.Root = name
	f.options.Size = strings.TrimSuffix(strings.TrimSuffix(base, "-it"), "-pt")
	return nil
}

func (f *simFlags) served(name string) error {
	if f.options.Model == "" {
		f.options.Model = name
		return nil
	}
	f.options.Aliases = append(f.options.Aliases, name)
	return nil
}

func (f *simFlags) release(text string) (err error) {
	f.options.Release, err = vllmsim.ParseRelease(text)
	return err
}

func (f *simFlags) fault(text string) error {
	fault, err := vllmsim.ParseFault(text)
	f.faults = append(f.faults, fault)
	return err
}

// into reads a number as vLLM does: 8192, 8k (8,000), 8K (8,192), 1.5k.
func into(to *int) func(string) error {
	return func(text string) error {
		n, ok := humanInt(text)
		if !ok || n < 1 {
			return fmt.Errorf("want a whole number, 1 or more, such as 8192 or 8k")
		}
		*to = n
		return nil
	}
}

var humanNumber = regexp.MustCompile(`^(\d{1,9})(\.\d{1,9})?([kKmM]?)$`)

// humanInt reads a number with vLLM's suffixes: small ones are decimal, large
// ones binary and without a fraction.
func humanInt(text string) (int, bool) {
	parts := humanNumber.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	factor := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "K": 1 << 10, "M": 1 << 20}[parts[3]]
	if parts[2] != "" && parts[3] != "k" && parts[3] != "m" {
		return 0, false
	}
	n, err := strconv.ParseFloat(parts[1]+parts[2], 64)
	return int(n * factor), err == nil
}
