package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/verify"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	secrets []string
	jobs    int
	json    *bool
}

func newVerify(a *app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check that session files are whole, sound and free of secrets",
		Long: `Reads session files, of loops and of recorded traffic, and checks what they say
twice: the chain over the lines and the footer, digests of parts, params, config and
trees, the chain of every request, the digest of all inputs, counts and sums, one
result for each call, and the contents beside the files. Names the first bad line.
Looks for secrets too: keys of known shapes, and the values of the environment
variables named by --secret-env. A finding names line and pointer, never the secret.
Nothing is run: whether the loop would do the same again is what replay says.
PATH is a session, a folder, a run folder or a glob.

Verdict of a file: OK, LEAK, TORN (not finished; sound as far as it goes), CORRUPT,
TOO_NEW. The chain is no signature: who can write a file can seal it again.

Exit 0: all are sound. 1: something that looks like a secret stands in one.
3: at least one is corrupt, torn or too new.`,
		Example: `  harnessbench verify runs/monday
  harnessbench verify --secret-env OPENAI_API_KEY,DB_PASSWORD 'testdata/*.session.jsonl'
  harnessbench verify --json runs/monday | jq '.sessions[] | select(.verdict != "OK")'`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.secrets, "secret-env", nil, "also look for the values of these environment variables")
	fl.IntVarP(&f.jobs, "concurrency", "j", 0, "files at a time (default: the CPUs)")
	f.json = cli.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("concurrency") && f.jobs < 1 {
			return cli.Usagef("use 1 or more", "--concurrency %d", f.jobs)
		}
		return verifySessions(cmd.Context(), a, args, f)
	}
	return cmd
}

// verifyJSON is what --json prints.
type verifyJSON struct {
	Schema   string                 `json:"schema"`
	Sessions []*verify.Report       `json:"sessions"`
	Verdicts map[verify.Verdict]int `json:"verdicts"`
}

// verifySessions is the command.
func verifySessions(ctx context.Context, a *app, args []string, f verifyFlags) error {
	frugal()
	secrets, err := declaredSecrets(f.secrets)
	if err != nil {
		return err
	}
	paths, err := cli.Sessions(args)
	if err != nil {
		return err
	}
	reports := make([]*verify.Report, len(paths))
	bar := a.progress("sessions", len(paths), "OK", "LEAK", "CORRUPT")
	err = sideBySide(ctx, len(paths), f.jobs, func(i int) error {
		var err error
		if reports[i], err = verify.File(ctx, paths[i], verify.Options{Secrets: secrets}); err == nil {
			bar.Done(string(reports[i].Verdict), nil)
		}
		return err
	})
	bar.Close()
	if err != nil {
		return err
	}
	out := verifyJSON{"harnessbench/verify/v1", reports, map[verify.Verdict]int{}}
	code := cli.OK
	for _, r := range reports {
		out.Verdicts[r.Verdict]++
		code = cli.Worst(code, cli.Code(r.Verdict.Exit()))
	}
	if *f.json {
		err = cli.WriteJSON(a.stdout, out)
	} else {
		printVerified(a, &out)
	}
	if err != nil {
		return err
	}
	return cli.Status(code)
}

// declaredSecrets reads the environment variables to look for. One that is not
// set, or too short to be told from ordinary text, would be looked for in vain.
func declaredSecrets(names []string) (out []verify.Secret, err error) {
	for _, name := range names {
		value := strings.TrimSpace(os.Getenv(name))
		switch {
		case value == "":
			return nil, cli.Usagef("set it, or leave it out", "--secret-env %s: the variable is not set", name)
		case len(value) < redact.MinSecret:
			return nil, cli.Usagef("leave it out", "--secret-env %s: its value has less than %d bytes and would be found in ordinary text", name, redact.MinSecret)
		}
		out = append(out, verify.Secret{Name: name, Value: value})
	}
	return out, nil
}

// shownLeaks is how many findings of a file are printed.
const shownLeaks = 10

func printVerified(a *app, v *verifyJSON) {
	lines, told := 0, 0
	for _, r := range v.Sessions {
		lines += r.Lines
		if r.Verdict == verify.OK {
			continue
		}
		fmt.Fprintf(a.stdout, "%s %s\n", r.Verdict, cli.SanitizeLine(r.Path))
		if told++; told > detailed {
			continue
		}
		if r.Reason != "" {
			fmt.Fprintf(a.stdout, "  %s\n", cli.SanitizeLine(r.Reason))
		}
		for i, l := range r.Leaks {
			if i == shownLeaks {
				fmt.Fprintf(a.stdout, "  %s (--json lists more)\n", cli.Count(len(r.Leaks)+r.More-i, "more finding"))
				break
			}
			fmt.Fprintf(a.stdout, "  %s\n", cli.SanitizeLine(leakText(&l)))
		}
	}
	var parts []string
	for _, verdict := range []verify.Verdict{verify.OK, verify.Leak, verify.Torn, verify.Corrupt, verify.TooNew} {
		if n := v.Verdicts[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", verdict, n))
		}
	}
	fmt.Fprintf(a.stdout, "%s, %s: %s\n", cli.Count(len(v.Sessions), "session"), cli.Count(lines, "line"), strings.Join(parts, ", "))
}

// leakText says where something looks like a secret.
func leakText(l *verify.Finding) string {
	what := "something in the shape of a key"
	if l.Kind == "declared" {
		what = "the value of " + l.Name
	}
	where := fmt.Sprintf("line %d", l.Line)
	if l.Pointer != "" {
		where += ", " + l.Pointer
	}
	if l.Blob != "" {
		where += ", in the content blobs/" + l.Blob
	}
	return where + ": " + what
}

// sideBySide calls fn for 0 to n-1, several at a time (jobs 0 = the CPUs), and
// returns the first error in their order. After an interrupt no more are begun.
func sideBySide(ctx context.Context, n, jobs int, fn func(i int) error) error {
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(jobs, n) {
		wg.Go(func() {
			for i := range next {
				errs[i] = fn(i)
			}
		})
	}
	stopped := false
	for i := 0; i < n && !stopped; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
			stopped = true
		case <-cli.Stopping(ctx):
			stopped = true
		}
	}
	close(next)
	wg.Wait()
	if stopped {
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
