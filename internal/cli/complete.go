package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla-io/ottla/internal/config"
)

// completeTopics offers the names of the topics that there are, if the brokers answer quickly.
func (a *app) completeTopics(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 500*time.Millisecond)
	defer cancel()
	a.timeout = 500 * time.Millisecond
	var names []string
	err := a.admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		details, err := admin.ListTopics(ctx)
		names = details.Names()
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeOneTopic is completeTopics for the first argument only.
func (a *app) completeOneTopic(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeTopics(cmd, args, prefix)
}

// completeSettings offers key= for the flags that take a topic's settings.
func completeSettings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := config.Names(true)
	for i := range names {
		names[i] += "="
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
