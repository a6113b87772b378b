package config

import "time"

// Config is the whole policy of one gateway: what it listens on, which pools
// and routes it has, and its limits. It is plain data; Default fills it, Load
// reads it, Validate judges it. A loaded Config is never changed in place.
type Config struct {
	Listeners      Listeners         `yaml:"listeners"`
	Pools          map[string]Pool   `yaml:"pools"`
	Routes         map[string]Route  `yaml:"routes"`
	Tenants        map[string]Tenant `yaml:"tenants"`
	Classification Classification    `yaml:"classification"`
	Relay          Relay             `yaml:"relay"`
	Health         Health            `yaml:"health"`
	Retry          Retry             `yaml:"retry"`
	Limits         Limits            `yaml:"limits"`
	Timeouts       Timeouts          `yaml:"timeouts"`
	Log            Log               `yaml:"log"`
}

// Listeners are the three doors: applications, scrapes and probes, operators.
type Listeners struct {
	Data    Listener        `yaml:"data"`
	Ops     Listener        `yaml:"ops"`
	Control ControlListener `yaml:"control"`
}

// Listener is one TCP address, over TLS when Cert is set.
type Listener struct {
	Address string `yaml:"address"` // host:port; ":8080" is every interface, IPv4 and IPv6
	TLS     TLS    `yaml:"tls"`
}

// ControlListener is loopback only, or guarded by a token.
type ControlListener struct {
	Listener `yaml:",inline"`
	Token    Secret `yaml:"token"` // required unless Address is a loopback address
}

// TLS names the certificate of a listener. Both files are read again on reload.
type TLS struct {
	Cert string `yaml:"cert"` // PEM file
	Key  string `yaml:"key"`  // PEM file
}

// Secret is a value kept out of the file: read from another file or from an
// environment variable. At most one of the two is set.
type Secret struct {
	File string `yaml:"file"`
	Env  string `yaml:"env"`
}

// Pool is a group of replicas that serve one model on one TPU shape.
type Pool struct {
	Model       string   `yaml:"model"`       // the name the replicas serve (--served-model-name)
	Size        string   `yaml:"size"`        // the architecture, a key of router/tpu.Models: gemma-3-27b
	Accelerator string   `yaml:"accelerator"` // a key of router/tpu.Slices: v6e-2x2
	Replicas    []string `yaml:"replicas"`    // base URLs, normalised by Load: http://host:port, lower case, no path
	Cap         Cap      `yaml:"cap"`
	Engine      Engine   `yaml:"engine"`
	APIKey      Secret   `yaml:"api_key"`   // the replicas' --api-key
	CA          string   `yaml:"ca"`        // PEM file to verify https replicas; empty: the system's
	Tokenizer   string   `yaml:"tokenizer"` // the model's tokenizer.json, to count prompts exactly; empty: they are estimated
	Implicit    bool     `yaml:"implicit_route"`
}

// Cap is the most sequences that one replica of a pool may hold. Hard.
type Cap struct {
	Total   int `yaml:"total"`   // at least 1
	Prefill int `yaml:"prefill"` // 1 … Total; 0: no limit of its own
	Decode  int `yaml:"decode"`  // 1 … Total; 0: no limit of its own
}

// Engine repeats the vLLM flags that the replicas were started with. A number
// that is 0 isn't told: nothing is checked against it.
type Engine struct {
	MaxModelLen         int               `yaml:"max_model_len"`          // tokens, prompt and answer together
	MaxNumSeqs          int               `yaml:"max_num_seqs"`           // sequences
	MaxNumBatchedTokens int               `yaml:"max_num_batched_tokens"` // tokens in a step
	PaddingGap          int               `yaml:"padding_gap"`            // tokens: VLLM_TPU_BUCKET_PADDING_GAP; 0: powers of two
	Fields              map[string]string `yaml:"fields"`                 // request field the engine can't take -> FieldRefuse | FieldStrip
}

