package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// versionInfo is what version prints.
type versionInfo struct {
	Version  string `json:"version"`            // of the module; "devel" when built from a checkout
	Commit   string `json:"commit,omitempty"`   // of the checkout
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Args(cobra.NoArgs),
	}
	asJSON := cli.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		v := readVersion()
		if *asJSON {
			return cli.WriteJSON(a.stdout, v)
		}
		fmt.Fprintf(a.stdout, "harnessbench %s", v.Version)
		if v.Commit != "" {
			fmt.Fprintf(a.stdout, " (%.12s", v.Commit)
			if v.Modified {
				fmt.Fprint(a.stdout, ", modified")
			}
			fmt.Fprint(a.stdout, ")")
		}
		_, err := fmt.Fprintf(a.stdout, " %s %s/%s\n", v.Go, v.OS, v.Arch)
		return err
	}
	return cmd
}

// readVersion reads what the Go toolchain recorded in the binary.
func readVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
