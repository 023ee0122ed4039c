package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/host"
)

// TestMeans: where the broker chooses a value by the machine, config explain tells what it comes to.
func TestMeans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"-1": fmt.Sprintf("%d bytes on this machine", host.RequestMemory()), "5000000": ""} {
		c, err := config.Load(config.Input{Flags: []config.Flag{{Key: "queued.max.request.bytes", Text: text, Place: "test"}}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := explain(c, "queued.max.request.bytes")
		if err != nil {
			t.Fatal(err)
		}
		all = means(c, all)
		if len(all) != 1 || all[0].Means != want {
			t.Fatalf("%s: got %+v, want that it means %q", text, all, want)
		}
		if shown := all[0].String(); want != "" && !strings.Contains(shown, want) {
			t.Errorf("%s is not shown: %s", want, shown)
		}
	}
}
