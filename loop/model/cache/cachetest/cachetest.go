// Package cachetest is the conformance suite of cache.Store.
//
//  1. [Run] is given a function that opens a store over one place, again and again.
//  2. It stores, opens again and reads, and holds what comes against the contract.
package cachetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
)

// Run checks a store. place makes a new, empty place and returns what opens it.
func Run(t *testing.T, place func(t *testing.T) (open func() cache.Store)) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func() cache.Store){
		"what is stored is read by who opens it later": later, "what is stored stays": stays, "a read answer is the reader's": own, "many at a time": many,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

// answer is one with an item of every kind.
func answer(text string) *model.Response {
	return &model.Response{Finish: model.FinishCalls, Model: "m/answered", Usage: model.Usage{Output: 7}, Elapsed: 5, Items: []model.Item{
		{Type: model.Text, Text: text}, {Type: model.Reasoning, Text: "why\n\u2028"}, {Type: model.Plan, Text: "p"},
		{Type: model.CallItem, Call: model.ToolCall{ID: "made-up", Name: "get", Args: `{"a": [1,`}},
		{Type: model.ProviderCall, Evidence: `{"query":"x"}`}}}
}

func key(n byte) cache.Key { return cache.Key{n} }

func get(t *testing.T, s cache.Store, k cache.Key) *model.Response {
	t.Helper()
	r, err := s.Get(k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func put(t *testing.T, s cache.Store, k cache.Key, r *model.Response) {
	t.Helper()
	if err := s.Put(k, r); err != nil {
		t.Fatal(err)
	}
}

func later(t *testing.T, open func() cache.Store) {
	s := open()
	put(t, s, key(1), answer("one"))
	if get(t, s, key(1)) != nil {
		t.Error("who stored it reads it")
	}
	s = open()
	r := get(t, s, key(1))
	if r == nil || get(t, s, key(2)) != nil {
		t.Fatalf("%+v", r)
	}
	want := answer("one")
	if r.Finish != want.Finish || r.Model != want.Model || len(r.Items) != len(want.Items) || r.Cache != "" {
		t.Fatalf("%+v", r)
	}
	for i := range want.Items {
		want.Items[i].Call.ID = ""
		if r.Items[i] != want.Items[i] {
			t.Errorf("item %d is %+v, stored was %+v", i, r.Items[i], want.Items[i])
		}
	}
	empty := &model.Response{Finish: model.FinishStop}
	put(t, s, key(3), empty)
	if r := get(t, open(), key(3)); r == nil || len(r.Items) != 0 || r.Finish != model.FinishStop {
		t.Errorf("an empty answer: %+v", r)
	}
}

func stays(t *testing.T, open func() cache.Store) {
	s := open()
	put(t, s, key(1), answer("first"))
	put(t, s, key(1), answer("second"))
	put(t, open(), key(1), answer("third"))
	if r := get(t, open(), key(1)); r.Items[0].Text != "first" {
		t.Errorf("it is %q", r.Items[0].Text)
	}
}

func own(t *testing.T, open func() cache.Store) {
	given := answer("text")
	s := open()
	put(t, s, key(1), given)
	given.Items[0].Text = "changed after it was stored"
	s = open()
	r := get(t, s, key(1))
	r.Items[0].Text, r.Finish = "changed after it was read", "odd"
	if r := get(t, s, key(1)); r.Items[0].Text != "text" || r.Finish != model.FinishCalls {
		t.Errorf("%+v", r)
	}
}

func many(t *testing.T, open func() cache.Store) {
	s := open()
	var wg sync.WaitGroup
	for n := range byte(16) {
		wg.Go(func() {
			for range 4 {
				_ = s.Put(key(n%8), answer(fmt.Sprint(n%8)))
				_, _ = s.Get(key(n))
			}
		})
	}
	wg.Wait()
	s = open()
	for n := range byte(8) {
		if r := get(t, s, key(n)); r == nil || r.Items[0].Text != fmt.Sprint(n) {
			t.Errorf("%d: %+v", n, r)
		}
	}
}