// What Engine.Fields does with a request that has the field. In the file "pass"
// takes back a default; a loaded configuration doesn't hold it.
const (
	FieldRefuse = "refuse" // a 400 that names the field
	FieldStrip  = "strip"  // the replica doesn't see it
	fieldPass   = "pass"
)

// Route is a model name that applications use, and its policy.
type Route struct {
	Class   string       `yaml:"class"` // prefill | decode: overrides classification; empty: decide
	Prefill RouteClass   `yaml:"prefill"`
	Decode  RouteClass   `yaml:"decode"`
	Typical TypicalSizes `yaml:"typical"`
}

// RouteClass is what a route promises and allows for one class. Pools is empty
// only for the class that a route with a fixed Class doesn't serve.
type RouteClass struct {
	Pools     []Preference `yaml:"pools"` // in order of preference; a pool that is absent is not allowed
	Queue     Queue        `yaml:"queue"`
	SLO       SLO          `yaml:"slo"`
	OnSLOMiss string       `yaml:"on_slo_miss"` // MissServe | MissRefuse
	OnBreak   string       `yaml:"on_break"`    // BreakEnd | BreakContinue
}

// What becomes of a request that even an idle replica couldn't serve within its SLO.
const (
	MissServe  = "serve"  // it gets room that nobody else waits for
	MissRefuse = "refuse" // it is told so at once
)

// What becomes of a streamed answer whose replica fails half-way.
const (
	BreakEnd      = "end"      // it ends there, with an error event
	BreakContinue = "continue" // another replica of the same model goes on with it, if it is plain text
)

// Preference is one pool of a route's order and what serving from it is worth.
type Preference struct {
	Pool  string  `yaml:"pool"`
	Value float64 `yaml:"value"` // (0, 1]; 0 in the file: 1, 0.8, 0.64, … by position
}

// Queue bounds the requests of one route and class that wait.
type Queue struct {
	MaxWaiting int           `yaml:"max_waiting"` // requests; 0: nobody waits
	MaxBytes   Bytes         `yaml:"max_bytes"`   // bodies of those who wait
	MaxWait    time.Duration `yaml:"max_wait"`    // 0: what the SLO leaves after the expected service
	BatchWait  time.Duration `yaml:"batch_wait"`  // the longest wait of requests of priority batch
}

// SLO is what the operator promises for a class of a route. Without a TTFT it
// promises nothing.
type SLO struct {
	TTFT      time.Duration `yaml:"ttft"`        // to the first token; for prefill to the whole answer; 0: no promise
	TTFTPer1K time.Duration `yaml:"ttft_per_1k"` // added for each 1,000 prompt tokens
	TPOT      time.Duration `yaml:"tpot"`        // per token after the first; decode only; 0: no promise
}

// TypicalSizes are the sizes `sluice check` judges caps by.
type TypicalSizes struct {
	PrefillTokensIn  int `yaml:"prefill_tokens_in"`
	PrefillTokensOut int `yaml:"prefill_tokens_out"`
	DecodeTokensIn   int `yaml:"decode_tokens_in"`
	DecodeTokensOut  int `yaml:"decode_tokens_out"`
}

// Tenant is a user of the gateway, known by its keys.
type Tenant struct {
	KeySHA256 []string `yaml:"key_sha256"` // hex of sha256(key); two allow rotation
	Weight    float64  `yaml:"weight"`     // share under contention, relative to the other tenants'
	Priority  string   `yaml:"priority"`   // interactive | batch: the highest its requests may have
}

// The priorities of Tenant.Priority, and of x-sluice-priority.
const (
	PriorityInteractive = "interactive" // somebody waits for the answer
	PriorityBatch       = "batch"       // served from what is idle
)

// Classification says how a request's class is decided.
type Classification struct {
	W     float64 `yaml:"w"` // prompt tokens that cost as much chip time as one generated token
	Rules []Rule  `yaml:"rules"`
}

