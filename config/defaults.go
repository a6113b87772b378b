package config

import (
	"math"
	"time"
)

// Default is a configuration with every default and no pool, route or tenant.
// Their defaults are DefaultPool, DefaultRoute and DefaultTenant: Load gives
// them to each entry of the file.
func Default() Config {
	return Config{
		Listeners: Listeners{
			Data:    Listener{Address: ":8080"},
			Ops:     Listener{Address: ":8081"},
			Control: ControlListener{Listener: Listener{Address: "127.0.0.1:8082"}},
		},
		Pools:          map[string]Pool{},
		Routes:         map[string]Route{},
		Tenants:        map[string]Tenant{},
		Classification: Classification{W: 24},
		Relay:          Relay{DecisionHeaders: true},
		Health:         Health{Interval: time.Second, Timeout: 2 * time.Second, FailuresOpen: 3, OpenFor: 5 * time.Second},
		Retry:          Retry{Budget: 0.1, BudgetMin: 3},
		Limits:         defaultLimits(),
		Timeouts:       defaultTimeouts(),
		Log:            Log{Level: "info", Access: true},
	}
}

func defaultLimits() Limits {
	return Limits{
		Body:        32 * MiB,
		Headers:     32 * KiB,
		HeaderLines: 100,
		JSONDepth:   200,
		HeldBodies:  GiB,
		HeldAnswers: 256 * MiB,
		Answer:      64 * MiB,
		Connections: 16384,
	}
}

func defaultTimeouts() Timeouts {
	return Timeouts{
		ReadHeaders:        10 * time.Second,
		ReadBody:           10 * time.Second,
		Connect:            time.Second,
		FirstEvent:         60 * time.Second,
		FirstEventPer4K:    time.Second,
		PerTokenUnstreamed: 100 * time.Millisecond,
		BetweenEvents:      60 * time.Second,
		WriteStall:         30 * time.Second,
		IdleClient:         120 * time.Second,
		IdleReplica:        4 * time.Second,        // uvicorn closes at 5
		ReleaseAfterCancel: 900 * time.Millisecond, // slots are to be usable again within a second
		DrainDelay:         0,
		Drain:              600 * time.Second,
	}
}

// DefaultPool is what an entry of pools has where it says nothing. Its caps
// follow from the size of the model (a Pool.Size; "" when not known).
func DefaultPool(size string) Pool {
	return Pool{
		Size:     size,
		Replicas: []string{},
		Cap:      DefaultCap(size),
		// vLLM refuses a seed on TPU, for a stream only after it has answered 200.
		Engine:   Engine{Fields: map[string]string{"seed": FieldRefuse}},
		Implicit: true,
	}
}

// DefaultCap is the cap of a replica that serves a model of this size on four
// v6e chips (2x2). The figures are the knees of the published measurements: the
// 27B stops scaling at 64 users; the 12B goes on to 128, but its time to
// classify doubles beyond 32. A size that wasn't measured gets 64.
func DefaultCap(size string) Cap {
	switch size {
	case "gemma-3-27b":
		return Cap{Total: 64, Prefill: 64}
	case "gemma-3-12b":
		return Cap{Total: 128, Prefill: 32}
	}
	return Cap{Total: 64}
}

// DefaultRoute is what an entry of routes has where it says nothing. The SLO
// grows with the prompt, so that a long one isn't late by definition.
func DefaultRoute() Route {
	queue := Queue{MaxWaiting: 256, MaxBytes: 256 * MiB, BatchWait: 10 * time.Minute}
	ttft := SLO{TTFT: 2 * time.Second, TTFTPer1K: 250 * time.Millisecond}
	generation := ttft
	generation.TPOT = 50 * time.Millisecond
	return Route{
		Prefill: RouteClass{Pools: []Preference{}, Queue: queue, SLO: ttft, OnSLOMiss: MissServe, OnBreak: BreakEnd},
		Decode:  RouteClass{Pools: []Preference{}, Queue: queue, SLO: generation, OnSLOMiss: MissServe, OnBreak: BreakEnd},
		Typical: TypicalSizes{PrefillTokensIn: 4000, PrefillTokensOut: 10, DecodeTokensIn: 500, DecodeTokensOut: 1000},
	}
}

// DefaultTenant is what an entry of tenants has where it says nothing.
func DefaultTenant() Tenant {
	return Tenant{KeySHA256: []string{}, Weight: 1, Priority: PriorityInteractive}
}

// DefaultValue is what serving from the pool at this position of an order of
// preference is worth: 1, 0.8, 0.64, …
func DefaultValue(position int) float64 {
	const digits = 1e6 // so that the third is 0.64 and not 0.6400000000000001
	return max(math.Round(math.Pow(0.8, float64(position))*digits), 1) / digits
}
