//go:build java

package interop

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestJavaMissing checks that Kafka's own tools give up at once on transactions and access control lists.
func TestJavaMissing(t *testing.T) {
	addr := startBroker(t)
	has(t, javaTool(t, "", tools+"TopicCommand", "--bootstrap-server", addr, "--create", "--topic", "orders"), "Created topic")
	for want, args := range map[string][]string{
		"TransactionalIdAuthorizationException": {
			"ProducerPerformance", "--topic", "orders", "--num-records", "1", "--record-size", "1", "--throughput", "-1",
			"--bootstrap-server", addr, "--transactional-id", "java",
		},
		"SecurityDisabledException: no authorizer is configured": {"AclCommand", "--bootstrap-server", addr, "--list"},
	} {
		cmd := exec.CommandContext(t.Context(), "java", append([]string{"-cp", os.Getenv("OTTLA_KAFKA_LIBS") + "/*", tools + args[0]}, args[1:]...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, expected %s in\n%s", args[0], err, want, out)
		}
	}
}