// Rule overrides the class of the requests that match all its conditions. The first match wins.
type Rule struct {
	Route        string `yaml:"route"`          // empty: any
	Tenant       string `yaml:"tenant"`         // empty: any
	MinTokensIn  int    `yaml:"min_tokens_in"`  // 0: any
	MaxTokensIn  int    `yaml:"max_tokens_in"`  // 0: any
	MaxTokensOut int    `yaml:"max_tokens_out"` // hard bound at most this; 0: any
	Class        string `yaml:"class"`          // prefill | decode
}

// Relay says what passes besides the closed table of endpoints.
type Relay struct {
	ExtraPaths      []string `yaml:"extra_paths"`      // POST paths relayed as class other
	DecisionHeaders bool     `yaml:"decision_headers"` // tell clients x-sluice-class, -pool, -replica, -queue-ms
	AllowOrigins    []string `yaml:"allow_origins"`    // origins whose pages may use the API from a browser (CORS); "*": any
}

// Health is how replicas are probed and when their breaker opens.
type Health struct {
	Interval     time.Duration `yaml:"interval"`      // between probes of one replica
	Timeout      time.Duration `yaml:"timeout"`       // of one probe
	FailuresOpen int           `yaml:"failures_open"` // consecutive failures that open the breaker
	OpenFor      time.Duration `yaml:"open_for"`      // breaker open before one trial
}

// Retry is the rule for trying another replica.
type Retry struct {
	Budget        float64 `yaml:"budget"`         // retries per request over recent requests, [0, 1]
	BudgetMin     int     `yaml:"budget_min"`     // retries always allowed besides
	AfterDispatch bool    `yaml:"after_dispatch"` // also where the replica may have run the request
}

// Limits bound what one client or one fault can take.
type Limits struct {
	Body        Bytes `yaml:"body"`         // one request body
	Headers     Bytes `yaml:"headers"`      // a request's header block
	HeaderLines int   `yaml:"header_lines"` // lines in it
	JSONDepth   int   `yaml:"json_depth"`
	HeldBodies  Bytes `yaml:"held_bodies"`  // all request bodies held at once
	HeldAnswers Bytes `yaml:"held_answers"` // all answers held at once that aren't streamed
	Answer      Bytes `yaml:"answer"`       // an answer that isn't streamed, and one event of a stream
	Connections int   `yaml:"connections"`  // client connections at once
}

// Timeouts are each of its own; there is no whole-request timer.
type Timeouts struct {
	ReadHeaders        time.Duration `yaml:"read_headers"`
	ReadBody           time.Duration `yaml:"read_body"` // base; a body gets 1 s more per MiB
	Connect            time.Duration `yaml:"connect"`
	FirstEvent         time.Duration `yaml:"first_event"`
	FirstEventPer4K    time.Duration `yaml:"first_event_per_4k"`   // added for each 4,000 prompt tokens
	PerTokenUnstreamed time.Duration `yaml:"per_token_unstreamed"` // added to first_event for each token that an answer not streamed may have
	BetweenEvents      time.Duration `yaml:"between_events"`
	WriteStall         time.Duration `yaml:"write_stall"`
	IdleClient         time.Duration `yaml:"idle_client"`
	IdleReplica        time.Duration `yaml:"idle_replica"`
	ReleaseAfterCancel time.Duration `yaml:"release_after_cancel"` // at most; sooner when metrics show the sequence gone
	DrainDelay         time.Duration `yaml:"drain_delay"`          // after SIGTERM new work is still accepted this long
	Drain              time.Duration `yaml:"drain"`                // after that, until what is left ends with an error
}

// Log says how much is logged, never what was said: prompts, answers and keys stay out.
type Log struct {
	Level  string `yaml:"level"`  // debug | info | warn | error
	Access bool   `yaml:"access"` // a line for each request
}
