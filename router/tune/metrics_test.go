package tune

import (
	"math"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	f := func(text string, w with, want float64) {
		t.Helper()
		m, err := ParseMetrics(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		if got := m.sum("a", w); got != want {
			t.Errorf("%q%v: got %v, want %v", text, w, got, want)
		}
	}
	f("a 1", nil, 1)
	f("# HELP a is\n# TYPE a gauge\n\na 1.5e2\r\n", nil, 150)
	f("a{x=\"1\"} 2\na{x=\"2\"} 3\nb 7\n", nil, 5)
	f("a{x=\"1\"} 2\na{x=\"2\"} 3\n", with{"x": "2"}, 3)
	f("a{x=\"1\"} 2\n", with{"y": "2"}, 0)
	f(`a{x="a} \"9\\",y="2",} 2 1700000000000`, with{"y": "2"}, 2)
	f(`a{} 2`, nil, 2)
	f(`a{ x = "1" } 2 # {trace="t"} 9`, nil, 2)
	f("a NaN\na -5\na +Inf\na 4", nil, 4)
}

func TestParseMetricsRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := ParseMetrics(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
	f("", "there is no metric in its 0 lines")
	f("# TYPE a gauge\n", "no metric in its 1 lines")
	f("<html>\n", `line 1 is no metric: "<html>"`)
	f("a 1\na", `line 2 is no metric: "a"`)
	f("a{\n", "line 1")
	f("a{x=1} 1\n", "line 1")
	f("a{x='1'} 1\n", "line 1")
	f("a{x=\"1\"}\n", "line 1")
	f("a many\n", "line 1")
	f(" 7\n", "line 1")
}

func FuzzParseMetrics(f *testing.F) {
	f.Add("a{x=\"1\",le=\"+Inf\"} 2\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"7\"} 1\n")
	f.Add("vllm:request_prompt_tokens_bucket{le=\"10\"} 3\nvllm:request_prompt_tokens_bucket{le=\"5\"} 9\n")
	f.Add("sluice_prompt_tokens_bucket{pool=\"p\",class=\"prefill\",le=\"NaN\"} 1e300\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMetrics(text)
		if err != nil {
			return
		}
		traffic := Seen("p", m, []*Metrics{m})
		if n := traffic.requests(); n < 0 || math.IsNaN(n) {
			t.Errorf("%q: %v requests", text, n)
		}
		_ = traffic.words()
	})
}
