package admin

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPage: docs/operating/metrics.md has every metric, and no other.
func TestPage(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", bounds)
	m.Answered(kmsg.Produce, 9, time.Millisecond, 1, 1, 1)
	m.Failed(kmsg.Produce, 10)
	m.Connections("PLAINTEXT", 1)
	m.Refused("PLAINTEXT", "limit")
	m.Synced(time.Millisecond, 1, errors.New("failed"))
	m.Produced("t", 1, 1, 1)
	m.look(func() Figures {
		return Figures{
			DiskTotal: 1, Topics: []TopicFigures{{"t", 1}}, Logs: []LogFigures{{Topic: "t"}},
			Groups: GroupsFigures{Groups: []GroupFigures{{
				Name: "g", Rebalances: []RebalanceFigures{{"join", 1}},
				Topics: []GroupTopicFigures{{Name: "t", Partitions: []GroupPartitionFigures{{}}}},
			}}},
		}
	})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "ottla_") || strings.HasPrefix(name, "kafka_") {
			there = append(there, name)
		}
	}
	page, err := os.ReadFile("../../docs/operating/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "|") {
			name, _, _ := strings.Cut(line[1:], "|")
			listed = append(listed, regexp.MustCompile("(ottla|kafka)_[a-z_]+").FindAllString(name, -1)...)
		}
	}
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("the page has no row for %s", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range regexp.MustCompile("ottla_[a-z_]+").FindAllString(string(page), -1) {
		if name = strings.TrimSuffix(name, "_count"); !slices.Contains(there, name) && name != "ottla_" {
			t.Errorf("an example names %s, which is not there", name)
		}
	}
}
