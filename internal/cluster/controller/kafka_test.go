package controller

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// TestKafka44 comes up on the metadata log of a Kafka 4.4.0 broker (node 1, combined with its controller, stopped cleanly): topic k.one
// with 3 partitions and retention.ms, topic gone deleted, bootstrap records in a transaction, and records of kinds that are not known here.
func TestKafka44(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		from []string
	}{
		{"log", []string{"00000000000000000000.log"}},
		{"snapshot and log", []string{"00000000000000000000.log", "00000000000000000066-0000000001.checkpoint"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := vfs.NewMem()
			if err := files.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.from {
				content, err := os.ReadFile(filepath.Join("testdata", "kafka-4.4", name))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, files, dir+"/"+name, content)
			}
			ctl := bring(t, files, false)
			image := ctl.Image()
			if got := names(image); got != "k.one:3" {
				t.Fatalf("topics %q, want k.one with 3 partitions", got)
			}
			one := image.Topic("k.one")
			if one.ID.String() != "_6VTe83kTtazXAmNH1dagQ" || image.Config(meta.TopicResource("k.one"))["retention.ms"] != "1234567" {
				t.Errorf("topic id %s, configs %v", one.ID, image.Config(meta.TopicResource("k.one")))
			}
			for i, p := range one.Partitions {
				if p.Leader != 1 || len(p.ISR) != 1 || p.ISR[0] != 1 || p.LeaderEpoch != 2 || p.ELR != nil {
					t.Errorf("partition %d: %+v; want node 1 in the ISR alone, leading at epoch 2", i, p)
				}
			}
			if got := image.Feature("metadata.version"); got != 33 {
				t.Errorf("metadata.version %d, want 33", got)
			}
			ids, err := Execute(t.Context(), ctl, meta.AllocateProducerIDs{Broker: 1, Epoch: image.Brokers[0].Epoch})
			if err != nil || ids.First != 1000 {
				t.Errorf("producer ids from %d, %v; want 1000, after the block that Kafka gave out", ids.First, err)
			}
			if err := create(t, ctl, "ours", 9, 1); err != nil {
				t.Error(err)
			}
		})
	}
}
