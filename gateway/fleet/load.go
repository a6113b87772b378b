package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"sluice/router"
)

// Limits on a replica's metrics, in bytes. vLLM's are about 100 KB.
const (
	maxMetrics     = 4 << 20
	maxMetricsLine = 16 << 10
)

// maxSequences is more than any engine runs; a larger value is nonsense.
const maxSequences = 1 << 20

// maxCount is more than any counter comes to, and still exact as a float.
const maxCount = 1 << 53

var errNoLoad = errors.New("no vllm:num_requests_running among the metrics")

// tally is what has been found so far, over all engines of a replica
// (data-parallel ranks): sequences add up, the fullest KV cache counts.
type tally struct {
	running, waiting  float64
	kv, kvSum         float64
	steps, tokens     float64
	found, stepsFound bool
}

// parseLoad reads what it knows from Prometheus text and skips all else. The
// text must be whole: half a number would be another number. At is not set.
func parseLoad(r io.Reader) (router.Load, error) {
	lines := bufio.NewReaderSize(io.LimitReader(r, maxMetrics), maxMetricsLine)
	var t tally
	for {
		line, err := lines.ReadSlice('\n')
		switch err {
		case nil:
			t.take(line)
		case bufio.ErrBufferFull:
			if err := skipLine(lines); err != nil {
				return t.load(err)
			}
		default:
			return t.load(err)
		}
	}
}

func skipLine(lines *bufio.Reader) error {
	for {
		if _, err := lines.ReadSlice('\n'); err != bufio.ErrBufferFull {
			return err
		}
	}
}

func (t *tally) load(err error) (router.Load, error) {
	if err != io.EOF {
		return router.Load{}, err
	}
	if !t.found {
		return router.Load{}, errNoLoad
	}
	return router.Load{
		Running: int(t.running), Waiting: int(t.waiting), KVUsage: t.kv,
		TellsSteps: t.stepsFound, Steps: t.steps, Tokens: t.tokens, KVSum: t.kvSum,
	}, nil
}

// take looks at one line: name{labels} value [timestamp].
func (t *tally) take(line []byte) {
	name, rest, ok := bytes.Cut(line, []byte("vllm:"))
	if !ok || len(name) > 0 {
		return
	}
	end := bytes.IndexAny(rest, "{ \t")
	if end < 0 {
		return
	}
	switch string(rest[:end]) {
	case "num_requests_running":
		t.found = add(&t.running, rest[end:], maxSequences) || t.found
	case "num_requests_waiting":
		add(&t.waiting, rest[end:], maxSequences)
	case "iteration_tokens_total_count":
		t.stepsFound = add(&t.steps, rest[end:], maxCount) || t.stepsFound
	case "prompt_tokens_total", "generation_tokens_total":
		add(&t.tokens, rest[end:], maxCount)
	case "kv_cache_usage_perc", "gpu_cache_usage_perc":
		if v, ok := value(rest[end:]); ok {
			t.kv = max(t.kv, min(v, 1))
			t.kvSum += min(v, 1)
		}
	}
}

// add adds a sample to a sum, up to a limit, and reports whether it made sense.
func add(sum *float64, sample []byte, limit float64) bool {
	v, ok := value(sample)
	if !ok || *sum+v > limit {
		return false
	}
	*sum += v
	return true
}

// value reads the number after the labels; negative ones and NaN don't count.
func value(sample []byte) (float64, bool) {
	fields := bytes.Fields(afterLabels(sample))
	if len(fields) == 0 || len(fields) > 2 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(fields[0]), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

// afterLabels skips {…}; a quoted value may hold braces and escaped quotes.
func afterLabels(sample []byte) []byte {
	if sample[0] != '{' {
		return sample
	}
	quoted := false
	for i := 1; i < len(sample); i++ {
		switch {
		case quoted && sample[i] == '\\':
			i++
		case sample[i] == '"':
			quoted = !quoted
		case sample[i] == '}' && !quoted:
			return sample[i+1:]
		}
	}
	return nil
}
