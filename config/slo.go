package config

import "time"

// Limit is the time that the SLO allows for a prompt of so many tokens: to the first
// token of its answer, for prefill to the end of it. 0: nothing is promised.
func (s SLO) Limit(promptTokens int) time.Duration {
	return s.TTFT + time.Duration(float64(s.TTFTPer1K)*float64(promptTokens)/1000)
}
