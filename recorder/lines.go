package recorder

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

func (e *Encoder) part(ev *event.Part) error {
	e.begin(session.TypePart, &ev.Head)
	p := ev.Part
	if p.Kind == model.KindTool { // its schema is someone else's JSON
		if err := session.ValidJSON(p.JSON); err != nil {
			return fmt.Errorf("tool spec: %w", err)
		}
	}
	e.str("why", ev.Why)
	e.str("kind", string(p.Kind))
	e.strIf("role", string(p.Role))
	e.key("body")
	e.buf = append(e.buf, p.JSON...)
	e.short("digest", p.Digest)
	return nil
}

func (e *Encoder) request(ev *event.Request) error {
	e.begin(session.TypeRequest, &ev.Head)
	e.short("chain", ev.Req.Chain())
	lane := e.lane(&ev.Head)
	if !lane.hasParams || lane.params != ev.Req.ParamsDigest {
		e.key("params")
		at := len(e.buf)
		e.buf = ev.Req.Params.AppendJSON(e.buf)
		if err := session.ValidJSON(e.buf[at:]); err != nil {
			return fmt.Errorf("params: %w", err)
		}
		e.short("params_digest", ev.Req.ParamsDigest)
		lane.params, lane.hasParams = ev.Req.ParamsDigest, true
	}
	if !ev.Implied {
		e.int("keep", int64(ev.Keep))
		e.added(ev.Add)
	}
	e.strIf("purpose", string(ev.Req.Purpose))
	return nil
}

// added names the parts that follow those that stay.
func (e *Encoder) added(parts []*model.Part) {
	for i, p := range parts {
		if i == 0 {
			e.key("add")
		}
		e.buf = append(e.buf, sep(i), '"')
		e.buf = p.Digest.AppendShort(e.buf)
		e.buf = append(e.buf, '"')
	}
	if len(parts) > 0 {
		e.buf = append(e.buf, ']')
	}
}

func (e *Encoder) response(ev *event.Response) error {
	e.begin(session.TypeResponse, &ev.Head)
	if err := e.items(ev.Resp.Items); err != nil {
		return err
	}
	e.inStrIf("finish", string(ev.Resp.Finish))
	e.answer(ev.Resp.Usage, ev.Took.Microseconds())
	e.answeredBy(ev.Resp.Model)
	e.cached(ev.Resp.Cache, ev.Resp.CacheFailed)
	e.inStrIf("redacted", ev.Resp.Redacted)
	return nil
}

// cached writes what a response cache had to do with a call.
func (e *Encoder) cached(use model.CacheUse, failed string) {
	e.inStrIf("cache", string(use))
	e.inStrIf("cache_failed", failed)
}

// answer writes what a call cost in tokens and time.
func (e *Encoder) answer(u model.Usage, elapsed int64) {
	at := len(e.buf)
	if e.usage(u); len(e.buf) > at {
		e.input(at)
	}
	e.inIntIf("elapsed_us", elapsed)
}

// answeredBy writes the model's id where it is not the header's.
func (e *Encoder) answeredBy(id string) {
	if id != e.model {
		e.inStrIf("model", id)
	}
}

// items writes the items of an answer without the ids of calls.
func (e *Encoder) items(items []model.Item) error {
	if len(items) == 0 {
		return nil
	}
	at := len(e.buf)
	e.key("items")
	for i := range items {
		e.buf = append(e.buf, sep(i))
		from := len(e.buf)
		e.buf = model.AppendItem(e.buf, &items[i], false)
		if items[i].Type == model.ProviderCall {
			if err := session.ValidJSON(e.buf[from:]); err != nil {
				return fmt.Errorf("evidence of item %d: %w", i, err)
			}
		}
	}
	e.buf = append(e.buf, ']')
	e.input(at)
	return nil
}

