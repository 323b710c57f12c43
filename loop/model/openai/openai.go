package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	openai "github.com/sashabaranov/go-openai"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Model asks one model of one endpoint. It implements model.Model, is safe for
// concurrent use, and keeps nothing between calls.
type Model struct {
	o       Options // with defaults filled in
	base    *url.URL
	extra   []byte // members of the body from Options.Extra: ,"k":v,...
	client  *openai.Client
	secrets []string
	seed    string // Trace: of the trial, decimal; empty = none
}

// New checks o and makes the model. It opens no connection.
func New(o Options) (*Model, error) { return newModel(o, shared) }

func newModel(o Options, transport http.RoundTripper) (*Model, error) {
	base, extra, err := o.check()
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, base: base, extra: extra, secrets: o.secrets()}
	config := openai.DefaultConfig(o.Key)
	// Without the query, which the library cannot place: send puts it back.
	config.BaseURL = (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path, RawPath: base.RawPath}).String()
	config.HTTPClient = &sender{transport: transport, headers: o.Headers, query: base.RawQuery, stream: o.Stream}
	m.client = openai.NewClientWithConfig(config)
	return m, nil
}

// ID is provider/name as in suites, sessions and prices, whatever snapshot the
// endpoint says answered.
func (m *Model) ID() string { return m.o.ID }

// WithSeed returns a copy that names one trial's seed in the metadata of its
// requests (see Options.Trace). It is cheap: the copy shares everything.
func (m *Model) WithSeed(luck uint64) *Model {
	c := *m
	c.seed = decimal(luck)
	return &c
}

// Generate implements model.Model. Texts and reasoning are given to onDelta as
// they come (with Options.Stream; else none is). An answer's calls have no ids:
// the loop assigns them. Response.Model is ID, Elapsed is 0.
func (m *Model) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &call{watch: newWatch(ctx, m.o.Timeouts, req.Timeout), answer: answer{onDelta: onDelta}}
	defer c.watch.stop()
	c.pose(m, req)
	inner := context.WithValue(c.watch.ctx, callKey{}, c)
	var err error
	if m.o.Stream {
		err = m.streamed(inner, c)
	} else {
		err = m.whole(inner, c)
	}
	if err != nil {
		return nil, m.explain(ctx, c, err)
	}
	return &model.Response{Items: c.answer.done(), Finish: c.answer.finish, Usage: c.billed(), Model: m.o.ID}, nil
}

// whole asks for an answer in one piece.
func (m *Model) whole(ctx context.Context, c *call) error {
	resp, err := m.client.CreateChatCompletion(ctx, c.request)
	if err != nil {
		return err
	}
	if len(resp.Choices) == 0 {
		return &notAnAnswer{"the answer has no choices"}
	}
	choice := &resp.Choices[0]
	c.answer.onDelta = nil // nothing was streamed
	c.answer.message(&choice.Message)
	c.answer.finish = model.Finish(choice.FinishReason)
	return nil
}

// streamed asks for a stream and reads it to its end.
func (m *Model) streamed(ctx context.Context, c *call) error {
	stream, err := m.client.CreateChatCompletionStream(ctx, c.request)
	if err != nil {
		return err
	}
	defer stream.Close()
	choices := false
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(chunk.Choices) == 0 { // usage, or a filter's verdict on the prompt
			continue
		}
		choices = true
		c.answer.delta(&chunk.Choices[0].Delta)
		if f := chunk.Choices[0].FinishReason; f != "" {
			c.answer.finish = model.Finish(f)
		}
	}
	switch {
	case !c.done && c.answer.finish == "":
		return &brokenOff{"the stream ended without a finish reason and without [DONE]"}
	case !choices:
		return &notAnAnswer{"the stream has no choices"}
	}
	return nil
}

// CloseIdle closes the idle connections of all models of the process.
func CloseIdle() { shared.CloseIdleConnections() }
