package session

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// CompleteTopics offers the names of the topics that there are.
func (s *Session) CompleteTopics(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.offer(cmd, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		details, err := admin.ListTopics(ctx)
		return details.Names(), err
	})
}

// offer offers names, if the brokers answer quickly.
func (s *Session) offer(cmd *cobra.Command, find func(context.Context, *kadm.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 500*time.Millisecond)
	defer cancel()
	s.Timeout = 500 * time.Millisecond
	var names []string
	err := s.Admin(ctx, func(ctx context.Context, admin *kadm.Client) (err error) {
		names, err = find(ctx, admin)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteOneTopic is CompleteTopics for the first argument only.
func (s *Session) CompleteOneTopic(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.CompleteTopics(cmd, args, prefix)
}

// CompleteGroups offers the names of the groups that there are.
func (s *Session) CompleteGroups(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.offer(cmd, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		groups, err := admin.ListGroups(ctx)
		return groups.Groups(), err
	})
}

// CompleteGroupThenTopics is CompleteGroups for the first argument and CompleteTopics for the others.
func (s *Session) CompleteGroupThenTopics(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return s.CompleteGroups(cmd, args, prefix)
	}
	return s.CompleteTopics(cmd, args, prefix)
}
