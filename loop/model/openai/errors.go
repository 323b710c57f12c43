package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// maxMessage bounds the provider's words in an error, in bytes.
const maxMessage = 1000

// explain makes of a failed call what the caller is told: the context's own error
// when it ended, else a *model.Error.
func (m *Model) explain(ctx context.Context, c *call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := m.sort(c, err)
	e.Message = m.tidy(e.Message)
	return e
}

func (m *Model) sort(c *call, err error) *model.Error {
	var (
		late   *timedOut
		status *refused
		told   *inBand
		none   *notAnAnswer
		broken *brokenOff
	)
	switch {
	case errors.As(context.Cause(c.watch.ctx), &late):
		e := &model.Error{Kind: model.ErrTimeout, Message: late.Error()}
		if c.watch.at() != connecting {
			e.Usage = c.billed()
		}
		return e
	case errors.As(err, &status):
		return m.refusal(c.status, status)
	case errors.As(err, &told):
		f := &told.fault
		f.defaults()
		return &model.Error{Kind: f.kind(), Status: f.status, RetryAfter: f.retryAfter, Message: f.textOr(nil, "an error object in the answer that says no more"), Usage: c.billed()}
	case errors.As(err, &none):
		return &model.Error{Kind: model.ErrProtocol, Message: none.why, Usage: c.billed()}
	case errors.As(err, &broken):
		return &model.Error{Kind: model.ErrBrokenStream, Message: broken.why, Usage: c.billed()}
	case !c.sent:
		return &model.Error{Kind: model.ErrBadRequest, Message: "the request cannot be written: " + err.Error()}
	case c.status == 0:
		return &model.Error{Kind: model.ErrTransport, Message: m.base.Host + ": " + plain(err)}
	}
	return &model.Error{Kind: model.ErrBrokenStream, Message: "the answer broke off: " + plain(err), Usage: c.billed()}
}

// refusal is a status that is no success.
func (m *Model) refusal(status int, r *refused) *model.Error {
	f := readFault(r.body)
	f.status = status
	e := &model.Error{Kind: f.kind(), Status: status, RetryAfter: f.retryAfter}
	if after, ok := retryAfter(r.header, m.o.Now); ok {
		e.RetryAfter = after
	}
	switch {
	case status >= 300 && status < 400:
		e.Message = fmt.Sprintf("HTTP %d: the endpoint redirects to %q, which is not followed: set the base URL to where it leads", status, r.header.Get("Location"))
	case status == http.StatusNotFound && f.message == "":
		e.Message = fmt.Sprintf("HTTP 404: no such path at %s: is the base URL right? /chat/completions is added to it, and most end in /v1", m.base.Host)
	default:
		e.Message = fmt.Sprintf("HTTP %d: %s", status, f.textOr(r.body, http.StatusText(status)))
	}
	return e
}

// tidy cuts a text and takes the secrets out of it. The secrets go first: a cut
// could leave the half of one.
func (m *Model) tidy(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "..."
}

// plain is the text of a transport's error.
func plain(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected end"
	case errors.Is(err, io.EOF):
		return "the connection was closed before an answer"
	}
	return err.Error()
}

// retryAfter reads what a refusal says about when to ask again: retry-after-ms,
// or Retry-After in seconds or as a date. A date counts from the answer's own
// Date, so that a clock that is wrong here does not matter.
func retryAfter(h http.Header, now func() time.Time) (time.Duration, bool) {
	if d, ok := duration(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := duration(v, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		from = now()
	}
	return min(max(at.Sub(from), 0), maxRetryAfter), true
}
