package cache

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

// MaxEntry bounds an entry of a file store, in bytes.
const MaxEntry = 8 << 20

const entryVersion = "harnessbench/response/1"

// entry is one answer in a file: a line of JSON, and a line with its SHA-256 in hex.
type entry struct {
	Version string `json:"v"`
	Key     string `json:"key"`
	Model   string `json:"model"`
	Finish  string `json:"finish"`
	Items   []item `json:"items"`
}

type item struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitzero"`
	Name     string         `json:"name,omitzero"`
	Args     string         `json:"args,omitzero"`
	Evidence jsontext.Value `json:"evidence,omitzero"`
}

// encode writes an entry.
func encode(k Key, r *model.Response) ([]byte, error) {
	e := entry{Version: entryVersion, Key: k.String(), Model: r.Model, Finish: string(r.Finish), Items: []item{}}
	for i := range r.Items {
		it := &r.Items[i]
		if !utf8.ValidString(it.Text) || !utf8.ValidString(it.Call.Name) || !utf8.ValidString(it.Call.Args) {
			return nil, errors.New("a text is no UTF-8")
		}
		out := item{Type: string(it.Type), Text: it.Text, Name: it.Call.Name, Args: it.Call.Args}
		if it.Evidence != "" {
			out.Evidence = jsontext.Value(it.Evidence)
		}
		e.Items = append(e.Items, out)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, errors.New("an item holds what is no JSON")
	}
	sum := model.Sum(b)
	return append(append(append(b, '\n'), hex.EncodeToString(sum[:])...), '\n'), nil
}

// errDamaged says that an entry is not what was stored.
var errDamaged = errors.New("the entry is damaged")

// decode reads an entry. Whatever does not fit is damage; nothing of it is used.
func decode(k Key, data []byte) (*model.Response, error) {
	line, sum, ok := bytes.Cut(data, []byte("\n"))
	want := model.Sum(line)
	if !ok || string(sum) != hex.EncodeToString(want[:])+"\n" {
		return nil, errDamaged
	}
	var e entry
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, errDamaged
	}
	switch {
	case e.Version != entryVersion:
		return nil, fmt.Errorf("the entry has the version %.40q; this build knows %s", e.Version, entryVersion)
	case e.Key != k.String():
		return nil, errDamaged
	}
	r := &model.Response{Model: e.Model, Finish: model.Finish(e.Finish)}
	for _, it := range e.Items {
		r.Items = append(r.Items, model.Item{Type: model.ItemType(it.Type), Text: it.Text,
			Call: model.ToolCall{Name: it.Name, Args: it.Args}, Evidence: string(it.Evidence)})
	}
	return r, nil
}
