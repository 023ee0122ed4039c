package api

// noOperations stands in a response for authorised operations that nobody asked for.
const noOperations = -1 << 31

// Bits of authorised operations, by Kafka's AclOperation codes (KIP-430).
const (
	opRead            = 1 << 3
	opWrite           = 1 << 4
	opCreate          = 1 << 5
	opDelete          = 1 << 6
	opAlter           = 1 << 7
	opDescribe        = 1 << 8
	opClusterAction   = 1 << 9
	opDescribeConfigs = 1 << 10
	opAlterConfigs    = 1 << 11
	opIdempotentWrite = 1 << 12
)

// What may be done to a topic, to a group and to the cluster by whoever may do everything, as without an authoriser (Kafka's
// AclEntry.supportedOperations).
const (
	topicOperations   = opRead | opWrite | opCreate | opDelete | opAlter | opDescribe | opDescribeConfigs | opAlterConfigs
	groupOperations   = opRead | opDelete | opDescribe | opDescribeConfigs | opAlterConfigs
	clusterOperations = opCreate | opAlter | opDescribe | opClusterAction | opDescribeConfigs | opAlterConfigs | opIdempotentWrite
)
