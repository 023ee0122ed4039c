package configapi

import (
	"testing"

	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// TestListResourcesFenced checks that a fenced broker has no resources: neither its settings nor its loggers can be asked for.
func TestListResourcesFenced(t *testing.T) {
	t.Parallel()
	all := listResources(&meta.Image{Brokers: []meta.Broker{{ID: 1}, {ID: 2, Fenced: true}}})
	if len(all) != 2 || all[0].Name != "1" || all[1].Name != "1" {
		t.Errorf("%+v", all)
	}
}
