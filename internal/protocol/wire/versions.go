package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// API is one row of the version table.
type API struct {
	Key kmsg.Key
	// Min and Max are what ApiVersions advertises, both inclusive.
	Min, Max int16
	// Served is the first version that is answered. It differs from Min for Produce alone: librdkafka turns
	// compression off unless version 0 is advertised (KAFKA-18659).
	Served int16
	// Flexible is the first version with compact lengths and tagged fields (KIP-482); above Max if none has.
	Flexible int16
}

// Names of the rows that this package treats apart from the others.
const (
	keyProduce     = kmsg.Produce
	keyFetch       = kmsg.Fetch
	keyAPIVersions = kmsg.ApiVersions
)

// apis is the table, ordered by key: what this broker speaks and nothing else. Minima are Kafka 3.9's, save where
// only message formats v0 and v1 would do; maxima are Kafka 4.4's. Ledger has what is missing.
var apis = [...]API{
	{Key: keyProduce, Min: 0, Max: 13, Served: 3, Flexible: 9},
	{Key: keyFetch, Min: 4, Max: 18, Served: 4, Flexible: 12},
	{Key: kmsg.ListOffsets, Min: 0, Max: 11, Flexible: 6},
	{Key: kmsg.Metadata, Min: 0, Max: 13, Flexible: 9},
	{Key: kmsg.OffsetCommit, Min: 0, Max: 10, Flexible: 8},
	{Key: kmsg.OffsetFetch, Min: 0, Max: 10, Flexible: 6},
	{Key: kmsg.FindCoordinator, Min: 0, Max: 6, Flexible: 3},
	{Key: kmsg.JoinGroup, Min: 0, Max: 9, Flexible: 6},
	{Key: kmsg.Heartbeat, Min: 0, Max: 4, Flexible: 4},
	{Key: kmsg.LeaveGroup, Min: 0, Max: 5, Flexible: 4},
	{Key: kmsg.SyncGroup, Min: 0, Max: 5, Flexible: 4},
	{Key: kmsg.DescribeGroups, Min: 0, Max: 6, Flexible: 5},
	{Key: kmsg.ListGroups, Min: 0, Max: 5, Flexible: 3},
	{Key: keyAPIVersions, Min: 0, Max: 5, Flexible: 3},
	{Key: kmsg.CreateTopics, Min: 0, Max: 7, Flexible: 5},
	{Key: kmsg.DeleteTopics, Min: 0, Max: 6, Flexible: 4},
	{Key: kmsg.DeleteRecords, Min: 0, Max: 2, Flexible: 2},
	{Key: kmsg.InitProducerID, Min: 0, Max: 5, Flexible: 2},
	{Key: kmsg.OffsetForLeaderEpoch, Min: 0, Max: 4, Flexible: 4},
	{Key: kmsg.DescribeACLs, Min: 0, Max: 3, Flexible: 2},
	{Key: kmsg.CreateACLs, Min: 0, Max: 3, Flexible: 2},
	{Key: kmsg.DeleteACLs, Min: 0, Max: 3, Flexible: 2},
	{Key: kmsg.DescribeConfigs, Min: 0, Max: 4, Flexible: 4},
	{Key: kmsg.AlterConfigs, Min: 0, Max: 2, Flexible: 2},
	{Key: kmsg.DescribeLogDirs, Min: 0, Max: 5, Flexible: 2},
	{Key: kmsg.CreatePartitions, Min: 0, Max: 3, Flexible: 2},
	{Key: kmsg.DeleteGroups, Min: 0, Max: 3, Flexible: 2},
	{Key: kmsg.IncrementalAlterConfigs, Min: 0, Max: 1, Flexible: 1},
	{Key: kmsg.OffsetDelete, Min: 0, Max: 0, Flexible: 1},
	{Key: kmsg.DescribeCluster, Min: 0, Max: 2, Flexible: 0},
	{Key: kmsg.ConsumerGroupHeartbeat, Min: 0, Max: 1, Flexible: 0},
	{Key: kmsg.ConsumerGroupDescribe, Min: 0, Max: 1, Flexible: 0},
	{Key: kmsg.ListConfigResources, Min: 0, Max: 1, Flexible: 0},
	{Key: kmsg.DescribeTopicPartitions, Min: 0, Max: 0, Flexible: 0},
}

// APIs returns a copy of the version table, ordered by key.
func APIs() []API { return append([]API(nil), apis[:]...) }

// Lookup finds the row of key.
func Lookup(key kmsg.Key) (API, bool) {
	i := lookup(key)
	if i < 0 {
		return API{}, false
	}
	return apis[i], true
}

// lookup is the row number of key in apis, or -1. The table is short and the hot keys stand first.
func lookup(key kmsg.Key) int {
	for i := range apis {
		if apis[i].Key == key {
			return i
		}
	}
	return -1
}

// Serves reports whether a request of that version is answered.
func (a API) Serves(version int16) bool { return version >= a.Served && version <= a.Max }

// IsFlexible reports whether that version has compact lengths and tagged fields (KIP-482).
func (a API) IsFlexible(version int16) bool { return version >= a.Flexible }

// Feature is one feature of the cluster, as ApiVersions shows it (KIP-584).
type Feature struct {
	Name string
	// Min and Max are the levels that this broker supports.
	Min, Max int16
	// Level is the finalized level; 0 if the feature is off, which is not shown.
	Level int16
}

// NoFeatureEpoch says in APIVersionsResponse that the finalized levels are not known.
const NoFeatureEpoch = -1

// APIVersionsResponse answers an ApiVersions request of the given version with the whole table. features must be
// ordered by name; epoch is the metadata offset at which they were finalized, or NoFeatureEpoch.
//
// A version that is not served gets what KIP-511 wants: a body of version 0 with UNSUPPORTED_VERSION (35) and the
// table, from which the client picks a version that is.
func APIVersionsResponse(version int16, features []Feature, epoch int64) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	if row, _ := Lookup(keyAPIVersions); !row.Serves(version) {
		resp.Version = 0
		resp.ErrorCode = codeUnsupportedVersion
	}
	resp.ApiKeys = make([]kmsg.ApiVersionsResponseApiKey, 0, len(apis))
	for _, a := range apis {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = a.Key.Int16(), a.Min, a.Max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	addFeatures(resp, features, epoch)
	return resp
}

// addFeatures fills the feature fields, which exist from version 3 on. Java clients before 3.9 cannot parse a
// supported minimum of 0, so such a feature is left out below version 4 (KAFKA-17011).
func addFeatures(resp *kmsg.ApiVersionsResponse, features []Feature, epoch int64) {
	if resp.Version < 3 {
		return
	}
	resp.FinalizedFeaturesEpoch = epoch
	for _, f := range features {
		if f.Min > 0 || resp.Version >= 4 {
			s := kmsg.NewApiVersionsResponseSupportedFeature()
			s.Name, s.MinVersion, s.MaxVersion = f.Name, f.Min, f.Max
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		if f.Level > 0 && epoch != NoFeatureEpoch {
			l := kmsg.NewApiVersionsResponseFinalizedFeature()
			l.Name, l.MinVersionLevel, l.MaxVersionLevel = f.Name, f.Level, f.Level
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, l)
		}
	}
}
