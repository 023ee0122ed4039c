package wire

import (
	"math"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kind is how a field stands on the wire.
type kind uint8

const (
	fixed    kind = iota // size bytes: numbers, booleans, uuids, or several in a row
	text                 // a string
	blob                 // bytes, which kmsg aliases; records
	array                // a count and elements
	inline               // a struct without a prefix (inside a tagged field)
	optional             // a struct behind a presence byte
)

const (
	untagged = -1
	never    = math.MaxInt16 // a field that is null at no version
	always   = 0
)

// field is one field of a struct, at the versions since to until (inclusive).
type field struct {
	kind         kind
	bare         bool  // an array's elements are the one field of elem, not structs with tagged fields
	tag          int16 // untagged, or its number among the struct's tagged fields
	since, until int16
	null         int16   // first version at which null is allowed, or never
	size         int     // fixed: bytes on the wire; array, inline, optional: bytes of one decoded element
	elem         []field // array: fields of one element, nil where these are fixed
	answer       int     // array: bytes that the answer to one element takes
}

// layout is a request body: the size of kmsg's struct and its fields.
type layout struct {
	key    kmsg.Key
	size   int
	fields []field
}

func (f field) from(version int16) field { f.since = version; return f }
func (f field) to(version int16) field   { f.until = version; return f }
func (f field) as(tag int16) field       { f.tag = tag; return f }

// nullFrom allows null from the version on.
func (f field) nullFrom(version int16) field { f.null = version; return f }

func of(k kind, size int, elem ...field) field {
	return field{kind: k, tag: untagged, until: math.MaxInt16, null: never, size: size, elem: elem}
}

func num(size int) field  { return of(fixed, size) }
func str() field          { return of(text, 0) }
func blobs() field        { return of(blob, 0) }
func records() field      { return blobs().nullFrom(always) }
func nums(size int) field { return of(array, size) }
func names() field        { f := list[string](str()); f.bare = true; return f }
func sizeOf[T any]() int  { return int(reflect.TypeFor[T]().Size()) }
func id() field           { return num(16) }
func list[T any](elem ...field) field {
	f := of(array, sizeOf[T](), elem...)
	f.answer = answerCost
	return f
}

// partitions are numbers of partitions, each of which is answered.
func partitions() field { f := nums(4); f.answer = partitionAnswerCost; return f }

// aclFilter has the fields of a filter of access control entries.
func aclFilter() []field {
	return []field{
		num(1), str().nullFrom(always), // resource
		num(1).from(1),                                 // pattern type
		str().nullFrom(always), str().nullFrom(always), // principal, host
		num(1 + 1), // operation, permission
	}
}

// body is a whole request, decoded into a T.
func body[T any](key kmsg.Key, fields ...field) layout {
	return layout{key: key, size: sizeOf[T](), fields: fields}
}

// layouts has the body of each row of apis, in the same order, at all served versions. A field of the message
// definitions that is missing here, or at a wrong version, fails the differential test against kmsg.
var layouts = [len(apis)]layout{
	body[kmsg.ProduceRequest](keyProduce,
		str().nullFrom(always), // transactional id
		num(2+4),               // acks, timeout
		list[kmsg.ProduceRequestTopic](
			str().to(12), id().from(13),
			list[kmsg.ProduceRequestTopicPartition](num(4), records())),
	),
	body[kmsg.FetchRequest](keyFetch,
		num(4).to(14),    // replica
		num(4+4+4+1),     // max wait, min bytes, max bytes, isolation
		num(4+4).from(7), // session id and epoch
		list[kmsg.FetchRequestTopic](
			str().to(12), id().from(13),
			list[kmsg.FetchRequestTopicPartition](
				num(4),          // partition
				num(4).from(9),  // current leader epoch
				num(8),          // fetch offset
				num(4).from(12), // last fetched epoch
				num(8).from(5),  // log start
				num(4),          // max bytes
				id().as(0),      // replica directory
				num(8).as(1),    // high watermark
			)),
		list[kmsg.FetchRequestForgottenTopic](str().to(12), id().from(13), nums(4)).from(7),
		str().from(11), // rack
		str().nullFrom(always).as(0),
		of(inline, 0, num(4+8)).as(1), // replica id and epoch
	),
	body[kmsg.ListOffsetsRequest](kmsg.ListOffsets,
		num(4),         // replica
		num(1).from(2), // isolation
		list[kmsg.ListOffsetsRequestTopic](str(),
			list[kmsg.ListOffsetsRequestTopicPartition](
				num(4),         // partition
				num(4).from(4), // current leader epoch
				num(8),         // timestamp
				num(4).to(0),   // max offsets
			)),
		num(4).from(10), // timeout
	),
	body[kmsg.MetadataRequest](kmsg.Metadata,
		list[kmsg.MetadataRequestTopic](id().from(10), str().nullFrom(10)).nullFrom(1),
		num(1).from(4),        // allow creation
		num(1).from(8).to(10), // cluster operations
		num(1).from(8),        // topic operations
	),
	body[kmsg.OffsetCommitRequest](kmsg.OffsetCommit,
		str(),
		num(4).from(1), str().from(1), // generation, member
		str().nullFrom(always).from(7), // instance
		num(8).from(2).to(4),           // retention
		list[kmsg.OffsetCommitRequestTopic](
			str().to(9), id().from(10),
			list[kmsg.OffsetCommitRequestTopicPartition](
				num(4+8),               // partition, offset
				num(8).from(1).to(1),   // timestamp
				num(4).from(6),         // leader epoch
				str().nullFrom(always), // metadata
			)),
	),
	body[kmsg.OffsetFetchRequest](kmsg.OffsetFetch,
		str().to(7),
		list[kmsg.OffsetFetchRequestTopic](str(), partitions()).nullFrom(2).to(7),
		list[kmsg.OffsetFetchRequestGroup](
			str(),
			str().nullFrom(always).from(9), num(4).from(9), // member and epoch
			list[kmsg.OffsetFetchRequestGroupTopic](str().to(9), id().from(10), partitions()).nullFrom(always)).from(8),
		num(1).from(7), // stable
	),
	body[kmsg.FindCoordinatorRequest](kmsg.FindCoordinator,
		str().to(3),
		num(1).from(1), // type
		names().from(4),
	),
	body[kmsg.JoinGroupRequest](kmsg.JoinGroup,
		str(),
		num(4),                         // session timeout
		num(4).from(1),                 // rebalance timeout
		str(),                          // member
		str().nullFrom(always).from(5), // instance
		str(),                          // protocol type
		list[kmsg.JoinGroupRequestProtocol](str(), blobs()),
		str().nullFrom(always).from(8), // reason
	),
	body[kmsg.HeartbeatRequest](kmsg.Heartbeat,
		str(), num(4), str(), // group, generation, member
		str().nullFrom(always).from(3), // instance
	),
	body[kmsg.LeaveGroupRequest](kmsg.LeaveGroup,
		str(),
		str().to(2), // member
		list[kmsg.LeaveGroupRequestMember](str(), str().nullFrom(always), str().nullFrom(always).from(5)).from(3),
	),
	body[kmsg.SyncGroupRequest](kmsg.SyncGroup,
		str(), num(4), str(), // group, generation, member
		str().nullFrom(always).from(3),                                 // instance
		str().nullFrom(always).from(5), str().nullFrom(always).from(5), // protocol type and name
		list[kmsg.SyncGroupRequestGroupAssignment](str(), blobs()),
	),
	body[kmsg.DescribeGroupsRequest](kmsg.DescribeGroups,
		names(),
		num(1).from(3), // authorised operations
	),
	body[kmsg.ListGroupsRequest](kmsg.ListGroups,
		names().from(4), names().from(5), // states and types
	),
	body[kmsg.ApiVersionsRequest](keyAPIVersions,
		str().from(3), str().from(3), // software name and version
		str().nullFrom(always).from(5), num(4).from(5), // cluster and node
	),
	body[kmsg.CreateTopicsRequest](kmsg.CreateTopics,
		list[kmsg.CreateTopicsRequestTopic](str(),
			num(4+2), // partitions, replication factor
			list[kmsg.CreateTopicsRequestTopicReplicaAssignment](num(4), nums(4)),
			list[kmsg.CreateTopicsRequestTopicConfig](str(), str().nullFrom(always))),
		num(4),         // timeout
		num(1).from(1), // validate only
	),
	body[kmsg.DeleteTopicsRequest](kmsg.DeleteTopics,
		names().to(5),
		list[kmsg.DeleteTopicsRequestTopic](str().nullFrom(always), id()).from(6),
		num(4), // timeout
	),
	body[kmsg.DeleteRecordsRequest](kmsg.DeleteRecords,
		list[kmsg.DeleteRecordsRequestTopic](str(),
			list[kmsg.DeleteRecordsRequestTopicPartition](num(4+8))),
		num(4), // timeout
	),
	body[kmsg.InitProducerIDRequest](kmsg.InitProducerID,
		str().nullFrom(always),
		num(4),           // timeout
		num(8+2).from(3), // producer id and epoch
	),
	body[kmsg.OffsetForLeaderEpochRequest](kmsg.OffsetForLeaderEpoch,
		num(4).from(3), // replica
		list[kmsg.OffsetForLeaderEpochRequestTopic](str(),
			list[kmsg.OffsetForLeaderEpochRequestTopicPartition](
				num(4),         // partition
				num(4).from(2), // current leader epoch
				num(4),         // leader epoch
			)),
	),
	body[kmsg.DescribeACLsRequest](kmsg.DescribeACLs, aclFilter()...),
	body[kmsg.CreateACLsRequest](kmsg.CreateACLs,
		list[kmsg.CreateACLsRequestCreation](
			num(1), str(), // resource
			num(1).from(1), // pattern type
			str(), str(),   // principal, host
			num(1+1), // operation, permission
		),
	),
	body[kmsg.DeleteACLsRequest](kmsg.DeleteACLs,
		list[kmsg.DeleteACLsRequestFilter](aclFilter()...),
	),
	body[kmsg.DescribeConfigsRequest](kmsg.DescribeConfigs,
		list[kmsg.DescribeConfigsRequestResource](num(1), str(), names().nullFrom(always)),
		num(1).from(1), // synonyms
		num(1).from(3), // documentation
	),
	body[kmsg.AlterConfigsRequest](kmsg.AlterConfigs,
		list[kmsg.AlterConfigsRequestResource](num(1), str(),
			list[kmsg.AlterConfigsRequestResourceConfig](str(), str().nullFrom(always))),
		num(1), // validate only
	),
	body[kmsg.DescribeLogDirsRequest](kmsg.DescribeLogDirs,
		list[kmsg.DescribeLogDirsRequestTopic](str(), nums(4)).nullFrom(always),
	),
	body[kmsg.CreatePartitionsRequest](kmsg.CreatePartitions,
		list[kmsg.CreatePartitionsRequestTopic](str(), num(4),
			list[kmsg.CreatePartitionsRequestTopicAssignment](nums(4)).nullFrom(always)),
		num(4+1), // timeout, validate only
	),
	body[kmsg.DeleteGroupsRequest](kmsg.DeleteGroups,
		names(),
	),
	body[kmsg.IncrementalAlterConfigsRequest](kmsg.IncrementalAlterConfigs,
		list[kmsg.IncrementalAlterConfigsRequestResource](num(1), str(),
			list[kmsg.IncrementalAlterConfigsRequestResourceConfig](str(), num(1), str().nullFrom(always))),
		num(1), // validate only
	),
	body[kmsg.OffsetDeleteRequest](kmsg.OffsetDelete,
		str(),
		list[kmsg.OffsetDeleteRequestTopic](str(),
			list[kmsg.OffsetDeleteRequestTopicPartition](num(4))),
	),
	body[kmsg.DescribeClusterRequest](kmsg.DescribeCluster,
		num(1),         // cluster operations
		num(1).from(1), // endpoint type
		num(1).from(2), // fenced brokers
	),
	body[kmsg.ConsumerGroupHeartbeatRequest](kmsg.ConsumerGroupHeartbeat,
		str(), str(), num(4), // group, member, epoch
		str().nullFrom(always), str().nullFrom(always), // instance, rack
		num(4),                         // rebalance timeout
		names().nullFrom(always),       // subscribed names
		str().nullFrom(always).from(1), // and pattern
		str().nullFrom(always),         // assignor
		list[kmsg.ConsumerGroupHeartbeatRequestTopic](id(), nums(4)).nullFrom(always),
	),
	body[kmsg.ConsumerGroupDescribeRequest](kmsg.ConsumerGroupDescribe,
		names(),
		num(1), // authorised operations
	),
	body[kmsg.ListConfigResourcesRequest](kmsg.ListConfigResources,
		nums(1).from(1), // resource types
	),
	body[kmsg.DescribeTopicPartitionsRequest](kmsg.DescribeTopicPartitions,
		list[kmsg.DescribeTopicPartitionsRequestTopic](str()),
		num(4), // partition limit
		of(optional, sizeOf[kmsg.DescribeTopicPartitionsRequestCursor](), str(), num(4)),
	),
}
