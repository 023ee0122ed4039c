package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Gap is something that Kafka 3.9 to 4.4 answers and this broker does not, or not in the same way.
type Gap struct {
	Key  kmsg.Key
	What string
	Why  string
}

const (
	allVersions = "all versions"
	accessLists = "everything but SECURITY_DISABLED"

	whyZooKeeper  = "Kafka removed it in 4.0: only brokers that ran on ZooKeeper sent it to each other."
	whyController = "Internal to Kafka's controllers: clients never send it and no broker listener answers it."
	whyTxn        = "Transactions are not built yet."
	whySecurity   = "Authentication, authorisation and quotas are not built yet."
	whyDisabled   = whySecurity + " The answer is that of Kafka without an authorizer, which clients take as final."
	whyRefused    = whyTxn + " The answer is `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`: Java, librdkafka, franz-go, aiokafka, " +
		"kafka-python and kafkajs stop at it at once, sarama after 5 s; librdkafka repeats `UNSUPPORTED_VERSION` for ever."
	whyCluster   = "There is one broker: replicas are not moved and leaders not elected yet."
	whyShare     = "Share groups are not built yet."
	whyStreams   = "Streams groups are not built yet."
	whyTokens    = "Delegation tokens need authentication, which is not built yet."
	whyTelemetry = "Kafka too advertises it only when a telemetry receiver plug-in is loaded."
)

