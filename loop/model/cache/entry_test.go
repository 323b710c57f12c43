package cache

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

// An entry is what was stored, or it is damaged: no byte of it can be changed. What
// is read is stored again as what is read.
func FuzzEntry(f *testing.F) {
	k := Key{1}
	sound, err := encode(k, &model.Response{Finish: model.FinishStop, Model: "m/a", Items: []model.Item{{Type: model.Text, Text: "x\n"},
		{Type: model.CallItem, Call: model.ToolCall{Name: "get", Args: "{}"}}, {Type: model.ProviderCall, Evidence: "null"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound, 3, byte(1))
	f.Add([]byte("{}\n"), 0, byte(0))
	f.Add([]byte(`{"v":"harnessbench/response/1","key":"x","model":"","finish":"","items":[]}`), 0, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		line := append([]byte(nil), data...) // any text with the digest of itself
		sum := model.Sum(line)
		for _, text := range [][]byte{data, append(append(append(line, '\n'), hex.EncodeToString(sum[:])...), '\n')} {
			r, err := decode(k, text)
			if (r == nil) == (err == nil) {
				t.Fatalf("%q gives %+v, %v", text, r, err)
			}
			if err != nil {
				continue
			}
			if again, err := encode(k, r); err != nil {
				t.Fatalf("%q is read and cannot be stored: %v", text, err)
			} else if same, err := decode(k, again); err != nil || !reflect.DeepEqual(same, r) {
				t.Fatalf("%q is read as %+v, and then as %+v, %v", text, r, same, err)
			}
		}
		if at >= 0 && at < len(sound) && flip != 0 {
			bad := append([]byte(nil), sound...)
			bad[at] ^= flip
			if _, err := decode(k, bad); err == nil {
				t.Fatalf("byte %d of an entry was changed unnoticed", at)
			}
		}
	})
}
