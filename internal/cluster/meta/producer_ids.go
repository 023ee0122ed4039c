package meta

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ProducerIDBlock is how many ids a broker gets at once (Kafka's ProducerIdsBlock).
const ProducerIDBlock = 1000

// AllocateProducerIDs gives a broker a block of producer ids.
type AllocateProducerIDs struct {
	Broker int32
	Epoch  int64
}

// ProducerIDs are the ids in [First, First+Count).
type ProducerIDs struct {
	First int64
	Count int32
}

func (c AllocateProducerIDs) decide(s *State) ([]Record, ProducerIDs, error) {
	b, known := s.brokers[c.Broker]
	if !known {
		return nil, ProducerIDs{}, refuse(kerr.BrokerIDNotRegistered, "broker %d is not registered", c.Broker)
	}
	if b.Epoch != c.Epoch {
		return nil, ProducerIDs{}, refuse(kerr.StaleBrokerEpoch, "broker %d has epoch %d, not %d", c.Broker, b.Epoch, c.Epoch)
	}
	first := s.nextProducerID
	if first > math.MaxInt64-ProducerIDBlock {
		return nil, ProducerIDs{}, refuse(kerr.UnknownServerError, "all producer ids are used up (the next one is %d)", first)
	}
	record := ProducerIDsRecord{Broker: c.Broker, Epoch: c.Epoch, Next: first + ProducerIDBlock}
	return []Record{record}, ProducerIDs{First: first, Count: ProducerIDBlock}, nil
}
