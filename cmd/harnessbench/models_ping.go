package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/provider"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/results/pricing"
)

// pong is what models ping --json prints. null is unknown.
type pong struct {
	Schema   string       `json:"schema"`
	Model    string       `json:"model"`
	Name     string       `json:"name"` // on the wire
	Endpoint string       `json:"base_url"`
	Stream   bool         `json:"stream"`
	Seconds  float64      `json:"seconds"` // from the question to the whole answer
	Error    *pongError   `json:"error"`
	Text     string       `json:"text"`
	Calls    []pongCall   `json:"tool_calls"`
	ToolCall bool         `json:"calls_tools"` // the tool was called as asked
	Finish   model.Finish `json:"finish"`
	Input    *int64       `json:"input_tokens"`
	Output   *int64       `json:"output_tokens"`
	CostUSD  *float64     `json:"cost_usd"`
}

type pongError struct {
	Kind    model.ErrorKind `json:"kind"`
	Status  int             `json:"status"` // HTTP status; 0 = there was none
	Message string          `json:"message"`
}

type pongCall struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

// pingTokens bounds the answer; models that reason first need more than a call
// takes.
const pingTokens = 1024

func newModelsPing(a *app, path *string) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ping ID",
		Short: "Ask a real model one small question, with one tool",
		Long: `Asks a model once, over the network, for the call of a tool, and prints how long it
took, what it cost and what came back. Nothing is asked again after an error.

Exit 0: it answered with the call. 1: it refused, or it answered without the call
(scenarios need models that call tools). 2: the models file is wrong or does not
know the model. 3: a key is not set. 4: no answer: unreachable, overloaded, too late.`,
		Example: `  harnessbench models ping openai/gpt-4o-mini
  harnessbench models ping ollama/qwen3:8b --models models.yaml`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "for the whole answer")
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if timeout <= 0 {
			return cli.Usagef("use for example 30s", "--timeout must be above 0")
		}
		r, err := ping(cmd.Context(), *path, args[0], timeout)
		if err != nil {
			return err
		}
		if *asJSON {
			err = cli.WriteJSON(a.stdout, r)
		} else {
			err = r.print(a)
		}
		if err == nil {
			err = cli.Status(r.code())
		}
		return err
	}
	return cmd
}

// ping asks once.
func ping(ctx context.Context, path, id string, timeout time.Duration) (*pong, error) {
	p, f, err := openModels(path)
	if err != nil {
		return nil, err
	}
	e, err := f.Find(id)
	if err != nil {
		return nil, &cli.Exit{Code: cli.Wrong, Err: err, Hint: "harnessbench models lists the models; simulated ones need no ping"}
	}
	m, err := p.Model(id, 1)
	var missing *provider.MissingError
	switch {
	case errors.As(err, &missing):
		return nil, &cli.Exit{Code: cli.CannotJudge, Err: err, Hint: "export " + missing.Env[0] + "=..."}
	case err != nil:
		return nil, cli.WithCode(cli.Wrong, err)
	}
	r := &pong{Schema: "harnessbench/model-ping/v1", Model: e.ID, Name: e.Name, Endpoint: e.Provider.BaseURL, Stream: e.Stream, Calls: []pongCall{}}
	asked, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	resp, err := m.Generate(asked, pingRequest(&e, timeout), nil)
	r.Seconds = time.Since(start).Round(time.Millisecond).Seconds()
	switch {
	case ctx.Err() != nil:
		return nil, &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	case err != nil:
		r.fail(err, timeout)
	default:
		r.take(resp, f.Prices())
	}
	return r, nil
}

// pingRequest asks for the call of the one tool.
func pingRequest(e *models.Entry, timeout time.Duration) *model.Request {
	t := model.NewTranscript()
	t.Append(model.NewToolPart(model.ToolSpec{Name: "report", Version: 1, Description: "Reports a word to the user.",
		Schema: `{"additionalProperties":false,"properties":{"word":{"type":"string"}},"required":["word"],"type":"object"}`}))
	t.Append(model.NewTextPart(model.User, `Call the tool report with the word "pong". Write nothing else.`))
	parts, chains := t.View()
	params := e.Request(pingTokens, 1)
	return &model.Request{Params: params, ParamsDigest: params.Digest(), Parts: parts, Chains: chains, Count: len(parts), Lane: "main", Turn: 1, Timeout: timeout}
}

