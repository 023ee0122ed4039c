package meta

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Command is something asked of the metadata; R is its answer. A command that fails as a whole gives an error and no
// records; one that fails in part says so in its answer.
type Command[R any] interface {
	decide(s *State) (records []Record, result R, err error)
}

// Decide judges c against the state that the last applied record left. It changes nothing: the records do, when they
// are committed and applied.
func Decide[R any](s *State, c Command[R]) ([]Record, R, error) {
	records, result, err := c.decide(s)
	if err == nil {
		err = tooMany(records)
	}
	if err != nil {
		return nil, result, err
	}
	return records, result, nil
}

// MaxRecords bounds what one command may write, and so the memory that a request can claim.
const MaxRecords = 20_000

// tooMany refuses more records than a command may write. Commands that make many records of a few bytes ask it as they go, also when
// they only validate.
func tooMany(records []Record) error {
	if len(records) <= MaxRecords {
		return nil
	}
	return refuse(kerr.PolicyViolation, "one request may change at most %d topics and partitions, this one would change at least %d: split it",
		MaxRecords, len(records))
}

// partitionRoom is how many partitions a command may create. A request of fifty bytes makes twenty thousand, each of which takes a kilobyte of
// memory for as long as it is there.
type partitionRoom struct {
	most int // of the cluster; 0: any number
	have int
}

func (s *State) partitionRoom(most int) *partitionRoom {
	r := &partitionRoom{most: most}
	if most > 0 {
		for _, t := range s.Image().Topics {
			r.have += len(t.Partitions)
		}
	}
	return r
}

// take counts n partitions more, or refuses them.
func (r *partitionRoom) take(n int) error {
	if r.most > 0 && r.have+n > r.most {
		return refuse(kerr.PolicyViolation, "there are %d partitions, with %d more they would be above %d, which memory is for: delete topics or add memory",
			r.have, n, r.most)
	}
	r.have += n
	return nil
}

// RefusalError is a protocol error with its reason. errors.As finds the code, Error is what the client is told.
type RefusalError struct {
	Code   *kerr.Error
	Reason string
}

// Error is the reason, or Kafka's own words for the code where there is none.
func (r *RefusalError) Error() string {
	if r.Reason == "" {
		return r.Code.Description
	}
	return r.Reason
}

// Unwrap is the code.
func (r *RefusalError) Unwrap() error { return r.Code }

func refuse(code *kerr.Error, format string, args ...any) error {
	return &RefusalError{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// errDuplicate refuses what a request names more than once; Kafka does none of them then.
var errDuplicate error = &RefusalError{Code: kerr.InvalidRequest, Reason: "Duplicate topic name."}

// repeated finds the keys that stand more than once in list.
func repeated[T any, K comparable](list []T, key func(T) K) map[K]bool {
	seen := make(map[K]bool, len(list))
	for _, element := range list {
		k := key(element)
		_, again := seen[k]
		seen[k] = again
	}
	return seen
}

// TopicResult is what became of one topic of a request.
type TopicResult struct {
	Name string
	ID   [16]byte
	// Err is nil or a *RefusalError.
	Err error
	// Partitions, ReplicationFactor and Configs say how a topic was created.
	Partitions        int32
	ReplicationFactor int16
	Configs           map[string]string
}

// ResourceResult is what became of one resource of a request.
type ResourceResult struct {
	Resource Resource
	// Err is nil or a *RefusalError.
	Err error
}

// Assignment is a partition's replicas, in order of preference.
type Assignment struct {
	Partition int32
	Replicas  []int32
}

// ConfigSchema knows which configs there are. It is passed in with a command, so it must be pure.
type ConfigSchema interface {
	// Validate checks the configs that a resource has after a change of the keys changed, which are in order and some of which may be gone
	// from configs. It judges what was changed, alone and beside the rest, and not what stays as it was. The error names the key, the
	// value and the limit.
	Validate(r Resource, configs map[string]string, changed []string) error
	// List says whether a key is a list, and its default.
	List(r Resource, key string) (def string, isList bool)
}
