package vllmsim

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sluice/router/tpu"
)

// Options are a replica's settings; most repeat a flag of vLLM. Zero values
// mean the default.
type Options struct {
	Size                string        // the architecture, one of tpu.Models; default gemma-3-27b
	Accelerator         string        // the slice, one of tpu.Slices; default v6e-2x2
	Root                string        // --model, as /v1/models shows it; default: Size
	Model               string        // --served-model-name, the first; default: Root
	Aliases             []string      // the others
	MaxModelLen         int           // tokens, prompt and answer together; default 128000
	MaxNumSeqs          int           // sequences running at once; default 512
	MaxNumBatchedTokens int           // tokens in a step; default 8192
	MaxNumQueuedReqs    int           // sequences held at once, beyond which requests are refused; 0: no bound
	PaddingGap          int           // VLLM_TPU_BUCKET_PADDING_GAP; 0: powers of two
	Utilisation         float64       // --gpu-memory-utilization, 0 … 1; default tpu.Utilisation
	NoHybrid            bool          // --disable-hybrid-kv-cache-manager
	Release             Release       // of vLLM, which it behaves like; default V0320
	APIKey              string        // --api-key; empty: open
	RequestIDHeaders    bool          // --enable-request-id-headers
	KeepAlive           time.Duration // an idle connection is closed after this; default 5 s, as uvicorn does
	Speed               float64       // modelled seconds per real second; default 1
	WarmUp              time.Duration // modelled; connections are refused so long
	CompileStall        time.Duration // modelled; the first step of each size takes so much longer
	Burst               int           // most tokens that a step of decodes alone makes for each; default 1
	Jitter              float64       // standard deviation of the steps' durations, as a share
	Seed                uint64        // what the jitter is drawn from, and what fails when Published
	Published           bool          // times, early failures and lost requests of the published table; only PublishedSizes on v6e-2x2
	Logger              *slog.Logger  // default: slog.Default()
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	setDefault(&o.Size, "gemma-3-27b")
	setDefault(&o.Accelerator, "v6e-2x2")
	setDefault(&o.Root, o.Size)
	setDefault(&o.Model, o.Root)
	setDefault(&o.MaxModelLen, 128000)
	setDefault(&o.MaxNumSeqs, 512)
	setDefault(&o.MaxNumBatchedTokens, 8192)
	setDefault(&o.Utilisation, tpu.Utilisation)
	setDefault(&o.Release, V0320)
	setDefault(&o.Speed, 1)
	setDefault(&o.KeepAlive, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Check says why no replica starts with these options: what isn't in the tables,
// what the memory can't hold, what makes no sense.
func (o Options) Check() error {
	o = o.withDefaults()
	if err := CheckSpeed(o.Speed); err != nil {
		return err
	}
	switch {
	case !(o.Utilisation > 0 && o.Utilisation <= 1):
		return fmt.Errorf("gpu-memory-utilization is %v, want more than 0 and at most 1", o.Utilisation)
	case !(o.Jitter >= 0 && o.Jitter <= 1):
		return fmt.Errorf("jitter is %v, want 0 to 1", o.Jitter)
	case o.WarmUp < 0, o.CompileStall < 0, o.KeepAlive < 0, o.PaddingGap < 0, o.Burst < 0, o.MaxNumQueuedReqs < 0:
		return errors.New("warm-up, compile-stall, keep-alive, padding gap, burst and max-num-queued-reqs: none may be below 0")
	}
	if _, err := ParseRelease(string(o.Release)); err != nil {
		return err
	}
	if _, err := tpu.SetupOf(o.Size, o.Accelerator); err != nil {
		return err
	}
	if o.Published && (publishedRows[o.Size] == [2]row{} || o.Accelerator != "v6e-2x2") {
		return fmt.Errorf("nothing is published of %s on %s: only of %s on v6e-2x2", o.Size, o.Accelerator, strings.Join(PublishedSizes(), " and "))
	}
	_, err := tpu.NewCosts(o.setup())
	return err
}

// maxSpeed is where the modelled times become too short for timers.
const maxSpeed = 1000

// CheckSpeed judges an Options.Speed.
func CheckSpeed(speed float64) error {
	if !(speed > 0 && speed <= maxSpeed) { // NaN too
		return fmt.Errorf("--speed is %v, want more than 0 and at most %d", speed, maxSpeed)
	}
	return nil
}

// setup is what steps cost and what the KV cache holds. The options have their
// defaults, and Check is content with them.
func (o Options) setup() tpu.Setup {
	s, err := tpu.SetupOf(o.Size, o.Accelerator)
	if err != nil {
		panic("BUG: simulated replica: " + err.Error())
	}
	s.MaxModelLen, s.MaxNumSeqs, s.MaxBatched, s.Gap = o.MaxModelLen, o.MaxNumSeqs, o.MaxNumBatchedTokens, o.PaddingGap
	s.Utilisation, s.NoHybrid = o.Utilisation, o.NoHybrid
	return s
}

// known refuses a name that the model isn't served under.
func (o *Options) known(model string) error {
	if served := o.served(); !slices.Contains(served, model) {
		return unknownModel(model, strings.Join(served, ", "))
	}
	return nil
}

// served is the names that requests may call the model by.
func (o *Options) served() []string { return append([]string{o.Model}, o.Aliases...) }

// Chips is how many chips the slice has; 0 where it isn't in the tables.
func (o Options) Chips() int {
	s, _ := tpu.SliceOf(o.withDefaults().Accelerator)
	return s.Chips
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}
