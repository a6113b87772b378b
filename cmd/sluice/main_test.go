package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asSluice makes the test binary be sluice, for tests of the process.
const asSluice = "SLUICE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asSluice) != "" {
		os.Unsetenv(asSluice)
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// sluice runs a command line in this process.
func sluice(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

const reference = "../../config/reference.yaml"

func TestCommandLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	content := "pools: {p: {model: x, replicas: [https://127.0.0.1:1], ca: /no/such/ca.pem}}\nroutes: {m: {class: decode, decode: {pools: [{pool: p}]}}}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := taken.Addr().String()
	free := []string{"--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0", "--control", "127.0.0.1:0"}
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string // parts; "" : nothing is said there
	}{
		{"", 2, "", `sluice: a command is missing; choose serve, demo, check, explain, sim, lab, tune or version; see "sluice --help"`},
		{"--help", 0, "Exit codes: 0 good", ""},
		{"-h", 0, "sluice serve --config FILE", ""},
		{"help", 0, "sluice check FILE", ""},
		{"help check", 0, "Usage: sluice check FILE", ""},
		{"help nothing", 2, "", `there is no command "nothing"`},
		{"sevre", 2, "", `sluice: there is no command "sevre"; choose serve, demo, check, explain, sim, lab, tune or version; see "sluice --help"`},
		{"version", 0, "sluice dev ", ""},
		{"--version", 0, "sluice dev ", ""},
		{"version 2", 2, "", `sluice: "2" is one argument too many; see "sluice version --help"`},
		{"version --help", 0, "Usage: sluice version", ""},
		{"check", 2, "", `sluice: FILE is missing; see "sluice check --help"`},
		{"check a b", 2, "", `sluice: "b" is one argument too many; see "sluice check --help"`},
		{"check --help", 0, "Usage: sluice check FILE", ""},
		{"check no-such.yaml", 3, "", "no-such.yaml: no such file"},
		{"check " + reference, 0, "good: 2 pools, 1 route, ", ""},
		{"explain", 2, "", `sluice: --config FILE is missing; see "sluice explain --help"`},
		{"explain --help", 0, "< body.json", ""},
		{"explain --config " + reference + " --header x", 2, "", `invalid value "x" for flag -header: want "NAME: VALUE"`},
		{"explain --config no-such.yaml", 3, "", "no-such.yaml: no such file"},
		{"serve", 2, "", `sluice: --config FILE is missing; see "sluice serve --help"`},
		{"serve --help", 0, "-log-level level", ""},
		{"serve --port 80", 2, "", `sluice: flag provided but not defined: -port; see "sluice serve --help"`},
		{"serve --config", 2, "", "flag needs an argument: -config"},
		{"serve --config a.yaml b.yaml", 2, "", `"b.yaml" is one argument too many`},
		{"serve --config no-such.yaml", 3, "", "no-such.yaml: no such file"},
		{"serve --config " + reference + " --log-level loud", 3, "", "flag --log-level: log.level: is \"loud\""},
		{"serve --config " + file, 3, "", "pools.p.ca: open /no/such/ca.pem: no such file"},
		{"serve --config " + reference + " --listen " + busy, 1, "", "sluice: open listeners.data.address: listen tcp " + busy + ": bind: address already in use; another process listens there"},
		{"serve --config " + reference + " --listen 127.0.0.1:0 --ops " + busy, 1, "", "listeners.ops.address"},
		{"sim --help", 0, "half-header", ""},
		{"sim now", 2, "", `"now" is one argument too many`},
		{"sim --model google/gemma-3-270m-it", 2, "", `model "gemma-3-270m" is not in the tables: use one of [gemma-3-4b`},
		{"sim --accelerator v5e-2x2", 2, "", `slice "v5e-2x2" is not in the tables`},
		{"sim --accelerator v6e-1x1", 2, "", "lower max-model-len"},
		{"sim --tensor-parallel-size 8", 2, "", "--tensor-parallel-size is 8, but v6e-2x2 has 4 chips"},
		{"sim --max-model-len 1.5K", 2, "", "want a whole number, 1 or more, such as 8192 or 8k"},
		{"sim --max-num-seqs 0", 2, "", "want a whole number, 1 or more"},
		{"sim --speed 0", 2, "", "--speed is 0, want more than 0"},
		{"sim --gpu-memory-utilization 1.2", 2, "", "gpu-memory-utilization is 1.2"},
		{"sim --shutdown-timeout -1", 2, "", "--shutdown-timeout is -1"},
		{"sim --release 0.9.0", 2, "", "0.10.0"},
		{"sim --published --model google/gemma-3-4b-it", 2, "", "nothing is published of gemma-3-4b"},
		{"sim --fault explode", 2, "", `there is no "explode"; use one of hang, slow`},
		{"sim --fault reset:after=x", 2, "", `after: "x" is not a number`},
		{"sim --port " + busy[len("127.0.0.1:"):], 1, "", "(--host, --port)"},
		{"lab --help", 0, "-yardstick file", ""},
		{"lab balanced", 2, "", `"balanced" is one argument too many`},
		{"lab --workload all", 2, "", `there is no workload "all"; use one of balanced, `},
		{"lab --policy best", 2, "", `there is no policy "best"; use one of round robin, `},
		{"lab --load 0", 2, "", "want a number above 0, at most 10"},
		{"lab --format pdf", 2, "", `--format is "pdf", want text, json or html`},
		{"lab --all --workload long", 2, "", "leave out --workload"},
		{"lab --find --load 1", 2, "", "leave out --policy, --load, --fault, --out and --format"},
		{"tune", 2, "", `sluice: --config FILE is missing; see "sluice tune --help"`},
		{"tune --help", 0, "-replica-metrics [POOL=]source", ""},
		{"tune --config a.yaml b.yaml", 2, "", `"b.yaml" is one argument too many`},
		{"tune --config a.yaml --gateways 0", 2, "", "--gateways is 0, want 1 or more"},
		{"tune --config a.yaml --format xml", 2, "", `--format is "xml", want text, diff or json`},
		{"tune --config a.yaml --workload w --metrics m", 2, "", "--workload takes the place of"},
		{"tune --config no-such.yaml", 3, "", "no-such.yaml: no such file"},
		{"demo --help", 0, "-for duration", ""},
		{"demo now", 2, "", `"now" is one argument too many; see "sluice demo --help"`},
		{"demo --for soon", 2, "", `invalid value "soon" for flag -for`},
		{"demo --for -1s", 2, "", "--for is -1s, want 0 or more"},
		{"demo --speed 0", 2, "", "--speed is 0, want more than 0 and at most 1000"},
		{"demo --speed NaN", 2, "", "--speed is NaN"},
		{"demo --listen nowhere", 3, "", "flag --listen: listeners.data.address: "},
		{"demo " + strings.Join(free[2:], " ") + " --listen " + busy, 1, "", "address already in use"},
	} {
		code, stdout, stderr := sluice(strings.Fields(c.args)...)
		if code != c.code || !says(stdout, c.stdout) || !says(stderr, c.stderr) {
			t.Errorf("sluice %s: exit code %d, want %d\nstdout %q, want %q\nstderr %q, want %q", c.args, code, c.code, stdout, c.stdout, stderr, c.stderr)
		}
		if wrong := code == exitUsage && strings.Count(stderr, "\n") != 1; wrong {
			t.Errorf("sluice %s: want one line on stderr, got %q", c.args, stderr)
		}
	}
}

