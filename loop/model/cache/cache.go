package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Key names a request.
type Key [sha256.Size]byte

// String returns 64 hex digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey reads 64 hex digits.
func ParseKey(s string) (Key, error) {
	d, err := model.ParseDigest(s)
	return Key(d), err
}

// KeyOf is SHA-256 over the version of the key, and, each text with its length, the
// request's chain, params digest, purpose, lane and occurrence, and luck.
func KeyOf(req *model.Request, luck uint64) Key {
	b := []byte("harnessbench/response-cache/1\n")
	chain := req.Chain()
	b = append(b, chain[:]...)
	b = append(b, req.ParamsDigest[:]...)
	for _, s := range []string{string(req.Purpose), req.Lane} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(req.Occurrence))
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, luck))
}

// Store keeps answers. It is safe for concurrent use.
type Store interface {
	// Get returns the answer that was stored under the key when the store was opened;
	// nil and no error when there was none. An error says that there is something that
	// cannot be used. The answer is the caller's.
	Get(Key) (*model.Response, error)
	// Put stores items, finish and model of an answer for whoever opens the store
	// later. What is stored already stays. It keeps no reference. A store need not
	// take every answer: one that is too large, or looks as if it held a secret, it may
	// leave out without an error.
	Put(Key, *model.Response) error
}

// Options say how a store stands before a model.
type Options struct {
	Store Store
	Model string // the id whose answers are cached; those of others are fallbacks'
	Luck  uint64 // of the repetition
	// Shadow asks the model also where the store knows an answer.
	Shadow bool
}

// Wrap puts a store before a model.
func Wrap(m model.Model, o Options) model.Model { return &cached{m, o} }

type cached struct {
	model.Model
	o Options
}

// Generate implements model.Model.
func (c *cached) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if req.Params.Model != c.o.Model {
		return c.Model.Generate(ctx, req, onDelta)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := KeyOf(req, c.o.Luck)
	known, err := c.o.Store.Get(key)
	failed := words("read", err)
	if err == nil && known != nil && !c.o.Shadow {
		return hit(known, onDelta), nil
	}
	resp, err := c.Model.Generate(ctx, req, onDelta)
	if err != nil || resp == nil {
		return resp, blame(err, failed)
	}
	if known == nil && ctx.Err() == nil && worth(req, resp) {
		failed = join(failed, words("written", c.o.Store.Put(key, resp)))
	}
	if known == nil && failed == "" {
		return resp, nil
	}
	out := *resp // it may be shared
	out.CacheFailed = failed
	if known != nil {
		out.Cache = model.CacheKnown
	}
	return &out, nil
}

// hit makes an answer of what a store knows.
func hit(known *model.Response, onDelta func(model.Delta)) *model.Response {
	out := &model.Response{Items: known.Items, Finish: known.Finish, Model: known.Model, Cache: model.CacheHit}
	if onDelta != nil {
		for i := range out.Items {
			if it := &out.Items[i]; it.Type == model.Text {
				onDelta(model.Delta{Index: i, Type: it.Type, Text: it.Text})
			}
		}
	}
	return out
}

// worth reports whether an answer is one to be given again: not one that came too
// late, since the loop takes it for an error, and not one that was cut before it
// said anything, since a policy may drop it.
func worth(req *model.Request, resp *model.Response) bool {
	if req.Timeout > 0 && resp.Elapsed > req.Timeout {
		return false
	}
	for i := range resp.Items {
		if it := &resp.Items[i]; it.Type != model.Reasoning && (it.Type != model.Text || strings.TrimSpace(it.Text) != "") {
			return true
		}
	}
	return resp.Finish != model.FinishLength
}

// blame adds to a model's error that the cache failed before it.
func blame(err error, failed string) error {
	var e *model.Error
	if failed == "" || !errors.As(err, &e) {
		return err
	}
	out := *e
	out.CacheFailed = failed
	return &out
}

// words says what went wrong without the path at which it did: that is a fact of
// the machine.
func words(what string, err error) string {
	if err == nil {
		return ""
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return "it could not be " + what + ": " + err.Error()
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
