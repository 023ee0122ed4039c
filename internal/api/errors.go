package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla-io/ottla/internal/partition"
	"github.com/ottla-io/ottla/internal/protocol/batch"
	"github.com/ottla-io/ottla/internal/protocol/wire"
)

// code turns an error into the code that a client sees: 0 for nil, the code of a *kerr.Error anywhere in the chain, and
// UNKNOWN_SERVER_ERROR for what nobody gave one. It is the only place where an error becomes a code.
func code(err error) int16 {
	if err == nil {
		return 0
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return ke.Code
	}
	switch {
	case errors.Is(err, batch.ErrCorrupt):
		return kerr.CorruptMessage.Code
	case errors.Is(err, context.DeadlineExceeded):
		return kerr.RequestTimedOut.Code
	}
	return kerr.UnknownServerError.Code
}

// refusal is a protocol error with its reason, which is what the client reads.
type refusal struct {
	code   *kerr.Error
	reason string
}

func (r *refusal) Error() string { return r.reason }
func (r *refusal) Unwrap() error { return r.code }

// refuse makes an error with a code and a reason that names the value and the limit.
func refuse(code *kerr.Error, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// explain is the text for a response's error message field, nil for nil.
func explain(err error) *string {
	if err == nil {
		return nil
	}
	text := sentence(err)
	return &text
}

// sentence is an error's text for clients: nothing of the inside of an error that nobody gave a code.
func sentence(err error) string {
	if code(err) == kerr.UnknownServerError.Code {
		return kerr.UnknownServerError.Description
	}
	text := strings.TrimSuffix(err.Error(), ": "+kerr.ErrorForCode(code(err)).Error()) // the code travels beside it
	if len(text) > sentenceMax {
		text = strings.ToValidUTF8(text[:sentenceMax], "") + "..."
	}
	return text
}

// closed returns what a client is told for err of a partition that was found before. Where the partition was closed since, because its
// topic was deleted, the client looks for a leader in vain: it is told that the topic is gone, or, if it named the topic by id and
// there is another one of the name, INCONSISTENT_TOPIC_ID (Kafka's ReplicaManager.getPartitionOrError, readFromLog).
func (a *API) closed(p *partition.Partition, byID bool, err error) error {
	id := p.ID()
	if code(err) != kerr.NotLeaderForPartition.Code {
		return err
	}
	image := a.node.Image()
	switch {
	case image.TopicByID(id.TopicID) != nil:
		return err
	case byID && image.Topic(id.Topic) != nil:
		return refuse(kerr.InconsistentTopicID, "topic %s was deleted, and created again with another id", id.Topic)
	}
	return refuse(kerr.UnknownTopicOrPartition, "topic %s was deleted", id.Topic)
}

// sentenceMax is the longest text for a client, in bytes. Errors quote what clients sent, which may have 32 KiB, more than that when it is quoted;
// and a string of more cannot be encoded in versions that are not flexible: the response would be broken.
const sentenceMax = 2000

// fault is code for an error that may say something about the broker: what has no code of its own is logged, since the
// client's UNKNOWN_SERVER_ERROR says nothing.
func (a *API) fault(req *Request, err error) int16 { return a.faultOf(req.Header, req.Conn, err) }

// faultOf is fault for a request whose frame has gone.
func (a *API) faultOf(h wire.Header, conn *Conn, err error) int16 {
	if errors.Is(err, context.Canceled) { // the connection was cut, so the code reaches no client
		a.log.Debug("request given up", slog.String("api", h.Key.Name()), slog.Any("remote", conn.Remote), slog.Any("err", err))
		return code(err)
	}
	c := code(err)
	switch c {
	case kerr.UnknownServerError.Code:
		a.faults.Error("request failed", slog.String("api", h.Key.Name()), slog.Any("version", h.Version), slog.Any("remote", conn.Remote), slog.Any("err", err))
	case kerr.KafkaStorageError.Code:
		a.faults.Warn("storage error", slog.String("api", h.Key.Name()), slog.Any("remote", conn.Remote), slog.Any("err", err))
	}
	if c != 0 {
		a.opts.Observer.Failed(h.Key, c)
	}
	return c
}
