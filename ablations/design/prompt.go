package design

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// MaxPromptBytes bounds one system prompt.
const MaxPromptBytes = 64 << 10

// maxPrompts bounds the levels of a factor over prompts, so that a lock, which
// holds their texts, stays readable.
const maxPrompts = 32

// Prompt is a system prompt: its text, or the file that holds it.
type Prompt struct {
	strictyaml.Pos
	Text string `yaml:"text" doc:"the prompt"`
	File string `yaml:"file" doc:"a file with the prompt, in the suite's folder or below it"`
}

// read returns the prompt's text without white space around it; empty when it is
// the standard prompt.
func (p *Prompt) read(folder string) (string, error) {
	text := p.Text
	switch {
	case p.Text != "" && p.File != "":
		return "", p.Errorf("keep one of the two", "the prompt has text and file")
	case p.Text == "" && p.File == "":
		return "", p.Errorf("write text or file", "the prompt is empty")
	case p.File != "":
		var err error
		if text, err = readPrompt(folder, p.File); err != nil {
			return "", p.Errorf("name a file in the suite's folder or below it", "the prompt cannot be read: %v", err)
		}
	}
	text = strings.TrimSpace(text)
	switch {
	case len(text) > MaxPromptBytes:
		return "", p.Errorf("shorten it", "the prompt has more than %d bytes", MaxPromptBytes)
	case !utf8.ValidString(text):
		return "", p.Errorf("save the file as UTF-8", "the prompt is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		return "", p.Errorf("remove it", "the prompt holds a zero byte")
	case text == "":
		return "", p.Errorf("write something", "the prompt is empty")
	case text == trial.SystemPrompt:
		return "", nil
	}
	return text, nil
}

// readPrompt reads a file below the suite's folder. What a suite names goes to a
// model, so nothing outside of that folder can be named.
func readPrompt(folder, name string) (string, error) {
	if folder == "" {
		return "", fmt.Errorf("%s: an embedded suite has no files", name)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // read only
	name = filepath.FromSlash(name)
	info, err := root.Stat(name) // before it is opened: opening a pipe waits
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 2*MaxPromptBytes {
		return "", fmt.Errorf("%s: not a file of at most %d bytes", name, MaxPromptBytes)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := io.ReadAll(io.LimitReader(f, 2*MaxPromptBytes))
	return string(data), err
}