func (e *Encoder) attempt(ev *event.Attempt) error {
	e.begin(session.TypeAttempt, &ev.Head)
	e.int("n", int64(ev.N))
	switch {
	case ev.Err != nil:
		e.modelError(ev.Err)
		e.answer(ev.Err.Usage, ev.Took.Microseconds())
		e.cached("", ev.Err.CacheFailed)
		e.inStrIf("redacted", ev.Err.Redacted)
	case ev.Resp != nil:
		if err := e.items(ev.Resp.Items); err != nil {
			return err
		}
		e.inStrIf("finish", string(ev.Resp.Finish))
		e.answer(ev.Resp.Usage, ev.Took.Microseconds())
		e.answeredBy(ev.Resp.Model)
		e.cached(ev.Resp.Cache, ev.Resp.CacheFailed)
		e.inStrIf("redacted", ev.Resp.Redacted)
	default:
		return errors.New("it has neither error nor answer")
	}
	e.intIf("wait_us", ev.Wait.Microseconds())
	e.boolIf("again", ev.Again)
	return nil
}

func (e *Encoder) modelError(err *model.Error) {
	at := len(e.buf)
	e.key("error")
	open := len(e.buf)
	e.str("kind", string(err.Kind))
	e.intIf("status", int64(err.Status))
	e.intIf("retry_after_us", err.RetryAfter.Microseconds())
	e.strIf("message", err.Message)
	e.buf[open] = '{'
	e.buf = append(e.buf, '}')
	e.input(at)
}

func (e *Encoder) toolRequest(ev *event.ToolRequest) {
	e.begin(session.TypeToolRequest, &ev.Head)
	e.intIf("i", int64(ev.Index))
	e.str("id", ev.Call.ID)
	e.str("tool", ev.Call.Name)
	e.intIf("v", int64(ev.Version))
	e.strIf("effect", string(ev.Effect))
	if ev.Args != ev.Call.Args {
		e.str("args", ev.Args)
	}
	if e.args.Load(ev.Args); !e.args.Implies(ev.Resources) {
		e.key("resources")
		e.strs(ev.Resources)
	}
	e.strIf("problem", string(ev.Problem))
	e.strIf("detail", ev.Detail)
}

func (e *Encoder) toolResult(ev *event.ToolResult) error {
	e.begin(session.TypeToolResult, &ev.Head)
	e.intIf("i", int64(ev.Index))
	e.str("id", ev.Call.ID)
	e.inStr("outcome", string(ev.Outcome))
	e.resultText(ev)
	e.inStrIf("redacted", ev.Redacted)
	e.inIntIf("took_us", ev.Took.Microseconds())
	if ev.Want != ev.Took {
		at := len(e.buf)
		e.micros("want_us", ev.Want)
		e.input(at)
	}
	if ev.Exit != nil {
		at := len(e.buf)
		e.int("exit", int64(*ev.Exit))
		e.input(at)
	}
	if len(ev.Delta) == 0 {
		return nil
	}
	at := len(e.buf)
	e.key("delta")
	e.args.Load(ev.Args)
	for i := range ev.Delta {
		e.buf = append(e.buf, sep(i))
		if err := e.delta(&ev.Delta[i]); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, ']')
	e.input(at)
	return nil
}

// resultText writes the raw result. Its digest is the event's; only of a result
// that is no UTF-8 the digest is taken again, of the text as it is written.
func (e *Encoder) resultText(ev *event.ToolResult) {
	if ev.Raw == "" {
		return
	}
	at := len(e.buf)
	e.str("text", ev.Raw)
	text, digest := ev.Raw, ev.RawDigest
	sound := utf8.ValidString(ev.Raw)
	if !sound {
		text = session.Repair(ev.Raw)
	}
	if !sound || digest.IsZero() {
		digest = model.SumString(text)
	}
	if len(text) > session.LongText {
		e.inputLong("text", digest)
	} else {
		e.input(at)
	}
	if !sound {
		e.inIntIf("bytes", int64(len(ev.Raw)))
	}
}

