package group

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

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

// embeddedWord reads "topics=a,b;owned=a:0,1" (a consumer's subscription, of version 1) and "assigned=a:0,1;b:2" (an assignment).
func embeddedWord(t *testing.T, word string) ([]byte, bool) {
	if lists, ok := strings.CutPrefix(word, "assigned="); ok {
		a := kmsg.NewConsumerMemberAssignment()
		for list := range strings.SplitSeq(lists, ";") {
			name, indexes := partitionsWord(t, list)
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: name, Partitions: indexes})
		}
		return a.AppendTo(nil), true
	}
	topics, owned, ok := strings.Cut(word, ";owned=")
	if !ok {
		return nil, false
	}
	s := kmsg.NewConsumerMemberMetadata()
	s.Version, s.Topics = 1, strings.Split(strings.TrimPrefix(topics, "topics="), ",")
	for list := range strings.SplitSeq(owned, ";") {
		if list != "" {
			name, indexes := partitionsWord(t, list)
			s.OwnedPartitions = append(s.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: name, Partitions: indexes})
		}
	}
	return s.AppendTo(nil), true
}

func partitionsWord(t *testing.T, word string) (topic string, indexes []int32) {
	topic, list, _ := strings.Cut(word, ":")
	for index := range strings.SplitSeq(list, ",") {
		indexes = append(indexes, int32(number(t, index)))
	}
	return topic, indexes
}
