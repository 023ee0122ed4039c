package configapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/setting"
)

// secretive has one setting that may be shown and one that may not.
type secretive struct{}

func (secretive) DescribeTopic(api.Dynamic, map[string]string) []setting.Entry { return nil }
func (secretive) DescribeBroker(api.Dynamic) []setting.Entry                   { return nil }
func (secretive) BrokerSetting(name string) (setting.Entry, bool) {
	return setting.Entry{Name: name, Sensitive: name == "secret"}, name != "strange"
}

type anyConfig struct{}

func (anyConfig) Validate(meta.Resource, map[string]string, []string) error { return nil }
func (anyConfig) List(meta.Resource, string) (string, bool)                 { return "", false }

// nodeOne is node 1, with an image.
type nodeOne struct{ image *meta.Image }

func (n nodeOne) Image() *meta.Image { return n.image }
func (nodeOne) NodeID() int32        { return 1 }
func (nodeOne) AlterConfigs(context.Context, []meta.ResourceChanges, bool) ([]meta.ResourceResult, error) {
	return nil, nil
}

func (nodeOne) ReplaceConfigs(context.Context, []meta.ResourceConfigs, bool) ([]meta.ResourceResult, error) {
	return nil, nil
}

// TestAuditHidesPasswords checks that neither a password nor the value of a broker's key that is not
// known stands in the log, set or replaced or deleted.
func TestAuditHidesPasswords(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := api.New(api.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	audit := a.Audit(&api.Request{Conn: &api.Conn{Remote: netip.MustParseAddrPort("127.0.0.1:40000")}})
	r := meta.Resource{Type: meta.ResourceBroker}
	state := meta.New("cluster", 1)
	step := func(op meta.ConfigOp, value string) {
		t.Helper()
		before := state.Image()
		changes := meta.ResourceChanges{Resource: r}
		for _, key := range []string{"plain", "secret", "strange"} {
			changes.Changes = append(changes.Changes, meta.ConfigChange{Name: key, Op: op, Value: &value})
		}
		records, _, err := meta.Decide(state, meta.AlterConfigs{Resources: []meta.ResourceChanges{changes}, Schema: anyConfig{}})
		for _, rec := range records {
			if err == nil {
				err = state.Apply(state.Version()+1, rec)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		f := &family{node: nodeOne{state.Image()}, configs: secretive{}}
		f.auditChanges(audit, r, before, state.Image())
	}
	step(meta.OpSet, "hunter1")
	step(meta.OpSet, "hunter2")
	step(meta.OpDelete, "")
	text := log.String()
	for what, n := range map[string]int{
		"hunter1": 2, "hunter2": 2, // of plain
		"key=secret old=(default) new=(hidden)": 1, "key=secret old=(hidden) new=(hidden)": 1, "key=secret old=(hidden) new=(default)": 1,
		"key=strange old=(hidden) new=(hidden)": 1, "key=plain old=hunter1 new=hunter2": 1,
	} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%q stands %d times in the log, expected %d:\n%s", what, got, n, text)
		}
	}
}
