package groupapi_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/groupapi"
	"github.com/ottla-io/ottla/internal/coordinator/group"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// keys are those that this package answers.
var keys = []kmsg.Key{8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47, 68, 69}

// TestHandlersAreTheTable: every key of the family is advertised, and no other is handled here.
func TestHandlersAreTheTable(t *testing.T) {
	t.Parallel()
	handlers := groupapi.Handlers(groupapi.Options{})
	for _, key := range keys {
		if _, ok := handlers[key]; !ok {
			t.Errorf("%s has no handler", key.Name())
		}
		if _, ok := wire.Lookup(key); !ok {
			t.Errorf("%s is not advertised", key.Name())
		}
	}
	if len(handlers) != len(keys) {
		t.Errorf("%d handlers, expected %d", len(handlers), len(keys))
	}
}

// resultTypes are the results that answer each input.
var resultTypes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[group.Join]():              reflect.TypeFor[group.JoinResult](),
	reflect.TypeFor[group.Sync]():              reflect.TypeFor[group.SyncResult](),
	reflect.TypeFor[group.Heartbeat]():         reflect.TypeFor[group.HeartbeatResult](),
	reflect.TypeFor[group.Leave]():             reflect.TypeFor[group.LeaveResult](),
	reflect.TypeFor[group.Describe]():          reflect.TypeFor[group.DescribeResult](),
	reflect.TypeFor[group.Commit]():            reflect.TypeFor[group.CommitResult](),
	reflect.TypeFor[group.Fetch]():             reflect.TypeFor[group.FetchResult](),
	reflect.TypeFor[group.DeleteOffsets]():     reflect.TypeFor[group.DeleteOffsetsResult](),
	reflect.TypeFor[group.Delete]():            reflect.TypeFor[group.DeleteResult](),
	reflect.TypeFor[group.List]():              reflect.TypeFor[group.ListResult](),
	reflect.TypeFor[group.ConsumerHeartbeat](): reflect.TypeFor[group.ConsumerHeartbeatResult](),
	reflect.TypeFor[group.ConsumerDescribe]():  reflect.TypeFor[group.ConsumerDescribeResult](),
}

// randomly answers each input with a failure or with anything that has the right type.
func (n *node) randomly(r *rand.Rand) {
	n.fake.answer = func(in group.Input) (any, bool) {
		if r.IntN(4) == 0 {
			return group.Failed(in, randomError(r)), true
		}
		result := reflect.New(resultTypes[reflect.TypeOf(in)]).Elem()
		fill(r, result)
		return result.Interface(), true
	}
	if r.IntN(2) == 0 {
		n.fake.locate = randomError(r)
	}
}

func randomError(r *rand.Rand) error {
	if r.IntN(8) == 0 {
		return errors.New("the disk is on fire")
	}
	return kerr.ErrorForCode(int16(1 + r.IntN(130)))
}

// fill sets v and all in it to something.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if _, isTags := reflect.TypeAssert[*kmsg.Tags](v.Addr()); isTags {
			return
		}
		for _, field := range v.Fields() {
			fill(r, field)
		}
	case reflect.Slice:
		if n := r.IntN(5) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i))
			}
		}
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Interface: // error is the only one
		if r.IntN(3) == 0 {
			v.Set(reflect.ValueOf(randomError(r)))
		}
	case reflect.String:
		v.SetString([]string{"", "t", "g", "consumer", "ü", "Stable"}[r.IntN(6)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(2)))
		}
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	default:
		v.SetInt(int64(r.IntN(8)) - 2)
	}
}

// checkAny begins a request and checks that its response is one that a client can read: decoded and encoded again, it is the same.
func (n *node) checkAny(h wire.Header, body []byte) {
	n.t.Helper()
	replies := make([]api.Reply, 1)
	if _, err := n.api.Begin(n.t.Context(), testNow, []*api.Request{{Header: h, Body: body, Conn: &n.conn, Received: testNow}}, replies); err != nil {
		return
	}
	var out api.Out
	if ready, _ := replies[0].Poll(testNow, nil, &out); !ready {
		n.t.Fatalf("%s v%d is not ready", h.Key.Name(), h.Version)
	}
	m := h.Key.Request()
	m.SetVersion(h.Version)
	resp := decode(n.t, m, out.Bytes)
	if again := wire.AppendResponse(nil, h, resp); !bytes.Equal(again, out.Bytes) {
		n.t.Fatalf("%s v%d: %x\nis again %x", h.Key.Name(), h.Version, out.Bytes, again)
	}
}

// TestEveryVersion: any request, any result, any version.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.create("t", 3)
	for _, key := range keys {
		for _, v := range versions(t, key) {
			r := rand.New(rand.NewPCG(uint64(key), uint64(v)))
			for range 200 {
				n.fake.calls = nil
				n.randomly(r)
				m := key.Request()
				fill(r, reflect.ValueOf(m).Elem())
				m.SetVersion(v)
				row, _ := wire.Lookup(key)
				n.checkAny(wire.Header{Key: key, Version: v, CorrelationID: 77, Flexible: row.IsFlexible(v)}, m.AppendTo(nil))
			}
		}
	}
}

// FuzzBegin gives the handlers any body at any version, and any result.
func FuzzBegin(f *testing.F) {
	for _, key := range keys {
		r := rand.New(rand.NewPCG(uint64(key), 1))
		for _, v := range versions(f, key) {
			m := key.Request()
			fill(r, reflect.ValueOf(m).Elem())
			m.SetVersion(v)
			f.Add(int16(key), v, uint64(v), m.AppendTo(nil))
		}
	}
	n := newNode(f)
	n.create("t", 3)
	f.Fuzz(func(t *testing.T, key, version int16, seed uint64, body []byte) {
		row, ok := wire.Lookup(kmsg.Key(key))
		if !ok || !row.Serves(version) || !slices.Contains(keys, row.Key) {
			return
		}
		one := *n
		one.t, one.fake.calls = t, nil
		one.randomly(rand.New(rand.NewPCG(seed, seed)))
		one.checkAny(wire.Header{Key: row.Key, Version: version, CorrelationID: 77, Flexible: row.IsFlexible(version)}, body)
	})
}
