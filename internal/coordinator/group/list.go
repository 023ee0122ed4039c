package group

import "strings"

// list is ListGroups (GroupMetadataManager.listGroups).
func (m *Machine) list(in List) {
	m.out.Retractable = true
	listed := []Listed{}
	for _, g := range m.sorted() {
		l := g.listed()
		if asked(in.States, l.State) && asked(in.Types, l.Type) {
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

// asked reports whether word is among words, in any case of letters; none: all are.
func asked(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(strings.TrimSpace(w), word) {
			return true
		}
	}
	return len(words) == 0
}
