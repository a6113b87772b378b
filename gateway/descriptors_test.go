//go:build unix

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sluice/gateway/gatewaytest"
)

// childEnv makes the test below serve in a process of its own: it holds the
// address of a replica.
const childEnv = "SLUICE_TEST_FEW_DESCRIPTORS"

// A process that has run out of descriptors serves on when there are some again.
func TestServesOnAfterRunningOutOfDescriptors(t *testing.T) {
	if replica := os.Getenv(childEnv); replica != "" {
		serveWithFewDescriptors(t, replica)
		return
	}
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a")...)
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childEnv+"="+rep.URL())
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("the process that ran out of descriptors: %v", err)
		}
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(line)
	last := gatewaytest.Connect(t, address) // the kernel takes it in
	if err := last.Send(gatewaytest.Request("POST", "/v1/chat/completions", plainStream)); err != nil {
		t.Fatal(err)
	}
	if line, err = lines.ReadString('\n'); err != nil || strings.TrimSpace(line) != "none left" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if answer := wantAnswer(t, last, 200); answer.Ending != gatewaytest.Whole {
		t.Errorf("ending %v", answer.Ending)
	}
}

// serveWithFewDescriptors serves until its standard input ends. It says its
// address, and when it has no descriptors left.
func serveWithFewDescriptors(t *testing.T, replica string) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	r := start(t, poolPolicyYAML(2, replica))
	var held []*os.File
	for { // what else in the process could take them: clients may not, see connectionsThatFit
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, f)
	}
	fmt.Println(r.data)
	eventually(t, "accepting fails", func() bool { return strings.Contains(r.log.String(), "too many open files") })
	fmt.Println("none left")
	for _, f := range held {
		f.Close()
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test has seen enough
}

// Clients get what is left of the descriptors, and the operator hears of it.
func TestConnectionsFitTheDescriptors(t *testing.T) {
	cfg := parse(t, poolPolicyYAML(100, "http://a.test:1", "http://b.test:1")+"limits: {connections: 1000}\n")
	for files, want := range map[uint64]int{1 << 40: 1000, 1396: 1000, 1395: 999, 796: 400, 400: 100, 64: 16, 0: 16} {
		if got := connectionsThatFit(cfg, files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
	if advice := Advise(cfg); len(advice) != 0 {
		t.Errorf("advice where all fit: %q", advice)
	}
	cfg.Limits.Connections = 1 << 40
	advice := Advise(cfg)
	if len(advice) != 1 || !strings.HasPrefix(advice[0], "limits.connections: 1099511627776, but this process may open ") {
		t.Errorf("advice where they don't: %q", advice)
	}
}
