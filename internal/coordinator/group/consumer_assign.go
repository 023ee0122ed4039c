package group

// assign is the target assignment of members, by their order.
func (ch *consumerChange) assign(members []*consumerMember) []partitions {
	targets := make([][]assignedPartition, len(members))
	for _, t := range ch.subscribedTopics() {
		var who []int
		for i, m := range members {
			for _, id := range ch.topicIDs(m) {
				if id == t.ID {
					who = append(who, i)
					break
				}
			}
		}
		for p := range t.Partitions {
			i := who[p%len(who)]
			targets[i] = append(targets[i], assignedPartition{topicPartition{t.ID, int32(p)}, 0})
		}
	}
	out := make([]partitions, len(members))
	for i, t := range targets {
		out[i] = partitionsOf(t, false)
	}
	return out
}
