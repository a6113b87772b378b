package gateway

import (
	"errors"
	"time"

	"sluice/gateway/account"
	"sluice/router"
)

// dispatch gets a replica for the request and tries it there, and elsewhere
// where the outcome allows, until there is an answer for the client.
func (x *exchange) dispatch() error {
	req, err := x.request()
	if err != nil {
		return err
	}
	x.entry.Set(account.Queued)
	began := time.Now()
	grant, err := x.acquire(req)
	if err == nil && grant.Waited == 0 {
		x.h.account.Overhead(account.PhaseDecide, time.Since(began))
	}
	for err == nil {
		x.take(grant)
		x.entry.Set(account.Waiting)
		result := x.attempt()
		if result.outcome == router.Undecided || !x.retries(result.outcome) {
			return x.reply(result)
		}
		x.entry.Set(account.Queued)
		x.leaveReplica(result.outcome)
		x.leased = false
		grant, err = x.h.gate.Elsewhere(&x.visit, x.grant.Lease, result.outcome)
		var no *router.Refusal
		if errors.As(err, &no) {
			x.record.Queue = no.Waited
			return x.reply(result)
		}
	}
	return x.notGranted(err)
}

func (x *exchange) retries(o router.Outcome) bool {
	return o.MayRetry(x.p.cfg.Retry.AfterDispatch)
}

// notGranted turns the gate's error into what the client hears.
func (x *exchange) notGranted(err error) error {
	var no *router.Refusal
	if !errors.As(err, &no) {
		return err
	}
	x.record.Class, x.record.Queue = no.Class, no.Waited
	return refused(no)
}