func (r *pong) fail(err error, timeout time.Duration) {
	var e *model.Error
	switch {
	case errors.As(err, &e):
		r.Error = &pongError{e.Kind, e.Status, e.Message}
	case errors.Is(err, context.DeadlineExceeded):
		r.Error = &pongError{model.ErrTimeout, 0, "no answer within " + timeout.String()}
	default:
		r.Error = &pongError{model.ErrProtocol, 0, err.Error()}
	}
}

func (r *pong) take(resp *model.Response, prices *pricing.Table) {
	r.Text, r.Finish = model.TextOf(resp.Items), resp.Finish
	for _, c := range resp.Calls() {
		r.Calls = append(r.Calls, pongCall{c.Name, c.Args})
		r.ToolCall = r.ToolCall || c.Name == "report"
	}
	if u := resp.Usage; !u.Unknown {
		r.Input, r.Output = new(u.InputUncached+u.CacheRead+u.CacheWrite), new(u.Output)
		r.CostUSD = prices.Cost(r.Model, pricing.Usage{InputUncached: &u.InputUncached, CacheRead: &u.CacheRead, CacheWrite: &u.CacheWrite, Output: &u.Output})
	}
}

// code is what the ping ends with.
func (r *pong) code() cli.Code {
	switch {
	case r.Error == nil && r.ToolCall:
		return cli.OK
	case r.Error == nil:
		return cli.No
	}
	switch r.Error.Kind {
	case model.ErrAuth, model.ErrQuota, model.ErrBadRequest, model.ErrContextOverflow, model.ErrProtocol:
		return cli.No
	}
	return cli.Errored
}

// print writes the answer for people.
func (r *pong) print(a *app) error {
	w := a.stdout
	line := func(key, format string, args ...any) {
		fmt.Fprintf(w, "%-9s %s\n", key, cli.SanitizeLine(fmt.Sprintf(format, args...)))
	}
	line("model", "%s, asked as %s", r.Model, r.Name)
	line("endpoint", "%s", r.Endpoint)
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	if e := r.Error; e != nil {
		line("error", "%s after %s: %s", errorName(e), took, e.Message)
		_, err := fmt.Fprintln(w, pingAdvice(e))
		return err
	}
	line("answered", "in %s, finish %s", took, r.Finish)
	if r.Input == nil {
		line("usage", "the endpoint does not tell: token counts, costs and budgets will be unknown")
	} else {
		line("usage", "%s tokens in, %s out, %s USD", thousands(int(*r.Input)), thousands(int(*r.Output)), dollars(r.CostUSD))
	}
	if r.Text != "" {
		line("text", "%.200q", r.Text)
	}
	for _, c := range r.Calls {
		line("call", "%s %.200s", c.Name, c.Args)
	}
	if r.ToolCall {
		return nil
	}
	_, err := fmt.Fprintln(w, "The tool was not called. Scenarios need a model and an endpoint that call tools: see docs/models.md.")
	return err
}

func errorName(e *pongError) string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (%d)", e.Kind, e.Status)
	}
	return string(e.Kind)
}

// pingAdvice says what to do about an error.
func pingAdvice(e *pongError) string {
	switch {
	case e.Kind == model.ErrAuth:
		return "The endpoint refuses the key: check the variable that key_env names."
	case e.Kind == model.ErrQuota:
		return "The account has no quota left: waiting does not help."
	case e.Kind == model.ErrRateLimit:
		return "The account is at its limit: try again later, and declare its limits in the models file."
	case e.Status == 404:
		return "The endpoint does not know the path or the model: check base_url (most end in /v1) and the model's name."
	case e.Kind == model.ErrBadRequest:
		return "The endpoint refuses the request: check the model's name and params. Servers of local models refuse tools unless they are started for them: see docs/models.md."
	case e.Kind == model.ErrTransport:
		return "Nothing answers there: check base_url, and that the server runs."
	case e.Kind == model.ErrTimeout, e.Kind == model.ErrDeadline:
		return "A model that is being loaded can take minutes: try --timeout 10m."
	}
	return "The endpoint is in trouble: try again later."
}
