package configapi

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla-io/ottla/internal/api"
	"github.com/ottla-io/ottla/internal/cluster/meta"
)

// Node is the part of the broker that the handlers need.
type Node interface {
	Image() *meta.Image
	NodeID() int32
	AlterConfigs(ctx context.Context, changes []meta.ResourceChanges, validateOnly bool) ([]meta.ResourceResult, error)
	ReplaceConfigs(ctx context.Context, configs []meta.ResourceConfigs, validateOnly bool) ([]meta.ResourceResult, error)
}

// Options are what the handlers stand on.
type Options struct {
	Node     Node
	Configs  api.Configs                  // the settings that DescribeConfigs shows; nil: none
	LogLevel *slog.LevelVar               // the level of the broker's log, which clients may change; nil: refused
	Troubles func(topic string) []Trouble // what is wrong with a topic's partitions here; nil: not told
}

// family is the handlers.
type family struct {
	node    Node
	configs api.Configs
	level   *slog.LevelVar
	trouble func(topic string) []Trouble
}

// Handlers returns the handlers by key.
func Handlers(opts Options) map[kmsg.Key]api.Handler {
	f := &family{node: opts.Node, configs: opts.Configs, level: opts.LogLevel, trouble: opts.Troubles}
	return map[kmsg.Key]api.Handler{
		kmsg.DescribeConfigs:         api.Late(f.describeConfigs),
		kmsg.AlterConfigs:            api.Late(f.alterConfigs),
		kmsg.IncrementalAlterConfigs: api.Late(f.incrementalAlterConfigs),
		kmsg.ListConfigResources:     api.Late(f.listConfigResources),
	}
}
