package canon

import (
	"maps"
	"slices"
)

// presets are lists of declarations under one name. A preset must not hide what a
// user edits: paths and facts of the host are exact, and a pattern names the words
// around what it replaces. So dates are replaced where the agent says today's, and
// nowhere in a tool's result; who wants more declares date or uuid besides.
var presets = map[string][]string{
	"default": {"home", "cwd", "tmp", "host"},
	"claude-code": {"home", "cwd", "tmp", "host", resultOrder,
		`claude-date=Today's date is ((?:19|20)\d\d-\d\d-\d\d)\.`,
		`claude-billing=x-anthropic-billing-header: cc_version=[0-9.]+\.([0-9a-f]{3});`, // a hash of the first prompt, which is compared itself
		`claude-agent=(?:agentId: |to: '|/tasks/|<task-id>)(a[0-9a-f]{16})\b`,           // ids of subagents
		`claude-session=/claude-[0-9]+/[^/\s]+/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/tasks/`,
		`claude-uid=/claude-([0-9]+)/[^/\s]+/[^/\s]+/tasks/`,
		`claude-ms=(?:<duration_ms>|(?m:^)duration_ms: )([0-9]+)</(?:duration_ms|usage)>`,
	},
	// No result-order: Codex sends results in the order of the calls.
	"codex": {"home", "cwd", "tmp", "host",
		"drop=/client_metadata", // ids and the time of the turn
		"drop=/input/*/internal_chat_message_metadata_passthrough",
		`codex-date=<current_date>((?:19|20)\d\d-\d\d-\d\d)</current_date>`,
		`codex-zone=<timezone>([^<>\s]+)</timezone>`,
		// Of commands, as a text and as what a script gets of them.
		`codex-chunk=(?:(?m:^)Chunk ID: |"chunk_id":")([0-9a-f]{6})(?:(?m:$)|","wall_time_seconds":)`,
		`codex-wall=(?:(?m:^)Wall time:? |"chunk_id":"[^"]*","wall_time_seconds":)([0-9][0-9.e-]*)(?: seconds(?m:$)|,)`,
		`codex-agent=(?:"agent_id":|"agent_path":|"status":\{)"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"`,
		`codex-nick="agent_id":"[^"]*","nickname":"([^"]*)"`,
	},
}

// Presets returns the names of presets in order:
//
//	claude-code  Claude Code: default; result-order, today's date, the hash in the
//	             billing header, ids, folder and duration of subagents
//	codex        Codex CLI: default; client_metadata and metadata of items dropped;
//	             today's date and zone, chunk id and wall time of commands, ids and
//	             nicknames of subagents
//	default      home, cwd, tmp and host
//
// A list of normalisers holds what a preset stands for, and no preset.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// expand returns the declarations that a name stands for.
func expand(name string) []string {
	if list, ok := presets[name]; ok {
		return list
	}
	return []string{name}
}
