package group

import "strings"

// list is ListGroups (GroupMetadataManager.listGroups).
func (m *Machine) list(in List) {
	m.out.Retractable = true
	listed := []Listed{}
	for _, g := range m.sorted() {
		l := g.listed()
		if in.States.has(l.State) && in.Types.has(l.Type) {
			listed = append(listed, l)
		}
	}
	m.answerAfter(in.Token, ListResult{Groups: listed}, m.applied)
}

// listed is g as ListGroups has it.
func (g *group) listed() Listed {
	l := Listed{Group: g.id, State: g.state(), Type: "classic"}
	switch {
	case g.classic != nil:
		l.ProtocolType = g.classic.protocolType()
	case g.consumer != nil:
		l.ProtocolType, l.Type = consumerProtocol, "consumer"
	}
	return l
}

// Filter is a set of words in small letters; nil has all.
type Filter map[string]bool

// FilterOf is the filter of words in any case of letters, with space around them; none: it has all. A request may have 200,000 words, and each
// group is compared: so it is made once for all shards.
func FilterOf(words []string) Filter {
	if len(words) == 0 {
		return nil
	}
	f := make(Filter)
	for _, w := range words {
		f[strings.ToLower(strings.TrimSpace(w))] = true
	}
	return f
}

func (f Filter) has(word string) bool { return f == nil || f[strings.ToLower(word)] }
