package field

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// resolver answers questions for A and AAAA records over UDP, at the address that
// it returns; names that it doesn't know don't exist.
func resolver(t *testing.T, known map[string][]string) (address string) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	t.Cleanup(func() { pc.Close(); <-served })
	go func() {
		defer close(served)
		question := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(question)
			if err != nil {
				return
			}
			if answer := resolve(question[:n], known); answer != nil {
				_, _ = pc.WriteTo(answer, from) // who doesn't hear it asks again
			}
		}
	}()
	return pc.LocalAddr().String()
}

const (
	typeA    = 1
	typeAAAA = 28
)

// resolve answers one question (RFC 1035, section 4).
func resolve(question []byte, known map[string][]string) []byte {
	const header = 12
	if len(question) < header {
		return nil
	}
	var labels []string
	at := header
	for at < len(question) && question[at] > 0 {
		end := at + 1 + int(question[at])
		if end >= len(question) {
			return nil
		}
		labels = append(labels, string(question[at+1:end]))
		at = end
	}
	if at+5 > len(question) {
		return nil
	}
	kind := binary.BigEndian.Uint16(question[at+1:])
	addresses, exists := known[strings.ToLower(strings.Join(labels, "."))]
	answer := append([]byte(nil), question[:at+5]...)
	copy(answer[2:header], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // an answer, one question, nothing else yet
	if !exists {
		answer[3] |= 3 // no such name
	}
	for _, text := range addresses {
		ip := netip.MustParseAddr(text)
		if ip.Is4() != (kind == typeA) || ip.Is6() != (kind == typeAAAA) {
			continue
		}
		answer[7]++
		answer = append(answer, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 1, 0, byte(len(ip.AsSlice()))) // the name asked for, IN, one second
		answer = append(answer, ip.AsSlice()...)
	}
	return answer
}

// TestIPv6Replicas: an IPv6 address in a URL, a name with IPv6 addresses alone,
// and names of which one family's address leads nowhere, all work for requests,
// probes and metrics; and so does a listener on every interface.
func TestIPv6Replicas(t *testing.T) {
	t.Parallel()
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Log("this machine has no IPv6 loopback; elsewhere it is tested")
		return
	} else {
		ln.Close()
	}
	ok := gt.Send(gt.ChatAnswer("a", "stop", 1, 1))
	_, silent, err := net.SplitHostPort(gt.Unanswered(t))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.short = []*gt.Replica{
		gt.NewReplicaAt(t, "[::1]:0", ok),
		gt.NewReplicaAt(t, "[::1]:0", ok).Named("v6only.test"),
		gt.NewReplicaAt(t, "[::1]:0", ok).Named("refused4.test"),
	}
	b.long = []*gt.Replica{
		gt.NewReplicaAt(t, "127.0.0.1:0", ok).Named("refused6.test"),
		gt.NewReplicaAt(t, "[::1]:"+silent, ok).Named("silent4.test"),
	}
	b.timeouts["connect"] = "2s"
	dns := resolver(t, map[string][]string{
		"v6only.test": {"::1"}, "refused4.test": {"127.0.0.1", "::1"}, "refused6.test": {"127.0.0.1", "::1"}, "silent4.test": {"127.0.0.1", "::1"},
	})
	doors := "listeners: {data: {address: \"[::]:0\"}, ops: {address: \"[::1]:0\"}, control: {address: \"[::1]:0\"}}\n"
	r := start(t, doors+b.policy(), len(b.all()), asksDNS+"="+dns)
	for range 20 { // when no probe is under way: those by name take many descriptors
		if m := r.metrics(); m["process_open_fds"] < r.before["process_open_fds"] {
			r.before = m
		}
	}
	_, port, err := net.SplitHostPort(r.data)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, model := range []string{"served-short", "served-short", "served-short", "served-long", "served-long"} {
		for _, host := range []string{"127.0.0.1", "::1"} {
			answer := gt.Post(t, net.JoinHostPort(host, port), chatPath, gt.ChatBody(model, "hi", false))
			if answer.Status != 200 {
				t.Errorf("%s at %s: status %d, %v: %s", model, host, answer.Status, answer.Err, answer.Body)
			}
			n++
		}
	}
	m := r.metrics()
	for _, rep := range b.all() {
		name, _ := strings.CutPrefix(rep.URL(), "http://")
		asked := rep.Calls()
		if len(asked) == 0 || rep.Probes("/health") == 0 {
			t.Fatalf("%s got %d requests and %d probes", name, len(asked), rep.Probes("/health"))
		}
		if got := asked[0].Header.Get("Host"); got != name {
			t.Errorf("Host is %q, want %q", got, name)
		}
		if forwarded := asked[0].Header.Get("X-Forwarded-For"); forwarded != "127.0.0.1" && forwarded != "::1" {
			t.Errorf("X-Forwarded-For is %q", forwarded)
		}
		if m.label("sluice_replica_state", rep.URL()) != "ready" {
			t.Errorf("no metrics of %s", rep.URL())
		}
	}
	if got := r.lines(); !slices.ContainsFunc(got, func(l line) bool { return l.Replica == b.short[0].URL() }) {
		t.Errorf("no line of the access log names %s", b.short[0].URL())
	}
	r.ended(map[router.Outcome]int{router.Completed: n})
	r.zero(b.all()...)
}
