package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/config"
	"sluice/gateway/openai"
	"sluice/router"
)

// newServer sets fasthttp up for streams that last minutes and clients that
// can't be trusted. Each setting that differs from the default closes a hole:
// bodies are streamed so that a header can't make us allocate what it claims, and
// read in the handler but for the first byte, so that a request counts, and is
// refused if it must be, before its body has come (fasthttp would read 8 KiB);
// WriteTimeout would cut healthy streams, so conn has a limit on stalls instead.
func newServer(cfg *config.Config, h *Handler, log *slog.Logger) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      h.door.parting(h.Serve),
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		StreamRequestBody:            true,
		ReduceMemoryUsage:            true, // an answer goes out at once, not with that of the next pipelined request
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true, // or keys of malformed requests are logged
		ReadBufferSize:               int(cfg.Limits.Headers),
		WriteBufferSize:              16 << 10,
		ReadTimeout:                  cfg.Timeouts.ReadHeaders,
		IdleTimeout:                  cfg.Timeouts.IdleClient,
		Concurrency:                  2 * cfg.Limits.Connections, // conn has the limit, and a better answer
		MaxIdleWorkerDuration:        time.Second,                // goroutines and stacks of a burst go soon after it
		MaxRequestBodySize:           1,                          // what is read ahead; heldBody has the limit
		CloseOnShutdown:              true,
		HeaderReceived:               bodyTime(h.policies),
		ExpectHandler:                h.expect,
		ErrorHandler:                 h.brokenHead,
		Logger:                       quietLogger{log},
	}
}

// bodyTime gives a body its own time to arrive: timeouts.read_body, and a second
// for each MiB that it claims, or for what limits.body allows if it claims nothing.
func bodyTime(ps *policies) func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
	return func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		cfg := ps.get().cfg
		size := int64(cfg.Limits.Body)
		if claimed := int64(h.ContentLength()); claimed >= 0 {
			size = min(size, claimed)
		}
		return fasthttp.RequestConfig{ReadTimeout: cfg.Timeouts.ReadBody + time.Duration(size>>20)*time.Second}
	}
}

// brokenHead answers requests that fasthttp could not read.
func (h *Handler) brokenHead(c *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var ne net.Error
	f := refuse(router.Invalid, "", "invalid_request", "this is not an HTTP/1.1 request that can be read")
	switch {
	case errors.As(err, &small):
		f = refuse(router.TooLarge, "", "headers_too_large",
			"the headers are larger than limits.headers").as(fasthttp.StatusRequestHeaderFieldsTooLarge)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		f = refuse(router.TooLarge, "", "request_too_large", "the body is larger than limits.body")
	case errors.As(err, &ne) && ne.Timeout():
		f = refuse(router.Invalid, "", "request_timeout",
			"the request did not arrive within timeouts.read_headers and timeouts.read_body").as(fasthttp.StatusRequestTimeout)
	}
	h.account.Rejected(f.api.Code)
	writeFailure(c, openai.NoEndpoint, f)
	h.allowOrigin(c)
	lastOfConnection(c)
}

// quietLogger keeps fasthttp's own messages: they are about single connections,
// so they are for debugging only. What they say of errors is left out: some quote
// the request, its key among it, whatever SecureErrorLogMessage says.
type quietLogger struct{ log *slog.Logger }

func (q quietLogger) Printf(format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = kindOf(err)
		}
	}
	q.log.Debug("connection", "event", fmt.Sprintf(format, args...))
}

// kindOf is what may be said of a connection's error.
func kindOf(err error) string {
	var broken *net.OpError
	if errors.As(err, &broken) {
		return broken.Error()
	}
	return "a request that could not be read"
}
