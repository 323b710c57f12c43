package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// runChild runs a command on our own input and outputs until it ends, and says
// how: nil, or why it failed. Signals to us are passed on; an operator who
// interrupts twice has it killed, with all that it started. An error with a code
// means that it could not be started.
func runChild(ctx context.Context, a *app, argv, env []string) (failed, err error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = os.Stdin, a.stdout, a.stderr, env
	// In a group of its own, all of it can be killed; on a terminal it stays in
	// ours, or it could not read what the user types.
	grouped := !cli.Detect(os.Stdin).TTY && separate(c)
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, forwarded...)
	defer signal.Stop(sigs)
	if err := c.Start(); err != nil {
		return nil, &cli.Exit{Code: cli.Wrong, Err: fmt.Errorf("run %s: %w", argv[0], plain(err)), Hint: "name a program and its arguments after --"}
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	interrupted := false
	for {
		select {
		case failed = <-done:
			if interrupted && grouped {
				killAll(c)
			}
			return failed, nil
		case s := <-sigs:
			interrupted = true
			// A terminal has told the whole group of an interrupt already.
			if grouped || s != os.Interrupt {
				passSignal(c, s, grouped)
			}
		case <-ctx.Done():
			interrupted = true
			if !grouped || !killAll(c) {
				_ = c.Process.Kill() // it may have ended
			}
			return <-done, nil
		}
	}
}

// plain is the reason of an error of os/exec, which names the command itself.
func plain(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// wireEnv is our environment with what points a client of either API at an
// endpoint. Proxies are told to keep out of the way. With dummy, keys are
// replaced: nothing that is asked needs one, and clients refuse to start without.
func wireEnv(env []string, url string, dummy bool) []string {
	set := map[string]string{
		"OPENAI_BASE_URL":    url + "/v1",
		"OPENAI_API_BASE":    url + "/v1",
		"ANTHROPIC_BASE_URL": url,
	}
	if dummy {
		set["OPENAI_API_KEY"] = dummyKey
		set["ANTHROPIC_API_KEY"] = dummyKey
	}
	const local = "127.0.0.1,localhost"
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		set[name] = local
		if old := lookup(env, name); old != "" {
			set[name] = old + "," + local
		}
	}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out[len(out)-len(set):])
	return out
}

// dummyKey stands where a client insists on a key.
const dummyKey = "sk-harnessbench-needs-no-key"

// lookup finds a variable in a list.
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// secretsOf returns the values of variables that hold keys by their names.
func secretsOf(env []string) []string {
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"} {
			if strings.HasSuffix(name, end) {
				out = append(out, value)
			}
		}
	}
	return out
}

// inCI reports whether a CI service runs this: nothing goes out then.
func inCI() bool {
	switch strings.ToLower(os.Getenv("CI")) {
	case "", "0", "false", "no":
		return false
	}
	return true
}
