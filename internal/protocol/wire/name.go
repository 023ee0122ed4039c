package wire

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafkaNames turns kmsg's names into those of Kafka's ApiMessageType.
var kafkaNames = strings.NewReplacer("SASL", "Sasl", "ACLs", "Acls", "SCRAM", "Scram", "ISR", "Isr",
	"ProducerID", "ProducerId", "PartitionAssignments", "PartitionReassignments")

// Name is Kafka's name of an API, such as InitProducerId. It allocates: keep it where it is needed often.
func Name(key kmsg.Key) string {
	if key < 0 || key > kmsg.MaxKey {
		return fmt.Sprintf("Unknown(%d)", key)
	}
	return kafkaNames.Replace(key.Name())
}
