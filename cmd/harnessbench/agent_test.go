package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// testAgent is the program testagent of the scripts: an agent as users write
// them. It knows nothing of harnessbench but the base URL in its environment,
// asks a model, runs the one tool it has, retries what passes with time, and
// prints the last answer.
func testAgent() {
	var a agent
	api := flag.String("api", "chat", "chat, responses or messages")
	flag.BoolVar(&a.stream, "stream", false, "ask for streams")
	lanes := flag.Int("lanes", 1, "conversations side by side")
	once := flag.Bool("once", false, "end after the first answer")
	code := flag.Int("exit", 0, "exit with this code at the end")
	read := flag.Bool("stdin", false, "the task comes on stdin")
	hang := flag.Bool("hang", false, "wait for a signal when the first answer is there")
	flag.Parse()
	a.api, a.once = dialect.API(*api), *once
	task := strings.Join(flag.Args(), " ")
	if *read {
		b, _ := io.ReadAll(os.Stdin)
		task = strings.TrimSpace(string(b))
	}
	said := make([]string, *lanes)
	var wg sync.WaitGroup
	for i := range said {
		wg.Go(func() {
			if *lanes > 1 {
				said[i] = a.run(task, fmt.Sprintf("%d-%d", os.Getpid(), i)) // another one in each run
			} else {
				said[i] = a.run(task, "")
			}
		})
	}
	wg.Wait()
	for _, s := range said {
		fmt.Println(s)
	}
	if *hang {
		fmt.Fprintln(os.Stderr, "waiting")
		time.Sleep(time.Minute)
	}
	os.Exit(*code)
}

type agent struct {
	api          dialect.API
	stream, once bool
}

type obj = map[string]any

// run has one conversation and returns its last text.
func (a *agent) run(task, session string) string {
	turns, previous := []any{obj{"role": "user", "content": task}}, ""
	for range 20 {
		body := obj{"model": "test-model", "stream": a.stream}
		path := "/messages"
		switch a.api {
		case dialect.Chat:
			path, body["messages"] = "/chat/completions", turns
			body["tools"] = []any{obj{"type": "function", "function": obj{"name": "lookup", "description": "Looks up a price.", "parameters": obj{"type": "object"}}}}
		case dialect.Responses:
			path, body["input"] = "/responses", turns
			body["tools"] = []any{obj{"type": "function", "name": "lookup", "parameters": obj{"type": "object"}}}
			if previous != "" {
				body["previous_response_id"] = previous
			}
		case dialect.Messages:
			body["messages"], body["max_tokens"] = turns, 1000
			body["tools"] = []any{obj{"name": "lookup", "input_schema": obj{"type": "object"}}}
		}
		resp, raw := a.ask(path, session, body)
		calls := resp.Calls()
		if len(calls) == 0 || a.once {
			return model.TextOf(resp.Items)
		}
		if a.api == dialect.Responses {
			turns, previous = nil, responseID(raw)
		}
		turns = append(turns, a.history(resp)...)
	}
	return "no end"
}

// history is what a turn leaves in the conversation: the answer and the results.
func (a *agent) history(resp *model.Response) []any {
	var calls, results []any
	for _, c := range resp.Calls() {
		price := "no such thing"
		var args struct{ What string }
		if json.Unmarshal([]byte(c.Args), &args) == nil && args.What != "" {
			price = fmt.Sprintf("%s cost %d", args.What, len(args.What)*2)
		}
		switch a.api {
		case dialect.Chat:
			calls = append(calls, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": c.Args}})
			results = append(results, obj{"role": "tool", "tool_call_id": c.ID, "content": price})
		case dialect.Responses:
			results = append(results, obj{"type": "function_call_output", "call_id": c.ID, "output": price})
		case dialect.Messages:
			calls = append(calls, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
			results = append(results, obj{"type": "tool_result", "tool_use_id": c.ID, "content": price})
		}
	}
	switch a.api {
	case dialect.Chat:
		return append([]any{obj{"role": "assistant", "content": model.TextOf(resp.Items), "tool_calls": calls}}, results...)
	case dialect.Messages:
		return []any{obj{"role": "assistant", "content": calls}, obj{"role": "user", "content": results}}
	}
	return results
}

// ask asks until there is an answer, as clients do: again after a 429 or a broken
// connection, and not where it is told not to.
func (a *agent) ask(path, session string, body obj) (*model.Response, []byte) {
	url, key := os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_API_KEY")
	if a.api == dialect.Messages {
		url, key = os.Getenv("ANTHROPIC_BASE_URL")+"/v1", os.Getenv("ANTHROPIC_API_KEY")
	}
	sent, _ := json.Marshal(body)
	for try := 0; ; try++ {
		req, err := http.NewRequest("POST", url+path, bytes.NewReader(sent))
		if err != nil {
			agentFails(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("X-Session-Id", session)
		resp, err := http.DefaultClient.Do(req)
		var raw []byte
		if err == nil {
			raw, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			got, bad := dialect.Parse(a.api, resp.StatusCode, resp.Header.Get, raw)
			if bad == nil {
				return got, raw
			}
			err = fmt.Errorf("%d: %s", resp.StatusCode, raw)
			if resp.StatusCode != 429 && resp.StatusCode < 500 {
				agentFails(err)
			}
			wait, _ := strconv.Atoi(resp.Header.Get("Retry-After-Ms"))
			time.Sleep(time.Duration(min(wait, 20)) * time.Millisecond)
		}
		if try == 3 {
			agentFails(err)
		}
	}
}

func agentFails(err error) {
	fmt.Fprintln(os.Stderr, "testagent:", err)
	os.Exit(7)
}

func responseID(raw []byte) string {
	_, rest, _ := bytes.Cut(raw, []byte(`"id":"resp_`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return "resp_" + string(id)
}
