package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextOf(t *testing.T) {
	txt := func(s string) Item { return Item{Type: Text, Text: s} }
	for _, tt := range []struct {
		items []Item
		want  string
	}{
		{nil, ""},
		{[]Item{txt("a")}, "a"},
		{[]Item{txt("a"), txt("b")}, "a\nb"},
		{[]Item{txt(""), txt("b")}, "\nb"},
		{[]Item{txt(""), txt(""), txt("c")}, "\n\nc"},
		{[]Item{txt("a"), {Type: Reasoning, Text: "secret"}, {Type: CallItem}, txt("b")}, "a\nb"},
		{[]Item{{Type: Plan, Text: "plan"}}, ""},
	} {
		// Join is the other way to say it.
		var texts []string
		for _, it := range tt.items {
			if it.Type == Text {
				texts = append(texts, it.Text)
			}
		}
		if got := TextOf(tt.items); got != tt.want || got != strings.Join(texts, "\n") {
			t.Errorf("%v: %q, want %q", tt.items, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	u := Usage{InputUncached: 1, CacheRead: 2, CacheWrite: 4, Output: 8, Reasoning: 3}
	if v := u.Add(Usage{Unknown: true}); !v.Unknown || v.Total() != u.Total() {
		t.Errorf("with an unknown: %+v", v)
	}
	v := u.Add(Usage{InputUncached: 10, CacheRead: 20, CacheWrite: 40, Output: 80, Reasoning: 30})
	if diff := cmp.Diff(Usage{InputUncached: 11, CacheRead: 22, CacheWrite: 44, Output: 88, Reasoning: 33}, v); diff != "" {
		t.Error(diff)
	}
	if u.Total() != 15 {
		t.Errorf("total %d: reasoning is a part of output and not added to it", u.Total())
	}
}

func TestResponseCalls(t *testing.T) {
	r := Response{Items: []Item{{Type: Text, Text: "x"}, {Type: CallItem, Call: ToolCall{Name: "a"}},
		{Type: ProviderCall, Evidence: "{}"}, {Type: CallItem, Call: ToolCall{Name: "b"}}}}
	if diff := cmp.Diff([]ToolCall{{Name: "a"}, {Name: "b"}}, r.Calls()); diff != "" {
		t.Error(diff)
	}
}

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  *Error
		want string
	}{
		{&Error{Kind: ErrServer}, "model: server"},
		{&Error{Kind: ErrQuota, Message: "no money"}, "model: quota: no money"},
	} {
		if tt.err.Error() != tt.want {
			t.Errorf("%q, want %q", tt.err.Error(), tt.want)
		}
		var back *Error
		if !errors.As(fmt.Errorf("wrapped: %w", tt.err), &back) || back != tt.err {
			t.Error("a wrapped error is not found again")
		}
	}
}
