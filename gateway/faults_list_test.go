package gateway

import (
	"fmt"
	"slices"
	"strings"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// always is the same script in every dialect.
func always(steps ...gt.Step) func(*trial) gt.Script {
	return func(*trial) gt.Script { return steps }
}

// streamed is a chunked stream of these events, and what ends it.
func streamed(events []string, end ...gt.Step) gt.Script {
	return append(gt.Script{gt.Send(gt.SSEHead), gt.Chunks(events...)}, end...)
}

var (
	properEnd = gt.Send(gt.FinalChunk)
	halfHead  = gt.Send("HTTP/1.1 200 OK\r\ncontent-ty")
)

// commonFaults happen before the replica has said anything that counts.
func commonFaults() []fault {
	list := []fault{
		{name: "closes at once", script: always(gt.Close()), outcome: router.Lost, status: 502},
		{name: "resets at once", script: always(gt.Reset()), outcome: router.Lost, status: 502},
		{name: "half a head", script: always(halfHead, gt.Close()), outcome: router.Lost, status: 502},
		{name: "garbage", script: always(gt.Send("\x16\x03\x01\x02\x00\x01\xff\xfe\r\n\r\n"), gt.Close()), outcome: router.Lost, status: 502},
		{name: "busy 429", script: always(gt.Send(gt.Error(429, "TooManyRequests", "full", "Retry-After: 7"))), outcome: router.Busy, status: 429},
		{name: "busy 503", script: always(gt.Send(gt.Error(503, "ServiceUnavailable", "full"))), outcome: router.Busy, status: 503},
		{name: "shuts down", script: always(gt.Send(gt.Error(500, "InternalServerError", "cannot schedule new futures after shutdown"))), outcome: router.Busy, status: 503},
		{name: "redirect", script: always(gt.Send(gt.Head(307, "location: /elsewhere", "content-length: 0"))), outcome: router.Misconfigured, status: 502},
		{name: "another's key", script: always(gt.Send(gt.JSON(401, `{"error":"Unauthorized"}`))), outcome: router.Misconfigured, status: 502},
		{name: "another's model", script: func(tr *trial) gt.Script {
			return gt.Script{gt.Send(gt.Error(404, "NotFoundError", "The model `served-"+tr.lane.name+"` does not exist."))}
		}, outcome: router.Misconfigured, status: 502},
		{name: "not implemented", script: always(gt.Send(gt.Error(501, "NotImplementedError", "no such option"))), outcome: router.ClientError, status: 501},
	}
	for _, status := range []int{500, 502, 504} {
		list = append(list, fault{name: fmt.Sprint("status ", status), outcome: router.ReplicaError, status: 502,
			script: always(gt.Send(gt.Error(status, "InternalServerError", "engine died")))})
	}
	for _, status := range []int{400, 404, 413, 422} {
		list = append(list, fault{name: fmt.Sprint("status ", status), outcome: router.ClientError, status: status,
			script: always(gt.Send(gt.ErrorFlat(status, "BadRequestError", "not like this")))})
	}
	return list
}

// commonSilence is what only a limit on silence ends.
func commonSilence() []fault {
	silent := fault{outcome: router.Silent, status: 504, hidden: "silent"}
	var list []fault
	for name, steps := range map[string]gt.Script{
		"never answers":               {gt.Stall()},
		"half a head, then silence":   {halfHead, gt.Stall()},
		"head, then silence":          {gt.Send(gt.SSEHead), gt.Stall()},
		"never reads a large body":    {gt.NeverRead()},
		"half an error, then silence": {gt.Send(gt.Head(500, "content-length: 500") + "{"), gt.Stall()},
	} {
		f := silent
		f.name, f.script = name, always(steps...)
		if strings.Contains(name, "large") {
			f.pad = 2 << 20
		}
		if strings.Contains(name, "error") {
			f.outcome, f.hidden = router.Stalled, "stalled"
		}
		list = append(list, f)
	}
	return list
}

func streamFaults() []fault {
	truncated := func(name string, script func(tr *trial) gt.Script, hold int) fault {
		return fault{name: name, script: script, outcome: router.Truncated, status: 200, cut: true, hidden: "truncated", hold: hold}
	}
	return append(commonFaults(),
		fault{name: "nothing wrong", outcome: router.Completed, status: 200, script: func(tr *trial) gt.Script { return streamed(tr.good(3), properEnd) }},
		fault{name: "unframed, whole", outcome: router.Completed, status: 200, script: func(tr *trial) gt.Script {
			return gt.Script{gt.Send(gt.SSEHeadUnframed + strings.Join(tr.good(3), "")), gt.Close()}
		}},
		fault{name: "resets before the first token", outcome: router.Lost, status: 502, script: func(tr *trial) gt.Script { return streamed(tr.opening, gt.Reset()) }},
		fault{name: "ends before the first token", outcome: router.Truncated, status: 502, hidden: "truncated",
			script: func(tr *trial) gt.Script { return streamed(tr.opening, properEnd) }},
		truncated("no last chunk", func(tr *trial) gt.Script { return streamed(tr.tokens(3), gt.Close()) }, 0),
		truncated("half a chunk", func(tr *trial) gt.Script { return streamed(tr.tokens(3), gt.Send("40\r\ndata: {"), gt.Close()) }, 0),
		truncated("half an event, proper end", func(tr *trial) gt.Script { return streamed(tr.tokens(3), gt.Chunks("data: {\"id\""), properEnd) }, 0),
		truncated("garbage for a chunk", func(tr *trial) gt.Script { return streamed(tr.tokens(3), gt.Send("\xff\xfezz\r\n")) }, 0),
		truncated("short of its length", func(tr *trial) gt.Script {
			return gt.Script{gt.Send(gt.SSEHeadLength(5000) + strings.Join(tr.tokens(3), "")), gt.Close()}
		}, 0),
		truncated("unframed, cut", func(tr *trial) gt.Script {
			return gt.Script{gt.Send(gt.SSEHeadUnframed + strings.Join(tr.tokens(3), "")), gt.Close()}
		}, 0),
		truncated("no finish reason, proper end", func(tr *trial) gt.Script { return streamed(append(tr.tokens(3), tr.open...), properEnd) }, 0),
		truncated("reset at a token", func(tr *trial) gt.Script {
			return streamed(tr.tokens(2), gt.Wait(tr.goOn), gt.Reset())
		}, 2),
		fault{name: "error event before a token", outcome: router.ErrorEvent, status: 200, cut: true, theirs: true, hidden: "error_event",
			script: func(tr *trial) gt.Script { return streamed(append(tr.tokens(0), tr.breaks, gt.Done), properEnd) }},
		fault{name: "error event after tokens", outcome: router.ErrorEvent, status: 200, cut: true, theirs: true, hidden: "error_event",
			script: func(tr *trial) gt.Script { return streamed(append(tr.tokens(3), tr.breaks, gt.Done), properEnd) }},
		fault{name: "error event, then a good end", outcome: router.ErrorEvent, status: 200, cut: true, theirs: true, hidden: "error_event",
			script: func(tr *trial) gt.Script {
				return streamed(slices.Concat(tr.tokens(3), []string{tr.breaks}, tr.ending), properEnd)
			}},
		fault{name: "dropped before a token", outcome: router.Aborted, status: 502, hidden: "aborted",
			script: func(tr *trial) gt.Script { return streamed(append(tr.tokens(0), tr.abort...), properEnd) }},
		fault{name: "dropped after tokens", outcome: router.Aborted, status: 200, cut: true, hidden: "aborted",
			script: func(tr *trial) gt.Script { return streamed(append(tr.tokens(3), tr.abort...), properEnd) }},
	)
}

func streamSilence() []fault {
	return append(commonSilence(),
		fault{name: "tokens, then silence", outcome: router.Stalled, status: 200, cut: true, hidden: "stalled",
			script: func(tr *trial) gt.Script { return streamed(tr.tokens(3), gt.Stall()) }},
		fault{name: "opening, then silence", outcome: router.Silent, status: 504, hidden: "silent",
			script: func(tr *trial) gt.Script { return streamed(tr.opening, gt.Stall()) }},
		fault{name: "half an event, then silence", outcome: router.Stalled, status: 200, cut: true, hidden: "stalled",
			script: func(tr *trial) gt.Script { return streamed(tr.tokens(1), gt.Chunks("data: {"), gt.Stall()) }},
	)
}

func plainFaults() []fault {
	truncated := func(name string, script func(tr *trial) gt.Script) fault {
		return fault{name: name, script: script, outcome: router.Truncated, status: 502, hidden: "truncated"}
	}
	const jsonHead = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
	return append(commonFaults(),
		fault{name: "nothing wrong", outcome: router.Completed, status: 200, script: func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.whole))} }},
		fault{name: "unframed, whole", outcome: router.Completed, status: 200, script: func(tr *trial) gt.Script {
			return gt.Script{gt.Send(jsonHead + "connection: close\r\n\r\n" + tr.whole), gt.Close()}
		}},
		truncated("unframed, cut", func(tr *trial) gt.Script {
			return gt.Script{gt.Send(jsonHead + "connection: close\r\n\r\n" + tr.whole[:50]), gt.Close()}
		}),
		truncated("short of its length", func(tr *trial) gt.Script {
			return gt.Script{gt.Send(jsonHead + "content-length: 5000\r\n\r\n" + tr.whole), gt.Close()}
		}),
		truncated("no last chunk", func(tr *trial) gt.Script {
			return gt.Script{gt.Send(jsonHead + "transfer-encoding: chunked\r\n\r\n" + gt.Chunk(tr.whole)), gt.Close()}
		}),
		truncated("cut JSON in a proper frame", func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.whole[:50]))} }),
		truncated("says nowhere that it is whole", func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.half))} }),
		truncated("dropped half-way", func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.droppedMid))} }),
		fault{name: "dropped before a token", outcome: router.Aborted, status: 502, hidden: "aborted",
			script: func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.dropped))} }},
		fault{name: "an error inside 200", outcome: router.ErrorEvent, status: 502, hidden: "error_event",
			script: func(tr *trial) gt.Script { return gt.Script{gt.Send(gt.JSON(200, tr.failed))} }},
	)
}

func plainSilence() []fault {
	return append(commonSilence(),
		fault{name: "half a body, then silence", outcome: router.Stalled, status: 504, hidden: "stalled", script: func(tr *trial) gt.Script {
			return gt.Script{gt.Send(gt.Head(200, "content-type: application/json", "content-length: 5000") + tr.whole), gt.Stall()}
		}},
	)
}
