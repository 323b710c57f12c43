package check

import "strings"

// Words says the conditions of a list for the model, one sentence each, in order.
// What a file or the answer has to be they say no closer than a failing check
// would: the wanted value itself is not theirs to tell. A hint stands for its
// condition.
func (a Acceptance) Words() []string {
	out := make([]string, 0, len(a))
	for i := range a {
		out = append(out, Clean(a[i].words()))
	}
	return out
}

func (s *Spec) words() string {
	if s.Hint != "" {
		return s.Hint
	}
	name := "the final answer"
	if s.Path != "" {
		name = s.Path
	}
	switch s.Kind {
	case FileExists:
		return "The file " + s.Path + " exists."
	case FilesExist:
		return "These files exist: " + names(s.Paths) + "."
	case Contains:
		return "The final answer contains " + quoted(s.Want) + "."
	case FileContains:
		return s.Path + " contains " + quoted(s.Want) + "."
	case TreeEquals:
		return "The files of the workspace are those that the task asks for."
	case FileEquals, FileMatches, JSONEquals, NumberWithin:
		return sentence(name) + " says what the task asks for."
	case All, Any:
		var members []string
		for i := range s.Of {
			members = append(members, strings.TrimSuffix(s.Of[i].words(), "."))
		}
		join := map[Kind]string{All: "; and ", Any: "; or "}[s.Kind]
		return strings.Join(members, join) + "."
	}
	return "The final answer is what the task asks for."
}
