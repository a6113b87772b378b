package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/config"
	"sluice/gateway/account"
	"sluice/gateway/conn"
	"sluice/gateway/openai"
	"sluice/router"
)

// clientOptions say how the applications' connections behave.
func clientOptions(cfg *config.Config, failed func(error)) conn.Options {
	most := connectionsThatFit(cfg, fileLimit())
	o := conn.Options{WriteStall: cfg.Timeouts.WriteStall, MaxOpen: most, OnAcceptError: failed}
	if cfg.Listeners.Data.TLS.Cert == "" {
		o.Full = fullAnswer(cfg.Limits.Connections, most)
	}
	return o
}

// fullAnswer is what a client hears when there are too many. Nobody has read its
// request, so it is in the shape that most clients know.
func fullAnswer(limit, most int) []byte {
	why := fmt.Sprintf("limits.connections=%d", limit)
	if most < limit {
		why += fmt.Sprintf(", of which the limit on open files leaves %d", most)
	}
	return written(refuse(router.NoReplica, "", "too_many_connections",
		"the gateway has as many connections as it may, limit %s; try again later", why), "Retry-After: 1\r\n")
}

// written is a failure as bytes, for clients that fasthttp hasn't met.
func written(f *failure, lines string) []byte {
	body := openai.AppendError(nil, openai.NoEndpoint, f.api)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		f.api.Status, fasthttp.StatusMessage(f.api.Status), lines, len(body), body)
}

// acceptErrors counts failures to accept, and warns of them once a second.
type acceptErrors struct {
	account *account.Account
	log     *slog.Logger
	warned  time.Time // touched by the goroutine that accepts, alone
}

func (a *acceptErrors) note(err error) {
	a.account.AcceptFailed()
	now := time.Now()
	if now.Sub(a.warned) < time.Second {
		return
	}
	a.warned = now
	what := "accepting connections fails; raise the limit on open files?"
	if errors.Is(err, conn.ErrFull) {
		what = "clients are turned away; raise limits.connections, and the limit on open files with it?"
	}
	a.log.Warn(what, "error", err)
}