// ledger is what is deliberately missing, ordered by key. A key of Kafka's that is neither in apis nor here fails a
// test, and so does a version range that differs from Kafka's without a line here.
var ledger = [...]Gap{
	{keyProduce, "versions 0 to 2", "They carry message formats v0 and v1. They are advertised, as by Kafka 4, " +
		"since librdkafka turns compression off otherwise, and the connection is closed when one arrives."},
	{keyProduce, "records inside compressed batches", "They are not looked at unless the topic asks for what needs it: " +
		"the batch's checksum and header are checked, the count of records is taken from the header."},
	{keyProduce, "transactional ids and batches", whyRefused},
	{keyFetch, "versions 0 to 3", "They answer in message formats v0 and v1, to which nothing is converted yet."},
	{kmsg.LeaderAndISR, allVersions, whyZooKeeper},
	{kmsg.StopReplica, allVersions, whyZooKeeper},
	{kmsg.UpdateMetadata, allVersions, whyZooKeeper},
	{kmsg.ControlledShutdown, allVersions, whyZooKeeper},
	{kmsg.OffsetFetch, "a group or a partition twice", "Each offset is in a response once, since a small request could ask for it, and the text beside it, without end."},
	{kmsg.FindCoordinator, "transactions", whyRefused},
	{kmsg.FindCoordinator, "share groups", whyShare + " The answer is `UNSUPPORTED_VERSION`."},
	{kmsg.DescribeGroups, "a group twice", "A group that is named again is not described again, since a small request could ask for it without end."},
	{kmsg.SASLHandshake, allVersions, whySecurity},
	{kmsg.InitProducerID, "version 6", "It is unstable in Kafka 4.4, which does not advertise it."},
	{kmsg.InitProducerID, "transactional ids", whyRefused},
	{kmsg.AddPartitionsToTxn, allVersions, whyTxn},
	{kmsg.AddOffsetsToTxn, allVersions, whyTxn},
	{kmsg.EndTxn, allVersions, whyTxn},
	{kmsg.WriteTxnMarkers, allVersions, whyTxn},
	{kmsg.TxnOffsetCommit, allVersions, whyTxn},
	{kmsg.DescribeACLs, accessLists, whyDisabled},
	{kmsg.CreateACLs, accessLists, whyDisabled},
	{kmsg.DeleteACLs, accessLists, whyDisabled},
	{kmsg.AlterReplicaLogDirs, allVersions, "A broker has one data directory."},
	{kmsg.SASLAuthenticate, allVersions, whySecurity},
	{kmsg.CreateDelegationToken, allVersions, whyTokens},
	{kmsg.RenewDelegationToken, allVersions, whyTokens},
	{kmsg.ExpireDelegationToken, allVersions, whyTokens},
	{kmsg.DescribeDelegationToken, allVersions, whyTokens},
	{kmsg.ElectLeaders, allVersions, whyCluster},
	{kmsg.AlterPartitionAssignments, allVersions, whyCluster},
	{kmsg.ListPartitionReassignments, allVersions, whyCluster},
	{kmsg.DescribeClientQuotas, allVersions, whySecurity},
	{kmsg.AlterClientQuotas, allVersions, whySecurity},
	{kmsg.DescribeUserSCRAMCredentials, allVersions, whySecurity},
	{kmsg.AlterUserSCRAMCredentials, allVersions, whySecurity},
	{kmsg.Vote, allVersions, whyController},
	{kmsg.BeginQuorumEpoch, allVersions, whyController},
	{kmsg.EndQuorumEpoch, allVersions, whyController},
	{kmsg.DescribeQuorum, allVersions, whyCluster},
	{kmsg.AlterPartition, allVersions, whyController},
	{kmsg.UpdateFeatures, allVersions, whyCluster},
	{kmsg.Envelope, allVersions, whyController},
	{kmsg.FetchSnapshot, allVersions, whyController},
	{kmsg.DescribeProducers, allVersions, whyTxn},
	{kmsg.BrokerRegistration, allVersions, whyController},
	{kmsg.BrokerHeartbeat, allVersions, whyController},
	{kmsg.UnregisterBroker, allVersions, whyCluster},
	{kmsg.DescribeTransactions, allVersions, whyTxn},
	{kmsg.ListTransactions, allVersions, whyTxn},
	{kmsg.AllocateProducerIDs, allVersions, whyController},
	{kmsg.ConsumerGroupDescribe, "a group twice", "A group that is named again is not described again, since a small request could ask for it without end."},
	{kmsg.ControllerRegistration, allVersions, whyController},
	{kmsg.GetTelemetrySubscriptions, allVersions, whyTelemetry},
	{kmsg.PushTelemetry, allVersions, whyTelemetry},
	{kmsg.AssignReplicasToDirs, allVersions, whyController},
	{kmsg.ShareGroupHeartbeat, allVersions, whyShare},
	{kmsg.ShareGroupDescribe, allVersions, whyShare},
	{kmsg.ShareFetch, allVersions, whyShare},
	{kmsg.ShareAcknowledge, allVersions, whyShare},
	{kmsg.AddRaftVoter, allVersions, whyCluster},
	{kmsg.RemoveRaftVoter, allVersions, whyCluster},
	{kmsg.UpdateRaftVoter, allVersions, whyController},
	{kmsg.InitializeShareGroupState, allVersions, whyShare},
	{kmsg.ReadShareGroupState, allVersions, whyShare},
	{kmsg.WriteShareGroupState, allVersions, whyShare},
	{kmsg.DeleteShareGroupState, allVersions, whyShare},
	{kmsg.ReadShareGroupStateSummary, allVersions, whyShare},
	{kmsg.StreamsGroupHeartbeat, allVersions, whyStreams},
	{kmsg.StreamsGroupDescribe, allVersions, whyStreams},
	{kmsg.DescribeShareGroupOffsets, allVersions, whyShare},
	{kmsg.AlterShareGroupOffsets, allVersions, whyShare},
	{kmsg.DeleteShareGroupOffsets, allVersions, whyShare},
	{kmsg.StreamsGroupTopologyDescriptionUpdate, allVersions, whyStreams},
	{kmsg.UnregisterController, allVersions, whyCluster},
}

// Ledger returns a copy of the ledger, ordered by key.
func Ledger() []Gap { return append([]Gap(nil), ledger[:]...) }
