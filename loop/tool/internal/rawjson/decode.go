package rawjson

import "encoding/json"

// Decode returns the value of canonical JSON as a JSON Schema validator takes it:
// nil, bool, string, json.Number (numbers keep their lexemes), []any and
// map[string]any. It is several times faster than a general decoder since the
// text is known to be canonical; on other text the value is meaningless. Nesting
// must be bounded by the caller.
func Decode(text string) any {
	v, _ := decode(text, 0)
	return v
}

// decode returns the value that begins at i, and the index after it.
func decode(s string, i int) (any, int) {
	if i >= len(s) {
		return nil, i
	}
	switch s[i] {
	case '{':
		return decodeObject(s, i)
	case '[':
		return decodeArray(s, i)
	case '"':
		end := String(s, i)
		return Text(s[i:end]), end
	}
	end := Value(s, i)
	switch raw := s[i:end]; raw {
	case "true":
		return true, end
	case "false":
		return false, end
	case "null", "":
		return nil, end
	default:
		return json.Number(raw), end
	}
}

func decodeObject(s string, i int) (map[string]any, int) {
	m := map[string]any{}
	for i++; i < len(s) && s[i] == '"'; {
		end := String(s, i)
		name := Text(s[i:end])
		m[name], i = decode(s, end+1) // the colon
		if i < len(s) && s[i] == ',' {
			i++
		}
	}
	return m, min(i+1, len(s))
}

func decodeArray(s string, i int) ([]any, int) {
	list := []any{}
	for i++; i < len(s) && s[i] != ']'; {
		from := i
		var v any
		v, i = decode(s, i)
		list = append(list, v)
		if i < len(s) && s[i] == ',' {
			i++
		}
		if i == from {
			break // no JSON
		}
	}
	return list, min(i+1, len(s))
}
