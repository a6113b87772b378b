package chaos

import (
	"slices"
	"strings"
	"time"
)

// arrived is a request that has reached a replica: promises 2, 4 and 6.
func (w *world) arrived(j *job, body string) {
	v := j.v
	var gone time.Time
	begun := false
	w.book(func() {
		gone, begun = v.gone, v.status != 0
		v.jobs = append(v.jobs, j)
	})
	switch {
	case !gone.IsZero() && gone.Before(time.Now()):
		w.fault("%s was sent to %s %v after its client had left", v.o.id(), j.at.address, time.Since(gone))
	case begun && j.from == 0:
		w.fault("%s was sent to %s when its client had an answer, with %s", v.o.id(), j.at.address, body)
	case j.attempt > 2:
		w.fault("%s was sent %d times", v.o.id(), j.attempt)
	case !v.o.valid:
		w.fault("%s reached %s although nobody serves %q", v.o.id(), j.at.address, v.o.model)
	case j.from > 0:
		w.goesOn(j)
	case body != v.o.relayed(w.servedBy(j.at.address)):
		w.fault("%s reached %s altered:\n got %s\nwant %s", v.o.id(), j.at.address, body, v.o.relayed(w.servedBy(j.at.address)))
	}
}

// servedBy is the model that a replica serves.
func (w *world) servedBy(address string) string {
	if slices.Contains(bigReplicas, address) {
		return "served-big"
	}
	return "served-fast"
}

// relayed is the body that a replica is to get.
func (o *order) relayed(served string) string {
	body := strings.Replace(o.body, `"model":"`+o.model+`"`, `"model":"`+served+`"`, 1)
	if o.stream && o.at.usage && !o.asksUsage {
		body = body[:len(body)-1] + `,"stream_options":{"include_usage":true}}`
	}
	return body
}