// says tells whether a text has a part, or with no part nothing but a log.
func says(text, part string) bool {
	if part == "" {
		return text == "" || strings.HasPrefix(text, "time=")
	}
	return strings.Contains(text, part)
}

// TestCheckOfBrokenFiles: one clear line each, which config's own tests fix.
func TestCheckOfBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("../../config/testdata/broken/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d broken files and error %v, want at least 20", len(files), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".want")
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := sluice("check", file)
		line := filepath.Dir(file) + "/" + strings.TrimSpace(string(want)) + "\n"
		if code != exitConfig || stdout != "" || stderr != line || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q\n got %q\nwant %q", file, code, stdout, stderr, line)
		}
	}
}

// TestCheckWarns of what is legal and would hurt, and reads the environment.
func TestCheckWarns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	content := `
pools:
  p:
    model: gemma-3-27b
    size: gemma-3-27b
    accelerator: v6e-2x2
    replicas: ["http://10.0.0.1:8000"]
    engine: {max_model_len: 32768, max_num_seqs: 16}
routes: {m: {class: decode, decode: {pools: [{pool: p}]}}}
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := sluice("check", file)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, file+": warning: pools.p.cap.total: ") || !strings.Contains(stdout, "good: 1 pool, 1 route, ") {
		t.Errorf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
	}
	t.Setenv("SLUICE_LIMITS__BODY", "much")
	if code, _, stderr := sluice("check", file); code != exitConfig || !strings.Contains(stderr, "environment variable SLUICE_LIMITS__BODY") {
		t.Errorf("with a bad variable: exit code %d, stderr %s", code, stderr)
	}
}
