package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// The benchmarks here compare the gateway with nginx, in one run, as CPU time of
// the process per request and per event. Both are pinned to one core; the stub
// replica and the load are this process. They need Linux, nginx and taskset, and
// say so where those are missing. `make bench` installs what is needed.

// contestant is a process under load.
type contestant struct {
	name    string
	address string
	pid     int // of the process that does the work
}

// Requests come at the same rate to both: a proxy that is short of work pays for
// waking its peers, one that is saturated doesn't.
const requestRate = 5000 // per second

func BenchmarkRequestBesideNginx(b *testing.B) {
	stub := startStub(b)
	body := gatewaytest.ChatBody("m", strings.Repeat("a sentence of a prompt, ", 80), false) // 2 KB
	request := gatewaytest.Request("POST", "/v1/chat/completions", body, "Accept: application/json")
	race(b, stub, func(c contestant, n int) float64 {
		before := cpuTime(b, c.pid)
		send(b, c.address, request, 32, n, requestRate)
		return float64(cpuTime(b, c.pid)-before) / float64(n)
	}, "cpu-ns/req")
}

func BenchmarkEventBesideNginx(b *testing.B) {
	const (
		streams = 300
		rate    = 100 // events per second and stream: 30,000 in all
	)
	stub := startStub(b)
	body := gatewaytest.ChatBody("m", strings.Repeat("a sentence of a prompt, ", 80), true)
	request := gatewaytest.Request("POST", "/v1/chat/completions", body)
	race(b, stub, func(c contestant, n int) float64 {
		events := max(n/streams, 1)
		stub.setEvents(events, time.Second/rate)
		before := cpuTime(b, c.pid)
		send(b, c.address, request, streams, streams, 0)
		return float64(cpuTime(b, c.pid)-before) / float64(events*streams)
	}, "cpu-ns/event")
}

// race measures the gateway and nginx by turns and reports each and the ratio.
func race(b *testing.B, s *stub, measure func(c contestant, n int) float64, unit string) {
	dir := b.TempDir()
	gateway, nginx := startGateway(b, dir, s.address), startNginx(b, dir, s.address)
	measure(gateway, 2000) // warm up: connections, buffers
	measure(nginx, 2000)
	b.ResetTimer()
	ours, theirs := measure(gateway, b.N), measure(nginx, b.N)
	b.ReportMetric(ours, "sluice-"+unit)
	b.ReportMetric(theirs, "nginx-"+unit)
	b.ReportMetric(ours/theirs, "x-nginx")
	b.ReportMetric(0, "ns/op")
}

func startGateway(b *testing.B, dir, replica string) contestant {
	binary := filepath.Join(dir, "sluice")
	run(b, "go", "build", "-trimpath", "-o", binary, "sluice/cmd/sluice")
	file := filepath.Join(dir, "sluice.yaml")
	policy := poolPolicyYAML(100000, "http://"+replica) + fmt.Sprintf(
		"listeners: {data: {address: %q}, ops: {address: \"127.0.0.1:0\"}, control: {address: \"127.0.0.1:0\"}}\n", freePort(b))
	policy = strings.Replace(policy, "interval: 20ms", "interval: 1s", 1)
	write(b, file, policy)
	cmd := exec.Command("taskset", "-c", "0", binary, "serve", "--config", file)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	address := policy[strings.Index(policy, "data: {address: \"")+len("data: {address: \""):]
	address = address[:strings.IndexByte(address, '"')]
	log := create(b, filepath.Join(dir, "access.log"))
	cmd.Stdout, cmd.Stderr = log, create(b, filepath.Join(dir, "sluice.log"))
	begin(b, cmd)
	answers(b, address)
	return contestant{"sluice", address, cmd.Process.Pid}
}

func startNginx(b *testing.B, dir, replica string) contestant {
	if _, err := exec.LookPath("nginx"); err != nil {
		b.Fatal("nginx is not installed; make bench installs it")
	}
	address := freePort(b)
	file := filepath.Join(dir, "nginx.conf")
	write(b, file, fmt.Sprintf(`
daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
  log_format json escape=json '{"time":"$time_iso8601","id":"$request_id","uri":"$uri","status":$status,"bytes":$request_length,"sent":$body_bytes_sent,'
    '"replica":"$upstream_addr","replica_status":"$upstream_status","ttft":"$upstream_header_time","e2e":"$request_time"}';
  access_log %[1]s/nginx-access.log json;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  keepalive_requests 1000000;
  upstream replica { server %[2]s; keepalive 512; keepalive_requests 1000000; }
  server { listen %[3]s; location / { proxy_pass http://replica; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Request-Id $request_id;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; add_header X-Request-Id $request_id; add_header X-Accel-Buffering no; proxy_buffering off; } }
}`, dir, replica, address))
	cmd := exec.Command("taskset", "-c", "0", "nginx", "-p", dir, "-c", file)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	begin(b, cmd)
	answers(b, address)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	worker, err := strconv.Atoi(strings.Fields(string(children))[0])
	if err != nil {
		b.Fatal(err)
	}
	return contestant{"nginx", address, worker}
}

func begin(b *testing.B, cmd *exec.Cmd) {
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
}

// answers waits until a request through the contestant comes back whole.
func answers(b *testing.B, address string) {
	body := gatewaytest.ChatBody("m", "hi", false)
	eventually(b, address+" answers", func() bool {
		r := gatewaytest.Post(b, address, "/v1/chat/completions", body)
		return r.Status == 200 && r.Ending == gatewaytest.Whole
	})
}

func run(b *testing.B, name string, args ...string) {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func write(b *testing.B, file, text string) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

func create(b *testing.B, file string) *os.File {
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = f.Close()
		if b.Failed() {
			text, _ := os.ReadFile(file)
			b.Logf("%s:\n%s", file, text[:min(len(text), 4000)])
		}
	})
	return f
}

func freePort(b *testing.B) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// cpuTime is the user and system time that a process has used, in ns. The
// kernel counts it in ticks of 10 ms.
func cpuTime(b *testing.B, pid int) int64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return (user + system) * int64(10*time.Millisecond)
}

// send sends n requests over so many connections and reads each answer to its
// end: at a rate per second, or (0) all as soon as they can go.
func send(b *testing.B, address, request string, connections, n, rate int) {
	work := make(chan struct{}, n)
	go pace(work, n, rate)
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			nc, err := net.Dial("tcp", address)
			if err != nil {
				b.Errorf("%s: %v", address, err)
				return
			}
			defer nc.Close()
			in := bufio.NewReader(nc)
			for range work {
				if _, err := io.WriteString(nc, request); err != nil {
					b.Errorf("%s: %v", address, err)
					return
				}
				if err := skipAnswer(in); err != nil {
					b.Errorf("%s: %v", address, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// pace hands out n pieces of work and closes work.
func pace(work chan<- struct{}, n, rate int) {
	defer close(work)
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for sent := 0; sent < n; {
		due := n
		if rate > 0 {
			<-tick.C
			due = min(n, int(time.Since(began).Seconds()*float64(rate)))
		}
		for ; sent < due; sent++ {
			work <- struct{}{}
		}
	}
}

// skipAnswer reads one answer and keeps nothing of it.
func skipAnswer(in *bufio.Reader) error {
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if name := "content-length: "; len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			length, err = strconv.Atoi(strings.TrimSpace(string(line[len(name):])))
			if err != nil {
				return err
			}
		}
	}
	if length >= 0 {
		_, err := in.Discard(length)
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return fmt.Errorf("chunk size %q: %w", line, err)
		}
		if _, err := in.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
