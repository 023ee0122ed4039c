package group

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/coordinator/record"
)

// joinLines reads lines "protocol metadata", where metadata is text, topics=a,b (a consumer's subscription), pad=N (N bytes) or as embeddedWord has it.
func joinLines(t *testing.T, in any, lines []string) any {
	j := in.(Join)
	for _, line := range lines {
		words := strings.Fields(line)
		j.Protocols = append(j.Protocols, record.Protocol{Name: words[0], Metadata: bytesWord(t, words[1])})
	}
	return j
}

// syncLines reads lines "member assignment"; the assignment is text or pad=N (N bytes).
func syncLines(t *testing.T, in any, lines []string) any {
	s := in.(Sync)
	for _, line := range lines {
		words := strings.Fields(line)
		s.Assignments = append(s.Assignments, Assigned{Member: words[0], Assignment: bytesWord(t, words[1])})
	}
	return s
}

// leaveLines reads lines "member [instance=I] [reason=R]"; a member "-" is empty.
func leaveLines(_ *testing.T, in any, lines []string) any {
	l := in.(Leave)
	for _, line := range lines {
		words := strings.Fields(line)
		member := LeavingMember{Member: strings.TrimPrefix(words[0], "-")}
		for _, w := range words[1:] {
			switch key, value, _ := strings.Cut(w, "="); key {
			case "instance":
				member.InstanceID = &value
			case "reason":
				member.Reason = value
			}
		}
		l.Members = append(l.Members, member)
	}
	return l
}

func bytesWord(t *testing.T, word string) []byte {
	t.Helper()
	if b, ok := embeddedWord(t, word); ok {
		return b
	}
	if topics, ok := strings.CutPrefix(word, "topics="); ok {
		return subscription(strings.Split(topics, ",")...)
	}
	if n, ok := strings.CutPrefix(word, "pad="); ok {
		return []byte(strings.Repeat("x", number(t, n)))
	}
	return []byte(word)
}

// subscription is a consumer's, of version 0.
func subscription(topics ...string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(len(topics)))
	for _, topic := range topics {
		b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
		b = append(b, topic...)
	}
	return binary.BigEndian.AppendUint32(b, 0xffffffff) // no user data
}
