package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop"
)

// settingNames are what --set changes beside guards, as help and errors list them.
const settingNames = "limits.turns limits.tool_calls limits.tokens limits.cost_usd limits.wall limits.context_window " +
	"params.max_tokens params.temperature params.top_p params.seed prompt model"

// settings are the changes that --set and --arm ask for.
type settings struct {
	changes []string
	arm     *design.Arm
	prompts map[string]string // by what stands after prompt=@
	model   string            // "" = the recorded one
}

// parseSettings checks what can be checked without a session.
func parseSettings(changes []string) (*settings, error) {
	s := &settings{changes: changes, prompts: map[string]string{}}
	seen := map[string]bool{}
	for _, change := range changes {
		key, value, ok := strings.Cut(change, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: write NAME=VALUE, for example guard.stuck.abort=4", change)
		case key == "model" && value == "":
			return nil, errors.New("model=: write model=PROVIDER/NAME")
		case seen[plainKey(key)]:
			return nil, fmt.Errorf("%s is set twice", plainKey(key))
		}
		seen[plainKey(key)] = true
		switch {
		case key == "model":
			s.model = value
		case key == "prompt":
			text, err := readPromptFile(value)
			if err != nil {
				return nil, err
			}
			s.prompts[value] = text
		}
	}
	return s, nil
}

// plainKey is one name for what has two: guard.NAME is its mode.
func plainKey(key string) string {
	if name, ok := strings.CutPrefix(key, "guard."); ok && name != "" && !strings.Contains(name, ".") {
		return key + ".mode"
	}
	return key
}

// readPromptFile reads @FILE, with the rules of a suite's prompts.
func readPromptFile(value string) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	if !ok || name == "" {
		return "", fmt.Errorf("prompt=%.60s: write prompt=@FILE", value)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the prompt: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(f, design.MaxPromptBytes+1))
	text := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", fmt.Errorf("the prompt: %w", err)
	case len(b) > design.MaxPromptBytes:
		return "", fmt.Errorf("the prompt %s has more than %d bytes", name, design.MaxPromptBytes)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", fmt.Errorf("the prompt %s is not valid UTF-8 text", name)
	case text == "":
		return "", fmt.Errorf("the prompt %s is empty", name)
	}
	return text, nil
}

// apply makes the child's settings. What a change of the model brings with it is
// in asked.
func (s *settings) apply(set *loop.Settings, asked *loop.Settings) error {
	if s.arm != nil {
		if !s.arm.On(set.Params.Model) && s.model == "" {
			return fmt.Errorf("the arm %s does not run on %s, but on %s: add --set model=... --live", s.arm.Name, set.Params.Model, strings.Join(s.arm.Models, ", "))
		}
		set.Guards = s.arm.Guards
		if set.System = s.arm.Prompt; set.System == "" {
			set.System = trial.SystemPrompt
		}
	}
	if asked != nil {
		set.Models, set.Params, set.Fallbacks = asked.Models, asked.Params, asked.Fallbacks
		set.Window, set.Prices = asked.Window, asked.Prices
	}
	for _, change := range s.changes {
		key, value, _ := strings.Cut(change, "=")
		var err error
		switch {
		case key == "model":
		case key == "prompt":
			set.System = s.prompts[value]
		case strings.HasPrefix(key, "guard.") || key == "guard":
			set.Guards, err = design.ParseChange(set.Guards, change)
		default:
			err = setNumber(set, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setNumber changes a limit or a parameter.
func setNumber(set *loop.Settings, key, value string) error {
	var err error
	count := func(p *int64, least int64) {
		n, perr := strconv.ParseInt(value, 10, 64)
		if perr != nil || n < least || n > 1<<50 {
			err = fmt.Errorf("%s: %.60q is no whole number from %d on", key, value, least)
			return
		}
		*p = n
	}
	real := func(p **float64) {
		x, perr := strconv.ParseFloat(value, 64)
		if perr != nil || !(x >= 0 && x <= 100) { // NaN is neither
			err = fmt.Errorf("%s: %.60q is no number from 0 to 100", key, value)
			return
		}
		*p = &x
	}
	small := func(p *int) {
		n := int64(*p)
		if count(&n, 1); err == nil {
			*p = int(n)
		}
	}
	switch key {
	case "limits.turns":
		count(&set.Limits.Turns, 1)
	case "limits.tool_calls":
		count(&set.Limits.Calls, 1)
	case "limits.tokens":
		count(&set.Limits.Tokens, 1)
	case "limits.cost_usd":
		set.Limits.MicroUSD, err = microUSD(value)
	case "limits.wall":
		if set.Limits.Wall, err = time.ParseDuration(value); err != nil || set.Limits.Wall < time.Millisecond || set.Limits.Wall%time.Microsecond != 0 {
			err = fmt.Errorf("%s: %.60q is no duration from 1ms on, in whole microseconds; write it like 90s or 10m", key, value)
		}
	case "limits.context_window":
		small(&set.Window)
	case "params.max_tokens":
		small(&set.Params.MaxTokens)
	case "params.temperature":
		real(&set.Params.Temperature)
	case "params.top_p":
		real(&set.Params.TopP)
	case "params.seed":
		var seed int64
		count(&seed, 0)
		set.Params.Seed = &seed
	default:
		return fmt.Errorf("no setting %.60q; there are guard.NAME.mode, guard.NAME.PARAM, %s", key, strings.ReplaceAll(settingNames, " ", ", "))
	}
	return err
}

// microUSD reads an amount of USD in millionths.
func microUSD(value string) (int64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= 1e-6 && x <= 1e6) { // NaN is neither
		return 0, errors.New("limits.cost_usd: write an amount of USD from 0.000001 to 1000000")
	}
	return int64(x*1e6 + 0.5), nil
}
