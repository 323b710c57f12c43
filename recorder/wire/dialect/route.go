package dialect

import "strings"

// The auxiliary calls that Route names. They start no turn and are unordered in
// a recording.
const (
	AuxModels      = "models"       // GET /v1/models
	AuxModel       = "model"        // GET /v1/models/ID
	AuxCountTokens = "count_tokens" // POST /v1/messages/count_tokens
	AuxInputTokens = "input_tokens" // POST /v1/responses/input_tokens
	AuxRoot        = "root"         // GET or HEAD /, with which some clients look whether anybody is there
)

// Route says what a request is for. The path may begin with /v1, also twice,
// since base URLs are given with and without it; a query and a slash at the end
// do not count. aux is empty for a request that a model answers; api is empty for
// AuxModels, AuxModel and AuxRoot, which no API owns. Without ok nothing else is
// known.
func Route(method, path string) (api API, aux string, ok bool) {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	for range 2 {
		if path == "/v1" || strings.HasPrefix(path, "/v1/") {
			path = path[len("/v1"):]
		}
	}
	switch method {
	case "POST":
		switch path {
		case "/chat/completions":
			return Chat, "", true
		case "/responses":
			return Responses, "", true
		case "/messages":
			return Messages, "", true
		case "/messages/count_tokens":
			return Messages, AuxCountTokens, true
		case "/responses/input_tokens":
			return Responses, AuxInputTokens, true
		}
	case "GET", "HEAD":
		switch {
		case path == "":
			return "", AuxRoot, true
		case path == "/models":
			return "", AuxModels, true
		case strings.HasPrefix(path, "/models/") && len(path) > len("/models/"):
			return "", AuxModel, true
		}
	}
	return "", "", false
}
