package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// ListEntries is the most entries that one call of list_dir shows.
const ListEntries = 1000

var listSpec = newSpec("list_dir", event.Read,
	"Lists a folder, sorted by name: folders end in /, files stand with their size.",
	`{"additionalProperties":false,"properties":{`+
		`"path":{"description":"folder below /workspace; default /workspace","type":"string"}`+
		`},"type":"object"}`)

func listDir(_ context.Context, ws workspace.Workspace, args string) tool.Result {
	rel, err := relPath(args)
	if err != nil {
		return failed(err.Error())
	}
	infos, err := ws.List(rel)
	if err != nil {
		return failed(err.Error())
	}
	if len(infos) == 0 {
		return success("[empty folder]")
	}
	var b strings.Builder
	for i, in := range infos {
		name := in.Path[strings.LastIndexByte(in.Path, '/')+1:]
		line := name + "/\n"
		if !in.Dir {
			line = fmt.Sprintf("%s (%d bytes)\n", name, in.Size)
		}
		if i == ListEntries || b.Len()+len(line) > PageBytes {
			fmt.Fprintf(&b, "[%d of %d entries shown; search the others with grep]", i, len(infos))
			return success(b.String())
		}
		b.WriteString(line)
	}
	return success(strings.TrimSuffix(b.String(), "\n"))
}
