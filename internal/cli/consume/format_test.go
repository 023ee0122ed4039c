package consume

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla-io/ottla/internal/cli/session"
)

func TestFormatter(t *testing.T) {
	t.Parallel()
	r := &kgo.Record{
		Topic: "t", Partition: 3, Offset: 9, Key: []byte("k"), Value: []byte("value"), Timestamp: time.UnixMilli(1234567890123),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}},
	}
	for _, tt := range []struct{ format, want string }{
		{`%t/%p@%o %k=%v\n`, "t/3@9 k=value\n"},
		{`%s %S %V %K`, "value 5 5 1"},
		{`%T|%d`, "1234567890123|1234567890123"},
		{`%T{big8}`, "\x01"}, // rpk's: the length of the topic
		{`%h`, "a=1,b=NULL"},
		{`[%h][%h]`, "[a=1,b=NULL][a=1,b=NULL]"},
		{`%H %h{%k:%v;}`, "2 a:1;b:;"},
		{`100%% %%s\t%v{hex}`, "100% %s\t76616c7565"},
		{`\x41`, "A"},
	} {
		f, err := formatter(tt.format)
		if err != nil {
			t.Errorf("%s: %v", tt.format, err)
			continue
		}
		f(r)
		if got := string(f(r)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.format, got, tt.want)
		}
	}
	for _, bad := range []string{`%`, `%Q`, `%v{`, `%h{`} {
		if _, err := formatter(bad); err == nil || !errors.As(err, new(session.UsageError)) {
			t.Errorf("%s: got %v, want a usage error", bad, err)
		}
	}
}
