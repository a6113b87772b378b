package conformance

import (
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

var queueChecks = []check{
	{"what doesn't fit waits with its 200", "nothing is refused; a stream that waits has status and header, and no event before its prompt is computed", func(t *testing.T, s *server) {
		s.occupied(t, func() {
			c := s.open(t, "/v1/chat/completions", askChat+`}`)
			if head, err := c.ReadHead(); err != nil || head.Status != 200 {
				t.Fatalf("got %+v, %v", head, err)
			}
			s.load(t, s.sequences, 1)
			c.Conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			var one [1]byte
			if n, err := c.Conn.Read(one[:]); n != 0 || err == nil {
				t.Errorf("got %d bytes of body, %v", n, err)
			}
		})
	}},
	{"what waits can leave", "a client that leaves the queue is gone from it", func(t *testing.T, s *server) {
		s.occupied(t, func() {
			for _, body := range []string{askChat + `}`, askLong + `}`} {
				c := s.open(t, "/v1/chat/completions", body)
				s.load(t, s.sequences, 1)
				c.Close()
				if took := s.load(t, s.sequences, 0); took > atOnce {
					t.Errorf("%s: it waited for another %v", body, took)
				}
			}
		})
	}},
	{"answers count one by one", "each of n answers is a sequence of its own", func(t *testing.T, s *server) {
		c := s.open(t, "/v1/completions", askLongText+`,"n":3}`)
		s.load(t, 3, 0)
		c.Close()
		s.load(t, 0, 0)
	}},
}

// occupied runs f while all the sequences that the server can run at once are
// taken, and frees them again.
func (s *server) occupied(t *testing.T, f func()) {
	t.Helper()
	s.load(t, 0, 0)
	var streams []*gatewaytest.Client
	for range s.sequences {
		streams = append(streams, s.open(t, "/v1/chat/completions", askLong+`,"stream":true}`))
	}
	s.load(t, s.sequences, 0)
	f()
	for _, c := range streams {
		c.Close()
	}
	s.load(t, 0, 0)
}
