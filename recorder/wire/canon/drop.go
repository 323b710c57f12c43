package canon

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// partLists are the members that hold parts.
var partLists = []string{"tools", "system", "instructions", "messages", "input"}

const maxPointer = 16 // tokens

// pointerToDrop reads the pointer of a drop normaliser.
func pointerToDrop(pointer string) ([]string, error) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok || rest == "" {
		return nil, errors.New("want the RFC 6901 pointer of a member, as in drop=/client_metadata")
	}
	tokens := strings.Split(rest, "/")
	if len(tokens) > maxPointer {
		return nil, errors.New("the pointer has more than 16 tokens")
	}
	for i, t := range tokens {
		plain := strings.NewReplacer("~0", "", "~1", "").Replace(t)
		if strings.Contains(plain, "~") {
			return nil, errors.New("in a pointer ~ is written ~0, and / within a name ~1")
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	if len(tokens) < 3 && slices.Contains(partLists, tokens[0]) {
		return nil, errors.New("tools, system and messages are what is compared, so none is dropped whole; name a member of one, as in drop=/messages/*/name")
	}
	return tokens, nil
}

// drop removes the declared members from what stands at a pointer of the request,
// and reports whether there were any. The pointer has * for an index that is not
// known.
func (st *striker) drop(pointer string, n *node) (dropped bool) {
	if st == nil {
		return false
	}
	for _, d := range st.drops {
		if k := remove(n, below(d.drop, pointer)); k > 0 {
			st.count(d.name, k)
			dropped = true
		}
	}
	return dropped
}

// below returns the rest of a path from the place where a pointer ends, nil when it
// does not lead there.
func below(tokens []string, pointer string) []string {
	for i, at := range strings.Split(pointer, "/")[1:] {
		if i == len(tokens) || tokens[i] != at && (i == 0 || tokens[i] != "*") {
			return nil
		}
	}
	return tokens[strings.Count(pointer, "/"):]
}

// remove removes the members at a path and returns how many there were.
func remove(n *node, tokens []string) (count int) {
	switch {
	case n == nil || len(tokens) == 0:
	case n.kind == '[' && len(tokens) > 1:
		for i := range n.arr {
			if tokens[0] == "*" || tokens[0] == strconv.Itoa(i) {
				count += remove(&n.arr[i], tokens[1:])
			}
		}
	case n.kind == '{' && len(tokens) > 1:
		count = remove(n.get(tokens[0]), tokens[1:])
	case n.kind == '{':
		before := len(n.obj)
		n.obj = slices.DeleteFunc(n.obj, func(m member) bool { return m.name == tokens[0] })
		count = before - len(n.obj)
	}
	return count
}
