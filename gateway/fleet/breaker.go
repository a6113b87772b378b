package fleet

import (
	"errors"

	"github.com/sony/gobreaker/v2"

	"sluice/config"
	"sluice/router"
)

// What gobreaker is told of an outcome. Nil is a success.
var (
	errBlamed  = errors.New("the replica failed")
	errNeutral = errors.New("says nothing about the replica")
)

// breaker is one replica's gobreaker.
type breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
}

// newBreaker makes a closed breaker. changed is called under gobreaker's lock,
// so it may only signal.
func newBreaker(h config.Health, changed func()) breaker {
	return breaker{gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:   1,
		Timeout:       h.OpenFor,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= h.FailuresOpen },
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { changed() },
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeutral) },
	})}
}

// judgement turns an outcome into gobreaker's terms.
func judgement(o router.Outcome) error {
	switch {
	case o == router.Completed:
		return nil
	case o.Blames():
		return errBlamed
	}
	return errNeutral
}

// fail counts failures that nobody had asked leave for: of streams that broke
// after their verdict. Only a closed breaker hears of them: in a half open one
// they would take the trial's place for an old fault.
func (b breaker) fail(times int) {
	for range times {
		if b.State() != gobreaker.StateClosed {
			return
		}
		done, err := b.Allow()
		if err != nil {
			return
		}
		done(errBlamed)
	}
}

func (b breaker) isOpen() bool { return b.State() == gobreaker.StateOpen }

// state is what the breaker makes of a healthy replica.
func (b breaker) state() router.ReplicaState {
	switch b.State() {
	case gobreaker.StateOpen:
		return router.Open
	case gobreaker.StateHalfOpen:
		return router.Trial
	}
	return router.Ready
}

// label is the state's metric label.
func (b breaker) label() string {
	switch b.State() {
	case gobreaker.StateOpen:
		return "open"
	case gobreaker.StateHalfOpen:
		return "half_open"
	}
	return "closed"
}
