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

// limit is the time to the first token that is promised for a prompt; for Prefill
// to the whole answer. 0: none is.
func (s promised) limit(tokensIn int) time.Duration {
	return s.TTFT + time.Duration(float64(s.TTFTPer1K)*float64(tokensIn)/1000)
}
