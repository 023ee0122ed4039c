package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TopicError is what went wrong with one topic, in words where the code says little to a person.
func TopicError(name string, err error, message string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("topic %s: %w", name, Detailed(err, message))
}

// Detailed adds the broker's own sentence to an error's code.
func Detailed(err error, message string) error {
	var ke *kerr.Error
	if message == "" || errors.As(err, &ke) && (message == ke.Description || message == ke.Error()) {
		return err
	}
	if ke != nil {
		return &brokerError{ke, message}
	}
	return fmt.Errorf("%w: %s", err, message)
}

// brokerError is a code with the sentence the broker sent with it.
type brokerError struct {
	code    *kerr.Error
	message string
}

func (e *brokerError) Error() string { return e.message + " (" + e.code.Message + ")" }
func (e *brokerError) Unwrap() error { return e.code }

// hints say what to do about a code.
var hints = map[*kerr.Error]string{
	kerr.UnknownTopicOrPartition:   "there is no such topic or partition; `ottla topic list` shows what there is, `ottla topic create NAME` makes one",
	kerr.InvalidTopicException:     "no topic can be called so: a name has up to 249 letters, digits, ., _ and -",
	kerr.UnknownTopicID:            "the topic was deleted",
	kerr.TopicAlreadyExists:        "--if-not-exists makes that no error",
	kerr.OffsetOutOfRange:          "the offset is outside of the log; `ottla topic describe NAME` shows its range",
	kerr.MessageTooLarge:           "the batch is larger than the topic's max.message.bytes; raise it: `ottla config set topic NAME max.message.bytes=BYTES`",
	kerr.InvalidRecord:             "the broker refuses a record; if the topic is compacted, give records keys: --key or --key-separator",
	kerr.CorruptMessage:            "a damaged batch stands there; `ottla topic describe NAME` tells its offsets and the remedy, and --from goes on behind it",
	kerr.LeaderNotAvailable:        "a partition has no leader; `ottla topic describe NAME` tells why",
	kerr.KafkaStorageError:         "the broker cannot write: its disk is full or failed; see the broker's log",
	kerr.NotEnoughReplicas:         "fewer replicas are in sync than min.insync.replicas asks for",
	kerr.GroupIDNotFound:           "there is no such group; `ottla group list` shows what there is",
	kerr.NonEmptyGroup:             "it has live members; stop them first (`ottla group members` shows them)",
	kerr.GroupSubscribedToTopic:    "a member subscribes to the topic; stop it first (`ottla group members` shows who)",
	kerr.CoordinatorNotAvailable:   "the broker that keeps its offsets is not ready; try again, or see that broker's log",
	kerr.GroupMaxSizeReached:       "it has as many members as group.max.size (or group.consumer.max.size) allows",
	kerr.FencedInstanceID:          "another consumer has taken the same --instance",
	kerr.UnreleasedInstanceID:      "another member has this --instance; if it is dead, it goes at its session timeout",
	kerr.InconsistentGroupProtocol: "its members use another protocol or other assignors; see `ottla group describe`, and --protocol and --assignor",
	kerr.UnsupportedAssignor:       "the broker has no such assignor; see group.consumer.assignors",
	kerr.TopicDeletionDisabled:     "the broker has delete.topic.enable=false",
}

// InWords is err as a line for a person, with what to do; errors that were joined are a line each.
func InWords(err error, seeds string) string {
	if all := joined(err); len(all) > 0 {
		lines := make([]string, len(all))
		for i, one := range all {
			lines[i] = InWords(one, seeds)
		}
		return strings.Join(lines, "\n")
	}
	if _, ok := errors.AsType[*UnreachedError](err); ok {
		return err.Error()
	}
	var parts *kadm.ShardErrors
	if errors.As(err, &parts) && len(parts.Errs) > 0 {
		return InWords(parts.Errs[0].Err, seeds) // the others are mostly the same
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		if hint, ok := hints[ke]; ok {
			if _, ok := errors.AsType[*brokerError](err); ok {
				return err.Error() + "; " + hint
			}
			prefix, _, _ := strings.Cut(err.Error(), ke.Message)
			return prefix + hint
		}
		return err.Error()
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Sprintf("no broker at %s: %v; start one with `ottla start`, or name another with -b HOST:PORT", seeds, op.Err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("no broker at %s: the name %s is not known; name another with -b HOST:PORT", seeds, dns.Name)
	}
	if strings.Contains(err.Error(), "beginning of an HTTP response") { // kgo has no mark for it
		return seeds + " answers in HTTP; -b wants the address for Kafka clients, which by default is 127.0.0.1:9092"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer from %s in time; is it an Ottla or Kafka broker? --timeout waits longer", seeds)
	}
	return err.Error()
}

// joined are the errors that errors.Join made err of.
func joined(err error) []error {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Is(err, context.Canceled) || err.Error() != errors.Join(all.Unwrap()...).Error() {
		return nil
	}
	return all.Unwrap()
}

// NoPartition says that a topic has n partitions, and not this one.
func NoPartition(topic string, partition int32, n int) error {
	return fmt.Errorf("topic %s has no partition %d; it has %s", topic, partition, Plural(n, "partition"))
}
