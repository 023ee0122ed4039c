package wire

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkDecodeProduce checks that DecodeProduce says what Decode says, into a new request and into one that was used.
func checkDecodeProduce(t *testing.T, used *kmsg.ProduceRequest, h Header, body []byte) {
	t.Helper()
	want, wantErr := Decode(h, body)
	for _, req := range []*kmsg.ProduceRequest{new(kmsg.ProduceRequest), used} {
		err := DecodeProduce(req, h, body)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("v%d: %v, want %v\n%x", h.Version, err, wantErr, body)
		}
		if err == nil && !reflect.DeepEqual(withoutEmpty(*req), withoutEmpty(*want.(*kmsg.ProduceRequest))) {
			t.Fatalf("v%d:\ngot  %+v\nwant %+v\n%x", h.Version, req, want, body)
		}
	}
}

// withoutEmpty is a copy of req whose arrays of no element are nil.
func withoutEmpty(req kmsg.ProduceRequest) kmsg.ProduceRequest {
	req.Topics = append([]kmsg.ProduceRequestTopic(nil), req.Topics...)
	for i := range req.Topics {
		req.Topics[i].Partitions = append([]kmsg.ProduceRequestTopicPartition(nil), req.Topics[i].Partitions...)
	}
	return req
}

// plainProduce is a request without transactional id and tagged fields.
func plainProduce(r *rand.Rand, h Header) *kmsg.ProduceRequest {
	req := randomRequest(r, h).(*kmsg.ProduceRequest)
	req.TransactionID, req.UnknownTags = nil, kmsg.Tags{}
	for i := range req.Topics {
		topic := &req.Topics[i]
		topic.UnknownTags = kmsg.Tags{}
		for j := range topic.Partitions {
			topic.Partitions[j].UnknownTags = kmsg.Tags{}
		}
	}
	return req
}

func produceVersions(f func(Header)) {
	everyVersion(func(h Header) {
		if h.Key == kmsg.Produce {
			f(h)
		}
	})
}

func TestDecodeProduceEqualsDecode(t *testing.T) {
	t.Parallel()
	var used kmsg.ProduceRequest
	produceVersions(func(h Header) {
		r := rand.New(rand.NewPCG(7, uint64(h.Version)))
		for range 200 {
			body := plainProduce(r, h).AppendTo(nil)
			plainly := plain{src: body, version: h.Version, flexible: h.Flexible}
			if plainly.request(new(kmsg.ProduceRequest)); plainly.strange {
				t.Fatalf("v%d: a plain request is strange: %x", h.Version, body)
			}
			for _, body := range [][]byte{body, append(body, 1, 2, 3), randomRequest(r, h).AppendTo(nil)} {
				checkDecodeProduce(t, &used, h, body)
				if len(body) > 0 {
					checkDecodeProduce(t, &used, h, body[:r.IntN(len(body))])
					body[r.IntN(len(body))] = byte(r.IntN(256))
					checkDecodeProduce(t, &used, h, body)
				}
			}
		}
	})
}

// What is taken plainly is within the limits that Cost has, however it is shared among topics.
func TestPlainProduceIsCheap(t *testing.T) {
	t.Parallel()
	produceVersions(func(h Header) {
		for _, topics := range []int{1, plainElements / 2, plainElements} {
			req := kmsg.NewPtrProduceRequest()
			req.Version, req.Topics = h.Version, make([]kmsg.ProduceRequestTopic, topics)
			for i := range plainElements - topics {
				topic := &req.Topics[i%topics]
				topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{})
			}
			body := req.AppendTo(nil)
			p := plain{src: body, version: h.Version, flexible: h.Flexible}
			if p.request(req); p.strange {
				t.Fatalf("v%d: %d topics are strange", h.Version, topics)
			}
			cost, err := Cost(h, body)
			if most := freeCost / 2; err != nil || cost > most || plainElements*answerCost > answerFree/2 {
				t.Errorf("v%d: %d topics cost %d, expected at most %d (%v)", h.Version, topics, cost, most, err)
			}
		}
	})
}

// Beyond what a request has, a reused one holds nothing of earlier frames.
func TestDecodeProduceForgets(t *testing.T) {
	t.Parallel()
	h := Header{Key: kmsg.Produce, Version: 9, Flexible: true}
	r := rand.New(rand.NewPCG(3, 4))
	var req kmsg.ProduceRequest
	for range 300 {
		if err := DecodeProduce(&req, h, plainProduce(r, h).AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		for _, topic := range req.Topics[len(req.Topics):cap(req.Topics)] {
			if !reflect.DeepEqual(topic, kmsg.ProduceRequestTopic{}) {
				t.Fatalf("kept topic %+v", topic)
			}
		}
		for _, topic := range req.Topics {
			for _, part := range topic.Partitions[len(topic.Partitions):cap(topic.Partitions)] {
				if part.Records != nil {
					t.Fatalf("kept partition %+v", part)
				}
			}
		}
	}
	many := kmsg.ProduceRequest{Version: 9, Topics: make([]kmsg.ProduceRequestTopic, keptElements+1)}
	for _, body := range [][]byte{many.AppendTo(nil), kbin.AppendUvarint([]byte{0, 0, 1, 0, 0, 0, 0}, 1)} {
		if err := DecodeProduce(&req, h, append(body, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if cap(req.Topics) > keptElements {
		t.Errorf("memory of %d topics is kept", cap(req.Topics))
	}
}

func FuzzDecodeProduce(f *testing.F) {
	produceVersions(func(h Header) {
		r := rand.New(rand.NewPCG(9, uint64(h.Version)))
		f.Add(h.Version, plainProduce(r, h).AppendTo(nil))
		f.Add(h.Version, randomRequest(r, h).AppendTo(nil))
	})
	var used kmsg.ProduceRequest
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		row, _ := Lookup(kmsg.Produce)
		if !row.Serves(version) {
			return
		}
		checkDecodeProduce(t, &used, Header{Key: kmsg.Produce, Version: version, Flexible: row.IsFlexible(version)}, body)
	})
}