// delta writes one change. The content stands where it is cheapest: in the
// call's own arguments, in the line, or in a blob.
func (e *Encoder) delta(d *event.Delta) error {
	open := len(e.buf)
	if d.Op == session.OpDelete {
		e.str("op", d.Op)
	}
	e.str("path", d.Path)
	e.buf[open] = '{'
	if !d.Before.IsZero() {
		e.short("before", d.Before)
	}
	if d.Op != session.OpDelete {
		if d.Mode != session.PlainMode {
			e.int("mode", int64(d.Mode))
		}
		e.boolIf("redacted", d.Redacted)
		if err := e.content(d); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

func (e *Encoder) content(d *event.Delta) error {
	if d.Content == nil && d.Size > 0 { // a replay need not load a blob
		e.int("size", d.Size)
		e.full("blob", d.After)
		return nil
	}
	if name := e.args.Equal(d.Content); name != "" {
		e.str("arg", name)
		return nil
	}
	if len(d.Content) <= session.InlineDelta {
		e.inline(d.Content)
		return nil
	}
	e.int("size", int64(len(d.Content)))
	e.full("blob", d.After)
	return e.put(d.After, d.Content)
}

func (e *Encoder) put(d model.Digest, content []byte) error {
	if e.opts.Put == nil {
		return nil
	}
	return e.opts.Put(d, content)
}

// inline writes a content as text where it is UTF-8, else in base64.
func (e *Encoder) inline(content []byte) {
	if utf8.Valid(content) {
		e.key("text")
		e.buf = model.AppendText(e.buf, content)
		return
	}
	e.key("b64")
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, content)
	e.buf = append(e.buf, '"')
}

func (e *Encoder) guard(ev *event.Guard) {
	e.begin(session.TypeGuard, &ev.Head)
	e.str("g", ev.Name)
	e.int("v", int64(ev.Version))
	e.str("mode", ev.Mode)
	e.str("act", ev.Act)
	e.strIf("evidence", ev.Evidence)
	e.strIf("on", ev.On)
	e.strIf("failed", ev.Failed)
}

func (e *Encoder) approval(ev *event.Approval) {
	e.begin(session.TypeApproval, &ev.Head)
	e.str("id", ev.Operation)
	e.short("op", ev.Digest)
	e.int("v", int64(ev.Version))
	e.inStr("decision", ev.Decision)
	e.inStrIf("reason", ev.Reason)
	e.inIntIf("took_us", ev.Took.Microseconds())
	e.micros("expires_us", ev.Expires)
}

func (e *Encoder) candidate(ev *event.Candidate) {
	e.begin(session.TypeAcceptance, &ev.Head)
	e.boolIf("checked", ev.Checked)
	e.strIf("fail", ev.Fail)
	e.boolIf("empty", ev.Empty)
}

func (e *Encoder) state(ev *event.State) {
	e.begin(session.TypeState, &ev.Head)
	e.int("v", int64(ev.Version))
	e.int("calls", int64(ev.Calls))
	e.usage(ev.Usage)
	e.cost(ev.Cost)
	e.micros("at_us", ev.At)
	e.short("inputs", e.inputs)
}

func (e *Encoder) end(ev *event.End) error {
	e.begin(session.TypeFooter, &ev.Head)
	e.str("reason", string(ev.Reason))
	e.strIf("evidence", ev.Evidence)
	e.boolIf("backstop", ev.Backstop)
	e.boolIf("unchecked", ev.Unchecked)
	e.int("turns", int64(ev.Turns))
	e.int("calls", int64(ev.Calls))
	e.int("attempts", int64(ev.Attempts))
	e.usage(ev.Usage)
	e.cost(ev.Cost)
	e.full("answer_digest", model.SumString(ev.Answer))
	if e.opts.TreeDigest != nil {
		d, err := e.opts.TreeDigest()
		if err != nil {
			return fmt.Errorf("digest of the final workspace: %w", err)
		}
		e.full("tree_digest", d)
	}
	e.micros("at_us", ev.At)
	e.full("inputs", e.inputs)
	return nil
}
