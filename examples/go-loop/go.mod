module example.com/go-loop

go 1.26.5

require github.com/harnessbench/harnessbench v0.0.0

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/sashabaranov/go-openai v1.43.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

replace github.com/harnessbench/harnessbench => ../..
