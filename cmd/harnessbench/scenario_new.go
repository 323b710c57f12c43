package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/scenarios"
	"github.com/harnessbench/harnessbench/scenarios/builtin"
)

// The skeleton is a small scenario that passes its own check.
//
//go:embed all:skeleton
var skeleton embed.FS

const skeletonID = "my-scenario"

var scenarioID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func newScenarioNew(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new FOLDER",
		Short: "Begin a scenario of your own",
		Long: `Writes a small scenario that runs and passes its own check, to be changed step by
step: scenario.yaml, instruction.md, oracle.yaml, workspace/. The folder must be new or
empty; its name becomes the scenario's id. With --from: a copy of an embedded scenario.`,
		Example: `  harnessbench scenario new ./my-scenario
  harnessbench scenario new ./my-poll --from builtin/patient-poll
  harnessbench scenario check ./my-scenario
  harnessbench run ./my-scenario`,
		Args: cli.Args(cobra.ExactArgs(1)),
	}
	from := cmd.Flags().String("from", "", "an embedded scenario to begin with")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		dir := filepath.Clean(args[0])
		id := filepath.Base(dir)
		if !scenarioID.MatchString(id) {
			return cli.Usagef("use lower-case letters, digits and -", "the folder's name becomes the scenario's id, and %.80q is none", id)
		}
		files, err := skeletonFiles(id)
		if *from != "" {
			files, err = copyFiles(*from, id)
		}
		if err != nil {
			return err
		}
		if err := writeNew(dir, files); err != nil {
			return err
		}
		shown := cli.ShellQuote(args[0])
		_, err = fmt.Fprintf(a.stdout, "wrote %s\ncheck it: harnessbench scenario check %s\nrun it:   harnessbench run %s\n", shown, shown, shown)
		return err
	}
	return cmd
}

func skeletonFiles(id string) ([]scenarios.File, error) {
	var out []scenarios.File
	err := fs.WalkDir(skeleton, "skeleton", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := skeleton.ReadFile(p)
		name := strings.TrimPrefix(p, "skeleton/")
		if name == "scenario.yaml" {
			data = []byte(strings.ReplaceAll(string(data), skeletonID, id))
		}
		out = append(out, scenarios.File{Path: name, Data: data})
		return err
	})
	return out, err
}

// copyFiles are the files of an embedded scenario under another id.
func copyFiles(from, id string) ([]scenarios.File, error) {
	sc, err := builtin.Get(from)
	if err != nil {
		return nil, cli.Usagef("see: harnessbench scenario list", "%v", err)
	}
	files, err := builtin.Files(sc.ID)
	if err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^id: .*$`)
	for i := range files {
		if files[i].Path == "scenario.yaml" {
			files[i].Data = line.ReplaceAll(files[i].Data, []byte("id: "+id))
		}
	}
	return files, nil
}

// writeNew writes files into a folder that is new or empty, and takes away what it
// wrote when that fails.
func writeNew(dir string, files []scenarios.File) (err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return cli.Usagef("name a new folder", "%s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return cli.WithCode(cli.Wrong, err)
	}
	made := err != nil
	defer func() {
		if err != nil && made {
			os.RemoveAll(dir)
		}
	}()
	for _, f := range files {
		full := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
		if err := os.WriteFile(full, f.Data, 0o644); err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
	}
	return nil
}
