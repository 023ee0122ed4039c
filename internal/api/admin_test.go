package api_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/api/aclapi"
	"github.com/ottla-io/ottla/internal/api/configapi"
	"github.com/ottla-io/ottla/internal/broker"
	"github.com/ottla-io/ottla/internal/cluster/meta"
	"github.com/ottla-io/ottla/internal/config"
	"github.com/ottla-io/ottla/internal/protocol/wire"
	"github.com/ottla-io/ottla/internal/setting"
	"github.com/ottla-io/ottla/internal/storage/vfs"
)

// adminNode is a real broker, in memory, and the handlers on it.
type adminNode struct {
	t      *testing.T
	broker *broker.Broker
	api    *api.API
	level  *slog.LevelVar
	conn   api.Conn

	foreign bool // see adminSchema
}

var adminNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newAdminNode starts node 1 with these settings beside the defaults; change may change the handlers' options.
func newAdminNode(t *testing.T, settings map[string]string, change func(*api.Options, *configapi.Options)) *adminNode {
	t.Helper()
	var flags []config.Flag
	for key, text := range settings {
		flags = append(flags, config.Flag{Key: key, Text: text, Place: "test"})
	}
	c, err := config.Load(config.Input{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	n := &adminNode{t: t, level: new(slog.LevelVar)}
	n.conn = api.Conn{Listener: "PLAINTEXT", Local: netip.MustParseAddrPort("127.0.0.1:9092"), Remote: netip.MustParseAddrPort("127.0.0.1:40000")}
	n.broker, err = broker.Open(t.Context(), broker.Options{
		FS: vfs.NewMem(), DataDir: "/var/lib/ottla", NoLock: true, NodeID: 1, Topic: c, Schema: adminSchema{c, &n.foreign},
		Clock:             func() time.Time { return adminNow },
		Advertise:         []meta.Endpoint{{Listener: "PLAINTEXT"}},
		DefaultPartitions: int32(c.Int("num.partitions")), DefaultReplicationFactor: int16(c.Int("default.replication.factor")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.broker.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := api.Options{Broker: n.broker, Log: slog.New(slog.DiscardHandler), Configs: adminConfigs{c}}
	configs := configapi.Options{Node: n.broker, Configs: adminConfigs{c}, LogLevel: n.level}
	if change != nil {
		change(&opts, &configs)
	}
	opts.Handlers = append(opts.Handlers, aclapi.Handlers(), configapi.Handlers(configs))
	n.api = api.New(opts)
	return n
}

// adminSchema is the schema of all resources, from the table of settings.
type adminSchema struct {
	*config.Config
	all *bool // takes everything, as if another program had written it
}

func (s adminSchema) Validate(r meta.Resource, configs map[string]string, changed []string) error {
	if *s.all {
		return nil
	}
	switch r.Type {
	case meta.ResourceTopic:
		return s.Config.Validate(configs, changed)
	case meta.ResourceBroker:
		return config.ValidateDynamic(configs, changed)
	}
	return nil
}

func (s adminSchema) List(r meta.Resource, key string) (string, bool) {
	return config.ListDefault(key, r.Type == meta.ResourceTopic)
}

// adminConfigs shows the table of settings.
type adminConfigs struct{ *config.Config }

func (c adminConfigs) DescribeTopic(d api.Dynamic, overrides map[string]string) []setting.Entry {
	return adminEntries(c.WithDynamic(d.Cluster, d.Node).DescribeTopic(overrides))
}

func (c adminConfigs) DescribeBroker(d api.Dynamic) []setting.Entry {
	return adminEntries(c.WithDynamic(d.Cluster, d.Node).DescribeBroker())
}

func (c adminConfigs) BrokerSetting(name string) (setting.Entry, bool) {
	e, ok := c.DescribeBrokerKey(name)
	return adminEntries([]config.Entry{e})[0], ok
}

func adminEntries(in []config.Entry) []setting.Entry {
	out := make([]setting.Entry, 0, len(in))
	for _, e := range in {
		o := setting.Entry{
			Name: e.Name, Value: e.Value, Type: kmsg.ConfigType(e.Type), Source: kmsg.ConfigSource(e.Source),
			ReadOnly: e.ReadOnly, Sensitive: e.Sensitive, Doc: e.Doc,
		}
		for _, s := range e.Synonyms {
			o.Synonyms = append(o.Synonyms, setting.Synonym{Name: s.Name, Value: s.Value, Source: kmsg.ConfigSource(s.Source)})
		}
		out = append(out, o)
	}
	return out
}

// send answers a frame, without its size prefix, with a frame.
func (n *adminNode) send(frame []byte) ([]byte, error) {
	header, body, err := wire.ParseHeader(frame)
	if err != nil {
		return nil, err
	}
	req := &api.Request{Header: header, Body: body, Conn: &n.conn, Received: adminNow}
	replies := make([]api.Reply, 1)
	if _, err := n.api.Begin(context.Background(), adminNow, []*api.Request{req}, replies); err != nil {
		return nil, err
	}
	var out api.Out
	if ready, _ := replies[0].Poll(adminNow, nil, &out); !ready {
		n.t.Fatalf("%s v%d is not ready at once", header.Key.Name(), header.Version)
	}
	return out.Bytes, nil
}

// ask sends a request at a version, through its bytes, and decodes the response.
func ask[R kmsg.Response](n *adminNode, version int16, req kmsg.Request) R {
	n.t.Helper()
	req.SetVersion(version)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 7)
	out, err := n.send(frame[4:])
	if err != nil {
		n.t.Fatalf("%s v%d: %v", kmsg.Key(req.Key()).Name(), version, err)
	}
	if size := int(binary.BigEndian.Uint32(out)); size != len(out)-4 {
		n.t.Fatalf("size prefix is %d, the response has %d bytes", size, len(out)-4)
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	body := out[8:]
	if resp.IsFlexible() {
		body = body[1:] // the header's tagged fields
	}
	if err := resp.ReadFrom(body); err != nil {
		n.t.Fatalf("%s v%d: %v", kmsg.Key(req.Key()).Name(), version, err)
	}
	return resp.(R)
}

// versionsOf are the versions of a key that are served.
func versionsOf(t *testing.T, key kmsg.Key) []int16 {
	t.Helper()
	row, ok := wire.Lookup(key)
	if !ok {
		t.Fatalf("%s is not in the version table", key.Name())
	}
	var all []int16
	for v := row.Served; v <= row.Max; v++ {
		all = append(all, v)
	}
	return all
}

// wantCode checks an error code by name; "" for none.
func wantCode(t *testing.T, what string, got int16, want string) {
	t.Helper()
	name := ""
	if got != 0 {
		name = kerr.TypedErrorForCode(got).Message
	}
	if name != want {
		t.Errorf("%s: error is %q, expected %q", what, name, want)
	}
}

// create makes a topic with configs given as key, value, key, value.
func (n *adminNode) create(name string, partitions int32, configs ...string) [16]byte {
	n.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, newTopic(name, partitions, 1, configs...))
	resp := ask[*kmsg.CreateTopicsResponse](n, 7, req)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		n.t.Fatalf("create %s: %+v", name, resp.Topics)
	}
	return resp.Topics[0].TopicID
}

// newTopic is a topic of a CreateTopics request; the value "null" is null.
func newTopic(name string, partitions int32, factor int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, factor
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], nullable(configs[i+1])
		rt.Configs = append(rt.Configs, c)
	}
	return rt
}

// nullable is text, or nil for "null".
func nullable(text string) *string {
	if text == "null" {
		return nil
	}
	return &text
}
