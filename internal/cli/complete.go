package cli

import (
	"github.com/spf13/cobra"

	"github.com/ottla-io/ottla/internal/config"
)

// completeSettings offers key= for the flags that take a topic's settings.
func completeSettings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := config.Names(true)
	for i := range names {
		names[i] += "="
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
