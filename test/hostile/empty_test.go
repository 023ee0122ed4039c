package hostile

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestManyEmptyPartitions asks everything that can be asked of 5,000 partitions without a record, under 1,024 descriptors: nothing is made on
// the disk and no descriptor is held. Then 2,000 of them get a record each, more than there are descriptors: all are acknowledged, the
// broker is healthy all the time, and they are there after a kill.
func TestManyEmptyPartitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := tryStart(t, dir, []string{"sh", "-c", `ulimit -n 1024; exec "$0" "$@"`}, "--admin", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	const partitions, written = 5000, 2000
	b.create(t, "empty", partitions)
	b.askAll(t, "empty", partitions)
	if made, err := filepath.Glob(filepath.Join(dir, "empty-*")); err != nil || len(made) > 0 {
		t.Errorf("%d directories were made for reads (%v)", len(made), err)
	}
	if n := b.descriptors(t); n > 100 {
		t.Errorf("%d descriptors are open after reads of empty partitions", n)
	}
	b.healthy(t)

	cl := b.client(t, kgo.RequiredAcks(kgo.LeaderAck()), kgo.RecordRetries(100), kgo.RetryTimeout(time.Minute), kgo.RecordDeliveryTimeout(2*time.Minute))
	for from := 0; from < written; from += 500 {
		var records []*kgo.Record
		for p := from; p < from+500; p++ {
			records = append(records, &kgo.Record{Topic: "empty", Partition: int32(p), Value: []byte(strconv.Itoa(p))})
		}
		if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatalf("partitions from %d on: %v\n%s", from, err, b.log)
		}
		b.healthy(t)
		if n := b.descriptors(t); n > 700 {
			t.Errorf("%d descriptors are open after produces to %d partitions", n, from+500)
		}
	}
	for _, p := range []int32{0, 17, 999, written - 1} {
		b.wantValues(t, "empty", p, []string{strconv.Itoa(int(p))})
	}
	if text := b.log.String(); strings.Contains(text, "offline") || strings.Contains(text, "too many open files") {
		t.Errorf("something ran short:\n%.2000s", text)
	}
	b.kill()
	b = start(t, dir)
	for _, p := range []int32{0, 17, 999, written - 1} {
		b.wantValues(t, "empty", p, []string{strconv.Itoa(int(p))})
	}
}

// askAll reads of a topic without records what can be read, and trims it.
func (b *broker) askAll(t *testing.T, topic string, partitions int32) {
	t.Helper()
	adm := kadm.NewClient(b.client(t))
	for name, list := range map[string]func() (kadm.ListedOffsets, error){
		"latest":   func() (kadm.ListedOffsets, error) { return adm.ListEndOffsets(t.Context(), topic) },
		"earliest": func() (kadm.ListedOffsets, error) { return adm.ListStartOffsets(t.Context(), topic) },
		"by time":  func() (kadm.ListedOffsets, error) { return adm.ListOffsetsAfterMilli(t.Context(), 1, topic) },
		"max":      func() (kadm.ListedOffsets, error) { return adm.ListMaxTimestampOffsets(t.Context(), topic) },
	} {
		listed, err := list()
		if err == nil {
			err = listed.Error()
		}
		if n := len(listed[topic]); err != nil || n != int(partitions) {
			t.Fatalf("offsets, %s: %d partitions, %v\n%s", name, n, err, b.log)
		}
	}
	trim, fetch, epochs := kadm.Offsets{}, fetchOf(topic, 1, 50), kmsg.NewPtrOffsetForLeaderEpochRequest()
	epochs.SetVersion(3)
	epochs.ReplicaID = -1
	one := fetch.Topics[0].Partitions[0]
	fetch.Topics[0].Partitions = nil
	asked := kmsg.OffsetForLeaderEpochRequestTopic{Topic: topic}
	for p := range partitions {
		trim.AddOffset(topic, p, -1, -1)
		one.Partition = p
		fetch.Topics[0].Partitions = append(fetch.Topics[0].Partitions, one)
		asked.Partitions = append(asked.Partitions, kmsg.OffsetForLeaderEpochRequestTopicPartition{Partition: p, CurrentLeaderEpoch: -1})
	}
	epochs.Topics = append(epochs.Topics, asked)
	if trimmed, err := adm.DeleteRecords(t.Context(), trim); err != nil || trimmed.Error() != nil || len(trimmed[topic]) != int(partitions) {
		t.Fatalf("DeleteRecords of %d partitions: %v, %v\n%s", len(trimmed[topic]), err, trimmed.Error(), b.log)
	}
	c := b.dial(t)
	for _, p := range c.ask(fetch).(*kmsg.FetchResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 || p.HighWatermark != 0 || len(p.RecordBatches) > 0 {
			t.Fatalf("Fetch of partition %d: error %d, high watermark %d, %d bytes", p.Partition, p.ErrorCode, p.HighWatermark, len(p.RecordBatches))
		}
	}
	for _, p := range c.ask(epochs).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 || p.LeaderEpoch != 0 || p.EndOffset != 0 {
			t.Fatalf("OffsetForLeaderEpoch of partition %d: error %d, epoch %d, end %d", p.Partition, p.ErrorCode, p.LeaderEpoch, p.EndOffset)
		}
	}
	if _, err := adm.DescribeAllLogDirs(t.Context(), nil); err != nil {
		t.Fatalf("DescribeLogDirs: %v", err)
	}
}

// descriptors counts the process's open ones.
func (b *broker) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.cmd.Process.Pid))
	if err != nil {
		t.Skip("descriptors are read from /proc: ", err)
	}
	return len(list)
}

// healthy wants /healthz and /readyz to say that all is well.
func (b *broker) healthy(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get("http://" + b.http + path)
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, b.log)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s (%v)\n%s", path, resp.StatusCode, body, err, b.log)
		}
	}
}
