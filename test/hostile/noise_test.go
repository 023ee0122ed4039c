package hostile

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMalformedNoise: thousands of malformed connections leave few lines, and a count of those that are missing.
func TestMalformedNoise(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	const n = 3000
	attack := func() {
		c, err := net.Dial("tcp", b.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte{0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 1})
		conn{c, t}.wantClosed()
	}
	for range n {
		attack()
	}
	b.serves(t)
	b.stop(t)
	lines, suppressed := 0, 0
	count := regexp.MustCompile(`suppressed=(\d+)`)
	for line := range strings.Lines(b.log.String()) {
		if !strings.Contains(line, "connection closed") {
			continue
		}
		if !strings.Contains(line, "kind=") { // the sum at the end is no connection's
			lines++
		}
		if m := count.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			suppressed += n
		}
	}
	t.Logf("%d malformed connections: %d lines, %d suppressed", n, lines, suppressed)
	if lines > n/10 || lines+suppressed != n {
		t.Errorf("%d malformed connections left %d lines, and %d are counted as suppressed", n, lines, suppressed)
	}
}

// TestDisconnects: clients that go while their requests wait leave no line that would wake a person.
func TestDisconnects(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir())
	b.create(t, "gone", 1)
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 1, "gone", "consumer", 6000, 6000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	wide := kmsg.NewPtrMetadataRequest()
	wide.Version = 4
	for i := range 40 {
		client := b.dial(t)
		made := kmsg.NewPtrCreateTopicsRequest()
		made.Version, made.TimeoutMillis = 2, 30_000
		made.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: fmt.Sprint("gone-", i), NumPartitions: 10, ReplicationFactor: 1}}
		asked := kmsg.NewPtrMetadataRequest()
		name := fmt.Sprint("gone-too-", i)
		asked.Version, asked.AllowAutoTopicCreation = 4, true
		asked.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
		deleted := kmsg.NewPtrDeleteRecordsRequest()
		deleted.Version, deleted.TimeoutMillis = 0, 30_000
		deleted.Topics = []kmsg.DeleteRecordsRequestTopic{{
			Topic: "gone", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}},
		}}
		requests := [][]byte{
			frame(produceOf("gone", 0, simpleBatch("v")), 1), frame(fetchOf("gone", 1<<30, 30_000), 2), frame(made, 3), frame(asked, 4),
			frame(deleted, 5), frame(join, 6), frame(wide, 7),
		}
		for j := range requests { // each begins alone somewhere
			client.send(requests[(i+j)%len(requests)])
		}
		if i%2 == 0 { // a reset instead of an end
			_ = client.Conn.(*net.TCPConn).SetLinger(0)
		}
		client.Close()
	}
	b.serves(t)
	b.stop(t)
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
			t.Errorf("clients that went left the line %s", line)
		}
	}
}
