package group

import (
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/coordinator/record"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// ownedLines reads what a member owns: lines "TOPIC-ID PARTITION ...", or "none".
func ownedLines(t *testing.T, in any, lines []string) any {
	h := in.(ConsumerHeartbeat)
	h.Owned = []record.TopicPartitions{}
	for _, line := range lines {
		if line == "none" {
			continue
		}
		words := strings.Fields(line)
		tp := record.TopicPartitions{Topic: topic.ID{15: byte(number(t, words[0]))}}
		for _, w := range words[1:] {
			tp.Partitions = append(tp.Partitions, int32(number(t, w)))
		}
		h.Owned = append(h.Owned, tp)
	}
	return h
}
