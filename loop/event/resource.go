package event

import "strings"

// Prefixes of the resources that are no workspace paths; a path has its own form,
// /workspace/....
const (
	CommandPrefix = "cmd:"  // a command line
	HostPrefix    = "host:" // a host, with its port where one is given
)

// CommandResource is the canonical resource of a command line: white space is made
// single, a line break is what parts two commands.
func CommandResource(line string) string {
	return CommandPrefix + strings.Join(strings.Fields(strings.ReplaceAll(line, "\n", " ; ")), " ")
}

// HostResource is the canonical resource of a URL or a host: the host alone, in
// lower case.
func HostResource(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, "/?#\\"); i >= 0 {
		url = url[:i]
	}
	return HostPrefix + strings.ToLower(url[strings.LastIndexByte(url, '@')+1:])
}
