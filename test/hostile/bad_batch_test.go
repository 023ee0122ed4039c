package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const badLog = "target-0/00000000000000000000.log"

// killedWith makes a directory whose topic target has value-0 to value-19, one a batch, and was killed. The first ten are
// below the recovery point on disk, and all with past.
func killedWith(t *testing.T, past bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	b := start(t, dir, "--set", "log.flush.offset.checkpoint.interval.ms=100")
	b.create(t, "target", 1)
	b.create(t, "other", 1)
	b.produce(t, "other", 0, "a", "b")
	values := numbered(20)
	b.produce(t, "target", 0, values[:10]...)
	b.checkpointed(t)
	if past {
		b.produce(t, "target", 0, values[10:]...)
		b.checkpointed(t)
		b.kill()
		return dir
	}
	b.kill()
	b = start(t, dir) // the checkpoint is a minute away
	b.produce(t, "target", 0, values[10:]...)
	b.kill()
	return dir
}

// batchWith is where the batch that holds value stands in a log.
func batchWith(t *testing.T, content []byte, value string) (pos, size int) {
	t.Helper()
	at := bytes.Index(content, []byte(value))
	for pos < at {
		size = 12 + int(binary.BigEndian.Uint32(content[pos+8:]))
		if pos+size > at {
			return pos, size
		}
		pos += size
	}
	t.Fatalf("%s is not in the log", value)
	return 0, 0
}

// spoil changes the batch that holds value-N.
func spoil(t *testing.T, dir string, n int, do func(b []byte)) {
	t.Helper()
	name := filepath.Join(dir, badLog)
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pos, size := batchWith(t, content, fmt.Sprintf("value-%d", n))
	do(content[pos : pos+size])
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readFrom fetches once from an offset on, and gives the values up to the end or the first error.
func (b *broker) readFrom(t *testing.T, offset, count int) (values []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cl := b.client(t, kgo.KeepRetryableFetchErrors(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"target": {0: kgo.NewOffset().At(int64(offset))}}))
	for len(values) < count {
		fetches := cl.PollFetches(ctx)
		for _, r := range fetches.Records() {
			values = append(values, string(r.Value))
		}
		if err := fetches.Err(); err != nil {
			return values, err
		}
	}
	return values, nil
}

// run runs the command line and gives what it says.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, exe, args...).CombinedOutput()
	return string(out), err
}

// wantText checks that a text has all parts.
func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// TestOneBadBatch flips a bit of one batch, below and above the recovery point. The partition is online, all other
// records are read, appends go on; the log and `topic describe` say what to do, and that makes the rest readable.
func TestOneBadBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		past bool
		bad  int
	}{{true, 4}, {true, 0}, {true, 19}, {false, 4}, {false, 14}, {false, 10}} {
		t.Run(fmt.Sprintf("checkpointed %v value %d", c.past, c.bad), func(t *testing.T) {
			t.Parallel()
			dir, values := killedWith(t, c.past), append(numbered(20), "more")
			spoil(t, dir, c.bad, func(b []byte) { b[len(b)-4] ^= 0x10 })
			b := start(t, dir)
			b.produce(t, "target", 0, "more")
			before, err := b.readFrom(t, 0, 21)
			if !slices.Equal(before, values[:c.bad]) || !errors.Is(err, kerr.CorruptMessage) {
				t.Errorf("before the batch: %q, %v\n%s", before, err, b.log)
			}
			if _, err := b.readFrom(t, c.bad, 1); !errors.Is(err, kerr.CorruptMessage) {
				t.Errorf("at the batch: %v", err)
			}
			if after, err := b.readFrom(t, c.bad+1, 20-c.bad); !slices.Equal(after, values[c.bad+1:]) || err != nil {
				t.Errorf("behind the batch: %q, %v", after, err)
			}
			remedy := fmt.Sprintf("ottla log repair --data %s target-0", dir)
			wantText(t, b.log.String(), badLog, "CRC", remedy)
			said, err := command(t, "topic", "describe", "target", "-b", b.addr)
			if err != nil {
				t.Errorf("describe: %v", err)
			}
			wantText(t, said, badLog, fmt.Sprintf("offsets %d to %d cannot be read", c.bad, c.bad), remedy)
			if _, err := command(t, "log", "repair", "--data", dir, "--yes"); err == nil {
				t.Error("repaired under a running broker")
			}
			b.stop(t)

			said, err = command(t, "log", "repair", "--data", dir, "target-0", "--yes")
			if err != nil {
				t.Errorf("repair: %v", err)
			}
			wantText(t, said, fmt.Sprintf("offsets %d to %d", c.bad, c.bad), badLog+".damaged")
			b = start(t, dir)
			if got, err := b.readFrom(t, 0, 20); err != nil || !slices.Equal(got, slices.Delete(slices.Clone(values), c.bad, c.bad+1)) {
				t.Errorf("after the repair: %q, %v\n%s", got, err, b.log)
			}
			b.serves(t)
		})
	}
}

// TestBrokenChainIsOffline damages a header so that the batches behind cannot be reached: nothing is cut, the partition has no leader,
// and the repair gives all records back.
func TestBrokenChainIsOffline(t *testing.T) {
	t.Parallel()
	for _, past := range []bool{true, false} {
		for field, at := range map[string]int{"base offset": 6, "length": 10, "magic": 16} {
			t.Run(fmt.Sprintf("checkpointed %v %s", past, field), func(t *testing.T) {
				t.Parallel()
				dir := killedWith(t, past)
				spoil(t, dir, 14, func(b []byte) { b[at] ^= 0x10 })
				before, err := os.ReadFile(filepath.Join(dir, badLog))
				if err != nil {
					t.Fatal(err)
				}
				b := start(t, dir)
				b.wantValues(t, "other", 0, []string{"a", "b"})
				b.wantOffline(t)
				said, err := command(t, "topic", "describe", "target", "-b", b.addr)
				if err != nil {
					t.Errorf("describe: %v", err)
				}
				wantText(t, said, badLog+" at position", "none", "ottla log repair --data "+dir+" target-0")
				b.stop(t)
				if after, err := os.ReadFile(filepath.Join(dir, badLog)); err != nil || !bytes.Equal(before, after) {
					t.Errorf("the log was changed, %v", err)
				}
				if said, err := command(t, "log", "repair", "--data", dir, "--yes"); err != nil {
					t.Fatalf("repair: %v\n%s", err, said)
				}
				b = start(t, dir)
				b.wantValues(t, "target", 0, numbered(20))
				b.serves(t)
			})
		}
	}
}

// wantOffline waits until the metadata shows that target-0 has no leader and an offline replica, in both of its forms.
func (b *broker) wantOffline(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cl := b.client(t)
	for {
		details, err := kadm.NewClient(cl).ListTopics(ctx, "target")
		if err != nil {
			t.Fatalf("%v\n%s", err, b.log)
		}
		if p := details["target"].Partitions[0]; p.Leader == -1 && slices.Equal(p.OfflineReplicas, []int32{1}) {
			break // the recovery in the background has come to it
		}
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 10
	rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
	rt.Topic = "target"
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	if p := resp.Topics[0].Partitions[0]; p.LeaderID != -1 || !slices.Equal(p.OfflineReplicas, []int32{1}) {
		t.Errorf("described: %+v", p)
	}
}
