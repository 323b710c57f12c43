package session

import "github.com/harnessbench/harnessbench/loop/model"

// Attempt decodes an attempt line.
func (l *Line) Attempt() (*Attempt, error) {
	a := &Attempt{}
	var resp model.Response
	err := l.decode(TypeAttempt, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "n":
			a.N = d.count(v)
		case "error":
			a.Err = d.modelError(v)
		case "wait_us":
			a.Wait = d.micros(v)
		case "again":
			a.Again = d.bool(v)
		default:
			d.answer(&resp, key, v)
		}
	})
	if err != nil {
		return nil, err
	}
	a.Elapsed = resp.Elapsed
	if a.Err != nil {
		a.Err.Usage, a.Err.Elapsed, a.Err.CacheFailed, a.Err.Redacted = resp.Usage, resp.Elapsed, resp.CacheFailed, resp.Redacted
	} else {
		a.Resp = &resp
	}
	return a, nil
}

// answer reads the fields that responses and attempts share.
func (d *fieldDec) answer(r *model.Response, key string, v []byte) {
	switch key {
	case "items":
		r.Items = d.items(v)
	case "finish":
		r.Finish = model.Finish(d.str(v))
	case "usage":
		r.Usage = d.usage(v)
	case "elapsed_us":
		r.Elapsed = d.micros(v)
	case "model":
		r.Model = d.str(v)
	case "cache":
		r.Cache = model.CacheUse(d.str(v))
	case "cache_failed":
		r.CacheFailed = d.str(v)
	case "redacted":
		r.Redacted = d.str(v)
	}
}

func (d *fieldDec) modelError(v []byte) *model.Error {
	e := &model.Error{}
	d.fail(inField(v, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "kind":
			e.Kind = model.ErrorKind(d.str(v))
		case "status":
			e.Status = d.count(v)
		case "retry_after_us":
			e.RetryAfter = d.micros(v)
		case "message":
			e.Message = d.str(v)
		}
	}))
	return e
}

// Response decodes a response line. Model is empty when it is the header's.
func (l *Line) Response() (*Response, error) {
	r := &Response{}
	err := l.decode(TypeResponse, func(d *fieldDec, key string, v []byte) { d.answer(&r.Resp, key, v) })
	if err != nil {
		return nil, err
	}
	return r, nil
}
