package dialect

// ModelList is the answer of GET /v1/models, in the shape of OpenAI's API or of
// Anthropic's.
func ModelList(anthropic bool, ids []string) *Reply {
	list := []raw{}
	for _, id := range ids {
		list = append(list, modelObject(anthropic, id))
	}
	if !anthropic {
		return &Reply{Status: 200, Type: typeJSON, Body: object("object", "list", "data", list)}
	}
	var first, last any
	if len(ids) > 0 {
		first, last = ids[0], ids[len(ids)-1]
	}
	return &Reply{Status: 200, Type: typeJSON, Body: object("data", list, "has_more", false, "first_id", first, "last_id", last)}
}

// ModelInfo is the answer of GET /v1/models/ID.
func ModelInfo(anthropic bool, id string) *Reply {
	return &Reply{Status: 200, Type: typeJSON, Body: modelObject(anthropic, id)}
}

func modelObject(anthropic bool, id string) raw {
	if anthropic {
		return object("type", "model", "id", id, "display_name", id, "created_at", "2023-11-14T22:13:20Z")
	}
	return object("id", id, "object", "model", "created", Created, "owned_by", "harnessbench")
}

// CountTokens answers what a request would cost in input tokens: an estimate, one
// token for each four bytes of its parts' canonical JSON, rounded up, which is what
// simulated models count. The body is that of a request; a mistake is a *BadRequest.
func CountTokens(api API, body []byte) (*Reply, error) {
	c, err := Decode(api, body)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, p := range c.Parts {
		bytes += p.Size
	}
	kv := []any{"input_tokens", (bytes + 3) / 4}
	if api == Responses {
		kv = append([]any{"object", "response.input_tokens"}, kv...)
	}
	return &Reply{Status: 200, Type: typeJSON, Body: object(kv...)}, nil
}
