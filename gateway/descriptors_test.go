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
	for range 100 { // more than it may have; the kernel takes them in all the same
		gatewaytest.Connect(t, address)
	}
	last := gatewaytest.Connect(t, address)
	if err := last.Send(gatewaytest.Request("POST", "/v1/chat/completions", plainStream)); err != nil {
		t.Fatal(err)
	}
	if line, err = lines.ReadString('\n'); err != nil || strings.TrimSpace(line) != "none left" {
		t.Fatalf("it says %q, %v", line, err)
	}
	// Those that say nothing are closed by timeouts.read_headers; then it is the
	// turn of the last.
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
	r := start(t, poolPolicyYAML(2, replica)+"timeouts: {read_headers: 400ms}\n")
	fmt.Println(r.data)
	eventually(t, "accepting fails", func() bool { return strings.Contains(r.log.String(), "too many open files") })
	fmt.Println("none left")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test has seen enough
}
