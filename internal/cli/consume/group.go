package consume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/cli/session"
)

// GroupCommands are the commands of group.
func GroupCommands(s *session.Session) []*cobra.Command {
	a := &commands{s}
	return []*cobra.Command{a.groupList(), a.groupDescribe(), a.groupMembers(), a.groupSeek(), a.groupDelete(), a.groupDeleteOffsets()}
}

// groupRow is a line of group list.
type groupRow struct {
	Group       string `json:"group"`
	Type        string `json:"type"` // classic, consumer, share, ...
	Protocol    string `json:"protocol"`
	State       string `json:"state"`
	Coordinator int32  `json:"coordinator"`
}

func (a *commands) groupList() *cobra.Command {
	var states, types []string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the groups", Args: cobra.NoArgs,
		Example: "  ottla group list --state stable,empty --type consumer",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(oneOf("--state", states, groupStates), oneOf("--type", types, groupTypes)); err != nil {
				return session.UsageError{Err: err}
			}
			return a.Admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				groups, err := admin.ListGroupsByType(ctx, types, states...)
				if err != nil {
					return err
				}
				rows := []groupRow{}
				t := session.NewTable("GROUP", "TYPE", "PROTOCOL", "STATE", "COORDINATOR")
				for _, g := range groups.Sorted() {
					row := groupRow{g.Group, typeOf(g), g.ProtocolType, g.State, g.Coordinator}
					rows = append(rows, row)
					t.Row(row.Group, row.Type, row.Protocol, row.State, row.Coordinator)
				}
				return a.Print(rows, t)
			})
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only groups in these states: "+strings.Join(groupStates, ", "))
	cmd.Flags().StringSliceVar(&types, "type", nil, "only groups of these types: "+strings.Join(groupTypes, ", "))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(groupStates, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(groupTypes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// What groups are listed by; a broker answers a word that it does not know with no groups.
var (
	groupStates = []string{"empty", "stable", "dead", "preparingrebalance", "completingrebalance", "assigning", "reconciling", "notready"}
	groupTypes  = []string{"classic", "consumer", "share", "streams"}
)

// oneOf checks a flag's words, in whatever case.
func oneOf(flag string, given, known []string) error {
	for _, word := range given {
		if !slices.Contains(known, strings.ToLower(word)) {
			return fmt.Errorf("%s %s: must be of %s", flag, word, strings.Join(known, ", "))
		}
	}
	return nil
}

// The types of groups that the commands know.
const (
	classicGroup  = "classic"
	consumerGroup = "consumer" // the next generation's (KIP-848)
)

// typeOf is a group's type; brokers before Kafka 3.8 know one and do not say it.
func typeOf(g kadm.ListedGroup) string {
	if g.GroupType == "" {
		return classicGroup
	}
	return strings.ToLower(g.GroupType)
}

// member is a member of a group of either type.
type member struct {
	ID         string            `json:"id"`
	InstanceID string            `json:"instanceId,omitempty"`
	ClientID   string            `json:"clientId"`
	Host       string            `json:"host"`
	Rack       string            `json:"rack,omitempty"`
	Epoch      *int32            `json:"epoch,omitempty"` // of consumer groups
	Type       string            `json:"type"`            // the protocol that it speaks
	Topics     []string          `json:"topics"`          // what it subscribes to
	Regex      string            `json:"regex,omitempty"`
	Assigned   []topicPartitions `json:"assigned"`
	Target     []topicPartitions `json:"target,omitempty"` // of consumer groups, where it differs
	owns       map[string][]int32
}

// topicPartitions are partitions of one topic.
type topicPartitions struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// sortedPartitions are partitions by topic, in order.
func sortedPartitions(m map[string][]int32) []topicPartitions {
	all := []topicPartitions{}
	for _, topic := range slices.Sorted(maps.Keys(m)) {
		if len(m[topic]) > 0 {
			all = append(all, topicPartitions{topic, slices.Sorted(slices.Values(m[topic]))})
		}
	}
	return all
}

// showPartitions writes partitions as "orders:0,1 users:2", which the commands read too.
func showPartitions(all []topicPartitions) string {
	text := make([]string, len(all))
	for i, tp := range all {
		text[i] = tp.Topic + ":" + session.JoinInts(tp.Partitions)
	}
	return strings.Join(text, " ")
}

// groupView is a group of either type.
type groupView struct {
	Group       string   `json:"group"`
	State       string   `json:"state"`
	Type        string   `json:"type"`
	Protocol    string   `json:"protocol"` // consumer, connect, ...; empty: nobody has joined
	Assignor    string   `json:"assignor"`
	Epoch       *int32   `json:"epoch,omitempty"` // of consumer groups
	Coordinator string   `json:"coordinator"`     // HOST:PORT
	Node        int32    `json:"coordinatorId"`
	Members     []member `json:"members"`
}

// live reports whether members hold the group, so that nobody else may commit.
func (g *groupView) live() bool { return len(g.Members) > 0 }

// findGroups finds groups by name; no names are all groups that have members who consume.
func findGroups(ctx context.Context, admin *kadm.Client, names ...string) ([]groupView, error) {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	var classic, consumer []string
	if len(names) == 0 {
		for _, g := range listed.Sorted() {
			if kind := typeOf(g); kind == classicGroup || kind == consumerGroup {
				names = append(names, g.Group)
			}
		}
	}
	for _, name := range names {
		g, ok := listed[name]
		switch kind := typeOf(g); {
		case !ok:
			problems = append(problems, groupError(name, kerr.GroupIDNotFound, ""))
		case kind == classicGroup:
			classic = append(classic, name)
		case kind == consumerGroup:
			consumer = append(consumer, name)
		default:
			problems = append(problems, fmt.Errorf("group %s is a %s group; this is for classic and consumer groups", name, kind))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	views, err := describeClassic(ctx, admin, classic)
	if err != nil {
		return nil, err
	}
	more, err := describeConsumer(ctx, admin, consumer)
	if err != nil {
		return nil, err
	}
	views = append(views, more...)
	slices.SortFunc(views, func(a, b groupView) int { return strings.Compare(a.Group, b.Group) })
	return views, nil
}

func describeClassic(ctx context.Context, admin *kadm.Client, names []string) ([]groupView, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all, err := admin.DescribeGroups(ctx, names...)
	if err != nil {
		return nil, err
	}
	var views []groupView
	var problems []error
	for _, g := range all.Sorted() {
		problems = append(problems, groupError(g.Group, g.Err, g.ErrMessage))
		view := groupView{
			Group: g.Group, State: g.State, Type: classicGroup, Protocol: g.ProtocolType, Assignor: g.Protocol,
			Coordinator: address(g.Coordinator), Node: g.Coordinator.NodeID, Members: []member{},
		}
		for i := range g.Members {
			view.Members = append(view.Members, classicMember(&g.Members[i]))
		}
		views = append(views, view)
	}
	return views, errors.Join(problems...)
}

func classicMember(m *kadm.DescribedGroupMember) member {
	one := member{
		ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: hostOf(m.ClientHost), Type: classicGroup,
		Topics: []string{}, owns: map[string][]int32{},
	}
	if join, ok := m.Join.AsConsumer(); ok {
		one.Topics = append(one.Topics, join.Topics...)
	}
	if assigned, ok := m.Assigned.AsConsumer(); ok {
		for _, t := range assigned.Topics {
			one.owns[t.Topic] = t.Partitions
		}
	}
	one.Assigned = sortedPartitions(one.owns)
	return one
}

func describeConsumer(ctx context.Context, admin *kadm.Client, names []string) ([]groupView, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all, err := admin.DescribeConsumerGroups(ctx, names...)
	if err != nil {
		return nil, err
	}
	var views []groupView
	var problems []error
	for _, g := range all.Sorted() {
		problems = append(problems, groupError(g.Group, g.Err, ""))
		view := groupView{
			Group: g.Group, State: g.State, Type: consumerGroup, Protocol: "consumer", Assignor: g.AssignorName, Epoch: &g.Epoch,
			Coordinator: address(g.Coordinator), Node: g.Coordinator.NodeID, Members: []member{},
		}
		for i := range g.Members {
			view.Members = append(view.Members, consumerMember(&g.Members[i]))
		}
		views = append(views, view)
	}
	return views, errors.Join(problems...)
}

// typeClassic is ConsumerGroupDescribe's MemberType of a member that speaks the classic protocol.
const typeClassic = 0

func consumerMember(m *kadm.ConsumerGroupMember) member {
	one := member{
		ID: m.MemberID, InstanceID: orEmpty(m.InstanceID), ClientID: m.ClientID, Host: hostOf(m.ClientHost), Rack: orEmpty(m.RackID),
		Epoch: &m.MemberEpoch, Type: consumerGroup, Topics: append([]string{}, m.SubscribedTopics...), Regex: orEmpty(m.SubscribedTopicRegex),
		owns: partitionLists(m.Assignment),
	}
	if m.MemberType == typeClassic {
		one.Type = classicGroup
	}
	one.Assigned = sortedPartitions(one.owns)
	if target := sortedPartitions(partitionLists(m.TargetAssignment)); showPartitions(target) != showPartitions(one.Assigned) {
		one.Target = target
	}
	return one
}

func partitionLists(set kadm.TopicsSet) map[string][]int32 {
	lists := make(map[string][]int32, len(set))
	for topic, partitions := range set {
		lists[topic] = slices.Sorted(maps.Keys(partitions))
	}
	return lists
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// hostOf is a client's host without the slash that Kafka puts before it.
func hostOf(text string) string { return strings.TrimPrefix(text, "/") }

func address(b kadm.BrokerDetail) string { return fmt.Sprintf("%s:%d", b.Host, b.Port) }

// groupError is what went wrong with one group.
func groupError(name string, err error, message string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("group %s: %w", name, session.Detailed(err, message))
}
