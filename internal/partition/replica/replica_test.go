package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/ottla-io/ottla/internal/protocol/batch"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestScripts runs testdata. "new end=N [disk] [messages=N] [age=D]" begins; then lead epoch=N, appended end=N,
// synced end=N, configure [disk] [messages=N] [age=D] and tick are the inputs. Any may have after=D: so much time passes first.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var r *Replica
		now := start
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			now = now.Add(duration(t, d, "after"))
			if d.Cmd == "new" {
				r = New(options(t, d), offset(t, d))
				return state(r)
			}
			effects := r.Step(now, parse(t, d))
			if effects.Refused != nil {
				return fmt.Sprintf("%v\n%s", effects.Refused, state(r))
			}
			return fmt.Sprintf("advanced %t, sync %t\n%s", effects.Advanced, effects.Sync, state(r))
		})
	})
}

func parse(t *testing.T, d *datadriven.TestData) Input {
	switch d.Cmd {
	case "lead":
		var epoch int
		d.ScanArgs(t, "epoch", &epoch)
		return Lead{Epoch: batch.Epoch(epoch)}
	case "appended":
		return Appended{End: offset(t, d)}
	case "synced":
		return Synced{End: offset(t, d)}
	case "configure":
		return Configure{Options: options(t, d)}
	case "tick":
		return Tick{}
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return nil
}

func offset(t *testing.T, d *datadriven.TestData) batch.Offset {
	var end int
	d.ScanArgs(t, "end", &end)
	return batch.Offset(end)
}

func options(t *testing.T, d *datadriven.TestData) Options {
	opts := Options{Disk: d.HasArg("disk"), FlushAge: duration(t, d, "age")}
	if d.HasArg("messages") {
		d.ScanArgs(t, "messages", &opts.FlushMessages)
	}
	return opts
}

func duration(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	if !d.HasArg(key) {
		return 0
	}
	var text string
	d.ScanArgs(t, key, &text)
	v, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func state(r *Replica) string {
	return fmt.Sprintf("epoch %d, high watermark %d, durable %d, end %d\n", r.epoch, r.highWatermark, r.durable, r.end)
}

// TestInvariants walks at random and checks what doc.go states.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := start
		drawOptions := func() Options {
			return Options{
				Disk:          rapid.Bool().Draw(t, "disk"),
				FlushMessages: rapid.Int64Range(0, 3).Draw(t, "messages"),
				FlushAge:      time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Second,
			}
		}
		r := New(drawOptions(), batch.Offset(rapid.IntRange(0, 5).Draw(t, "end")))
		epoch := r.Epoch()
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before, durable := *r, r.durable
			var in Input
			switch rapid.IntRange(0, 5).Draw(t, "input") {
			case 0:
				epoch = max(epoch, batch.Epoch(rapid.IntRange(0, 5).Draw(t, "epoch")))
				in = Lead{Epoch: epoch}
			case 1, 2:
				in = Appended{End: r.end + batch.Offset(rapid.IntRange(1, 3).Draw(t, "count"))}
			case 3:
				in = Synced{End: batch.Offset(rapid.IntRange(0, int(r.end)).Draw(t, "synced"))}
			case 4:
				in = Configure{Options: drawOptions()}
			case 5:
				now = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "seconds")) * time.Second)
				in = Tick{}
			}
			effects := r.Step(now, in)
			strict := r.opts.Disk || r.opts.FlushMessages == 1
			switch {
			case effects.Refused != nil:
				t.Fatal(effects.Refused)
			case r.highWatermark < before.highWatermark || r.durable < durable || r.epoch < before.epoch:
				t.Fatalf("%+v fell to %+v", before, *r)
			case r.highWatermark > r.end || r.durable > r.end:
				t.Fatalf("%+v is past its end", *r)
			case effects.Advanced != (r.highWatermark > before.highWatermark):
				t.Fatalf("%+v: %+v became %+v", effects, before, *r)
			case strict && effects.Advanced && r.highWatermark > r.durable:
				t.Fatalf("%+v reads what is not durable", *r)
			case strict && r.durable < r.end && !effects.Sync:
				t.Fatalf("%+v waits for a sync that nobody makes", *r)
			case r.durable == r.end && effects.Sync:
				t.Fatalf("%+v wants a sync of nothing", *r)
			}
		}
	})
}

func TestStepDoesNotAllocate(t *testing.T) {
	r := New(Options{Disk: true}, 1000)
	end := batch.Offset(1000)
	if n := testing.AllocsPerRun(100, func() {
		end++
		r.Step(start, Appended{End: end})
		r.Step(start, Synced{End: end})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
