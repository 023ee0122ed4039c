package log

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

func TestEpochFile(t *testing.T) {
	t.Parallel()
	list, err := parseEpochs([]byte("0\n3\n0 0\n4 17\n2147483647 9223372036854775807\n"))
	want := []epochStart{{0, 0}, {4, 17}, {1<<31 - 1, 1<<63 - 1}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("parsed %v, %v", list, err)
	}
	for _, bad := range []string{
		"", "1\n0\n", "0\n", "0\n-1\n", "0\n1\n", "0\n2\n1 1\n", "0\n1\n1 1\n2 2\n", "0\n2\n1 1\n1 2\n", "0\n2\n1 1\n2 1\n",
		"0\n1\n-1 5\n", "0\n1\n1 -5\n", "0\n1\n1\n", "0\n1\n1 2 3\n", "0\n1\n2147483648 1\n", "0\n1\nx 1\n", "0\n999999999\n1 1\n",
		"\x00\x00\x00\x00", "0\n1\n1 1\x00\n",
	} {
		if list, err := parseEpochs([]byte(bad)); !errors.Is(err, batch.ErrCorrupt) {
			t.Errorf("%q gives %v, %v", bad, list, err)
		}
	}
}

func FuzzEpochFile(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 10\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("0\n1\n 7  8 \n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := parseEpochs(content)
		if err != nil {
			return
		}
		again, err := parseEpochs(formatEpochs(list))
		if err != nil || !slices.Equal(list, again) {
			t.Fatalf("%v is written as %q and read as %v, %v", list, formatEpochs(list), again, err)
		}
		for i, e := range list {
			if e.epoch < 0 || e.start < 0 || i > 0 && !follows(list[:i], e) {
				t.Fatalf("accepted %v", list)
			}
		}
	})
}

// TestEpochEnds follows LeaderEpochFileCache.endOffsetFor (KIP-101, KIP-279).
func TestEpochEnds(t *testing.T) {
	t.Parallel()
	var e epochs
	if epoch, end := e.endOf(3, 10); epoch != batch.NoEpoch || end != -1 {
		t.Errorf("without epochs: %d %d", epoch, end)
	}
	e.assign(2, 5)
	e.assign(4, 11)
	e.assign(7, 20)
	for _, c := range []struct {
		asked, epoch batch.Epoch
		end          batch.Offset
	}{
		{-1, -1, -1}, {0, 0, 5}, {1, 1, 5}, {2, 2, 11}, {3, 2, 11}, {4, 4, 20}, {6, 4, 20}, {7, 7, 30}, {8, -1, -1},
	} {
		if epoch, end := e.endOf(c.asked, 30); epoch != c.epoch || end != c.end {
			t.Errorf("epoch %d ends as %d at %d, expected %d at %d", c.asked, epoch, end, c.epoch, c.end)
		}
	}
	e.assign(5, 15) // a truncation that the list has not seen: what contradicts goes
	if want := []epochStart{{2, 5}, {4, 11}, {5, 15}}; !slices.Equal(e.all(), want) {
		t.Errorf("after assigning epoch 5: %v", e.all())
	}
	e.truncateStart(12)
	if want := []epochStart{{4, 12}, {5, 15}}; !slices.Equal(e.all(), want) {
		t.Errorf("from 12 on: %v", e.all())
	}
	e.truncateEnd(15)
	if want := []epochStart{{4, 12}}; !slices.Equal(e.all(), want) {
		t.Errorf("up to 15: %v", e.all())
	}
	if !bytes.Equal(formatEpochs(e.all()), []byte("0\n1\n4 12\n")) {
		t.Errorf("written as %q", formatEpochs(e.all()))
	}
}
