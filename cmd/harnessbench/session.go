package main

import "github.com/spf13/cobra"

func newSession(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Work on sessions as on tests: update, minimise, mutate",
		Long: `Sessions are the regression tests of an agent loop. update records them again after
an intended change and says what changed; minimise makes a small session that shows
the same divergence; mutate says how much of a session a replay would notice.`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionUpdate(a), newSessionMinimise(a), newSessionMutate(a))
	return cmd
}
