package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// hider takes the secrets of a run out of texts and keeps their length.
type hider struct{ replace *strings.Replacer }

// shortSecret is a value that is no secret worth the name: replacing it would
// spoil texts that hold it by chance.
const shortSecret = 8

// newHider hides these values, longest first, so that one within another leaves
// no rest.
func newHider(secrets []string) *hider {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		if len(s) >= shortSecret {
			pairs = append(pairs, s, strings.Repeat("x", len(s)))
		}
	}
	return &hider{strings.NewReplacer(pairs...)}
}

// discreet is a model whose endpoint may throw the keys of its requests back: no
// answer and no error of it holds one, so no session does.
type discreet struct {
	model.Model
	hide *hider
}

// Generate implements model.Model.
func (d discreet) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if onDelta != nil {
		heard := onDelta
		onDelta = func(x model.Delta) {
			x.Text = d.hide.replace.Replace(x.Text)
			heard(x)
		}
	}
	resp, err := d.Model.Generate(ctx, req, onDelta)
	var e *model.Error
	if errors.As(err, &e) {
		clean := *e
		clean.Message = d.hide.replace.Replace(e.Message)
		return nil, &clean
	}
	if resp == nil || err != nil {
		return resp, err
	}
	out := *resp
	out.Items = slices.Clone(resp.Items)
	for i := range out.Items {
		it := &out.Items[i]
		for _, s := range []*string{&it.Text, &it.Call.Name, &it.Call.Args, &it.Evidence} {
			*s = d.hide.replace.Replace(*s)
		}
	}
	return &out, nil
}
