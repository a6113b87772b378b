package router

import (
	"time"

	"sluice/config"
)

// promised is an SLO that can be asked for a limit.
type promised struct{ config.SLO }

// promise is what an SLO comes to: nothing at all without a TTFT.
func promise(slo config.SLO) promised {
	if slo.TTFT <= 0 {
		return promised{}
	}
	return promised{slo}
}

// limit is SLO.Limit.
func (s promised) limit(tokensIn int) time.Duration { return s.Limit(tokensIn) }
