package config

import (
	"regexp"
	"slices"
	"strings"
)

// EnvName is the variable that sets key, by the rule of Kafka's container image: upper case, and '.' becomes '_', '_' becomes
// '__', '-' becomes '___'. The prefix is KAFKA_ or OTTLA_.
func EnvName(prefix, key string) string {
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "_", "__", "-", "___").Replace(key))
}

// envKey undoes EnvName as the image does (KafkaDockerWrapper.getServerConfigsFromEnv).
func envKey(name string) string {
	return strings.NewReplacer("___", "-", "__", "_", "_", ".").Replace(strings.ToLower(name))
}

// notSettings are variables that start like settings and are none: the image's own, and our command line's.
var notSettings = []string{
	"KAFKA_VERSION", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JMX_OPTS",
	"KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL", "KAFKA_LOG4J_LOGGERS",
	"KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_JMX_HOSTNAME", "KAFKA_JMX_PORT", "KAFKA_HOME", "KAFKA_CLUSTER_ID", "KAFKA_DEBUG",
	"KAFKA_BOOTSTRAP_SERVERS", "KAFKA_BROKERS", "OTTLA_BROKERS",
}

// serviceVariable matches what Kubernetes sets in every pod beside a service that is called kafka or ottla.
var serviceVariable = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT|PORT_\d+_(TCP|UDP)(_.*)?)$`)

// parseEnv reads the settings in environ ("NAME=text").
func parseEnv(environ []string) []assignment {
	var all []assignment
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		if slices.Contains(notSettings, name) || serviceVariable.MatchString(name) {
			continue
		}
		if key, ok := strings.CutPrefix(name, "OTTLA_"); ok {
			all = append(all, assignment{envKey(key), strings.TrimSpace(text), name, rankOttla})
		} else if key, ok := strings.CutPrefix(name, "KAFKA_"); ok {
			all = append(all, assignment{envKey(key), strings.TrimSpace(text), name, rankKafka})
		}
	}
	slices.SortFunc(all, func(a, b assignment) int { return strings.Compare(a.place, b.place) })
	return all
}
