package hostile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestMissingIdentity takes away what says whose a data directory is, after a kill and after a clean stop: the start is refused in one line
// with the way out, nothing is changed by that, and with the file back everything is there, under the same ids.
func TestMissingIdentity(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	b := start(t, dir, "--set", "node.id=5")
	b.create(t, "kept", 2)
	b.produce(t, "kept", 0, numbered(5)...)
	cluster := b.cluster(t)
	for _, clean := range []bool{false, true} {
		if clean {
			b.stop(t)
		} else {
			b.kill()
		}
		for missing, words := range map[string][]string{
			"meta.properties":      {"no meta.properties", "kept-0", "cluster.id=ID", "node.id=N"},
			"__cluster_metadata-0": {"no __cluster_metadata-0", "kept-0", "topics and settings", "ottla.format"},
		} {
			aside := filepath.Join(t.TempDir(), "aside")
			if err := os.Rename(filepath.Join(dir, missing), aside); err != nil {
				t.Fatal(err)
			}
			wantRefusal(t, dir, nil, words...)
			wantRefusal(t, dir, []string{"--set", "node.id=5"}, words...)
			if err := os.Rename(aside, filepath.Join(dir, missing)); err != nil {
				t.Fatal(err)
			}
		}
		b = start(t, dir)
		if got := b.cluster(t); got != cluster {
			t.Errorf("cluster %s, was %s", got, cluster)
		}
		b.wantValues(t, "kept", 0, numbered(5))
	}
}

// cluster is the cluster's id and the broker's.
func (b *broker) cluster(t *testing.T) string {
	t.Helper()
	meta, err := kadm.NewClient(b.client(t)).BrokerMetadata(t.Context())
	if err != nil || len(meta.Brokers) != 1 {
		t.Fatalf("metadata: %v, %d brokers\n%s", err, len(meta.Brokers), b.log)
	}
	return meta.Cluster + " " + strconv.Itoa(int(meta.Brokers[0].NodeID))
}

// TestLostDirectory: a partition whose directory is gone does not begin anew, the stop of its broker is not called clean, and the others
// are served.
func TestLostDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir)
	b.create(t, "lost", 2)
	b.produce(t, "lost", 0, "a", "b")
	b.produce(t, "lost", 1, "c")
	b.stop(t)
	if text := b.log.String(); !strings.Contains(text, "stopped cleanly") {
		t.Errorf("a clean stop says:\n%s", text)
	}
	if err := os.RemoveAll(filepath.Join(dir, "lost-0")); err != nil {
		t.Fatal(err)
	}
	b = start(t, dir)
	if got, err := b.consume(t, "lost", 0); err == nil {
		t.Errorf("a partition whose directory is gone has %q", got)
	}
	b.wantValues(t, "lost", 1, []string{"c"})
	b.stop(t)
	text := b.log.String()
	if !strings.Contains(text, "lost-0 has no directory") || !strings.Contains(text, "make an empty directory") {
		t.Errorf("the log does not say what is lost and what to do:\n%s", text)
	}
	if strings.Contains(text, "stopped cleanly") || !strings.Contains(text, "the next start recovers") {
		t.Errorf("an unclean stop says:\n%s", text)
	}
	if err := os.Mkdir(filepath.Join(dir, "lost-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	b = start(t, dir)
	b.produce(t, "lost", 0, "anew")
	b.wantValues(t, "lost", 1, []string{"c"})
}
