package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka has the stable versions of each key: the minimum of Kafka 3.9's message definitions and the maximum of 4.4's. Keys
// that 3.9 did not have take 4.4's minimum, those that 4.4 does not have 3.9's maximum.
var kafka = [...]struct{ min, max int16 }{
	0: {0, 13},
	{0, 18},
	{0, 11},
	{0, 13},
	{0, 7},
	{0, 4},
	{0, 8},
	{0, 3},
	{0, 10},
	{0, 10},
	10: {0, 6},
	{0, 9},
	{0, 4},
	{0, 5},
	{0, 5},
	{0, 6},
	{0, 5},
	{0, 1},
	{0, 5},
	{0, 7},
	20: {0, 6},
	{0, 2},
	{0, 5},
	{0, 4},
	{0, 5},
	{0, 4},
	{0, 5},
	{0, 2},
	{0, 6},
	{0, 3},
	30: {0, 3},
	{0, 3},
	{0, 4},
	{0, 2},
	{0, 2},
	{0, 5},
	{0, 2},
	{0, 3},
	{0, 3},
	{0, 2},
	40: {0, 2},
	{0, 3},
	{0, 3},
	{0, 2},
	{0, 1},
	{0, 1},
	{0, 0},
	{0, 0},
	{0, 1},
	{0, 1},
	50: {0, 0},
	{0, 0},
	{0, 2},
	{0, 1},
	{0, 1},
	{0, 2},
	{0, 3},
	{0, 2},
	{0, 0},
	{0, 1},
	60: {0, 2},
	{0, 0},
	{0, 4},
	{0, 2},
	{0, 0},
	{0, 0},
	{0, 2},
	{0, 0},
	{0, 1},
	{0, 1},
	70: {0, 0},
	{0, 0},
	{0, 0},
	{0, 0},
	{0, 1},
	{0, 0},
	{1, 1},
	{1, 1},
	{1, 2},
	{1, 2},
	80: {0, 1},
	{0, 0},
	{0, 0},
	{0, 0},
	{0, 0},
	{0, 1},
	{0, 0},
	{0, 1},
	{0, 1},
	{0, 1},
	90: {0, 1},
	{0, 0},
	{0, 0},
	{0, 0},
	{0, 0},
}

// TestEveryKeyIsAccountedFor: traps.md rule 15, every key of Kafka's is in the table with its whole range, or the ledger says what is
// missing.
func TestEveryKeyIsAccountedFor(t *testing.T) {
	t.Parallel()
	if kmsg.MaxKey >= len(kafka) {
		t.Errorf("kmsg knows keys up to %d, the list ends at %d", kmsg.MaxKey, len(kafka)-1)
	}
	gaps := map[kmsg.Key]bool{}
	for i, g := range ledger {
		gaps[g.Key] = true
		if i > 0 && g.Key < ledger[i-1].Key {
			t.Errorf("%s is out of order", Name(g.Key))
		}
		if _, ok := Lookup(g.Key); ok == (g.What == allVersions) {
			t.Errorf("%s: %s are missing, and in the table is %v", Name(g.Key), g.What, ok)
		}
	}
	for i, k := range kafka {
		key := kmsg.Key(i)
		a, ok := Lookup(key)
		if !ok {
			a = API{Min: -1, Served: -1, Max: -1}
		}
		if (a.Served != k.min || a.Max != k.max) && !gaps[key] {
			t.Errorf("%s: served %d to %d, Kafka has %d to %d, the ledger nothing", Name(key), a.Served, a.Max, k.min, k.max)
		}
		if ok && a.Max != k.max {
			t.Errorf("%s: max %d, Kafka 4.4's is %d", Name(key), a.Max, k.max)
		}
	}
}

// reference is docs/reference/protocol.md.
func reference() []byte {
	var b bytes.Buffer
	b.WriteString("# The Kafka protocol, as Ottla speaks it\n\n" +
		"Generated from `internal/protocol/wire` by `go test ./internal/protocol/wire -run TestReference -update`; do not edit.\n\n" +
		"## APIs\n\nThe range goes from Kafka 3.9's oldest version to Kafka 4.4's newest.\n\n" +
		"| key | API | advertised | served | flexible from |\n| --: | :-- | :-- | :-- | :-- |\n")
	for _, a := range APIs() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %d |\n", a.Key, Name(a.Key), versions(a.Min, a.Max), versions(a.Served, a.Max), a.Flexible)
	}
	fmt.Fprintf(&b, "\nA request of another key or version closes the connection, as in Kafka, save that ApiVersions of an unknown version is\n"+
		"answered at version 0 with `UNSUPPORTED_VERSION` and this table. A body with more than %d array elements and tagged\n"+
		"fields, or one that would decode to more than %d KiB and %d times its size, is refused; so is one whose answers, some\n"+
		"%d bytes for each element, would make that %d KiB more.\n",
		MaxElements, freeCost>>10, maxCostRatio, answerCost, answerFree>>10)
	b.WriteString("\n## What is missing, and why\n\n| key | API | what | why |\n| --: | :-- | :-- | :-- |\n")
	for _, g := range Ledger() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", g.Key, Name(g.Key), g.What, g.Why)
	}
	return b.Bytes()
}

func versions(from, to int16) string {
	if from == to {
		return strconv.Itoa(int(from))
	}
	return fmt.Sprintf("%d-%d", from, to)
}

var update = flag.Bool("update", false, "write docs/reference/protocol.md")

func TestReferenceIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "protocol.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, reference(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, reference()) {
		t.Errorf("%s is out of date: go test ./internal/protocol/wire -run TestReference -update", path)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for key, want := range map[kmsg.Key]string{
		0: "Produce", 17: "SaslHandshake", 22: "InitProducerId", 29: "DescribeAcls", 45: "AlterPartitionReassignments",
		4: "LeaderAndIsr", 50: "DescribeUserScramCredentials", 67: "AllocateProducerIds", 60: "DescribeCluster",
		-1: "Unknown(-1)", 999: "Unknown(999)",
	} {
		if got := Name(key); got != want {
			t.Errorf("%d: %s, want %s", key, got, want)
		}
	}
}
