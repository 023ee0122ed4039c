package group

import (
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/topic"
)

// commitLines reads lines "topic[/id] partition offset [epoch=N] [meta=text] [timestamp=ms] [err]".
func commitLines(t *testing.T, in any, lines []string) any {
	c := in.(Commit)
	for _, line := range lines {
		words := strings.Fields(line)
		name, id := topicWord(t, words[0])
		p := CommitPartition{Partition: int32(number(t, words[1])), Offset: batch.Offset(number(t, words[2])), LeaderEpoch: batch.NoEpoch, Timestamp: -1}
		for _, w := range words[3:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "epoch":
				p.LeaderEpoch = batch.Epoch(number(t, value))
			case "meta":
				p.Metadata = value
			case "pad":
				p.Metadata = strings.Repeat("é", number(t, value))
			case "timestamp":
				var err error
				if p.Timestamp, err = strconv.ParseInt(value, 10, 64); err != nil {
					t.Fatal(err)
				}
			case "err":
				p.Err = kerr.UnknownTopicOrPartition
			}
		}
		if n := len(c.Topics); n == 0 || c.Topics[n-1].Topic != name {
			c.Topics = append(c.Topics, CommitTopic{Topic: name, ID: id})
		}
		last := &c.Topics[len(c.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return c
}

func topicWord(t *testing.T, word string) (name string, id topic.ID) {
	name, digits, ok := strings.Cut(word, "/")
	if ok {
		id[15] = byte(number(t, digits))
	}
	return name, id
}

// topicLines reads lines "topic[/id] partition ...".
func topicLines(t *testing.T, lines []string) []FetchTopic {
	list := []FetchTopic{}
	for _, line := range lines {
		words := strings.Fields(line)
		name, id := topicWord(t, words[0])
		ft := FetchTopic{Topic: name, ID: id}
		for _, w := range words[1:] {
			ft.Partitions = append(ft.Partitions, int32(number(t, w)))
		}
		list = append(list, ft)
	}
	return list
}

func fetchLines(t *testing.T, in any, lines []string) any {
	f := in.(Fetch)
	f.Topics = topicLines(t, lines)
	return f
}

func deleteOffsetsLines(t *testing.T, in any, lines []string) any {
	d := in.(DeleteOffsets)
	d.Topics = topicLines(t, lines)
	return d
}
