#!/usr/bin/env bash
# Fetches Kafka's own tools from Maven Central and runs the Java tests with them. Needs Java 17 and mvn.
set -euo pipefail
cd "$(dirname "$0")"
libs="${OTTLA_KAFKA_LIBS:-${TMPDIR:-/tmp}/ottla-kafka-libs}"
libs39="${OTTLA_KAFKA39_LIBS:-${TMPDIR:-/tmp}/ottla-kafka39-libs}"
fetch() { # DIRECTORY [mvn options]
  [ -f "$1/.complete" ] || { mvn -q -B dependency:copy-dependencies -DoutputDirectory="$@" && touch "$1/.complete"; }
}
fetch "$libs"
fetch "$libs39" -Dkafka.version=3.9.1 -DexcludeArtifactIds=slf4j-reload4j,reload4j # for directories of the last Kafka before 4
cd .. && OTTLA_KAFKA_LIBS="$libs" OTTLA_KAFKA39_LIBS="$libs39" go test -count 1 -tags java -run "${1:-Java}" -v .
