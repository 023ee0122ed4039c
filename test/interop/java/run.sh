#!/usr/bin/env bash
# Fetches Kafka's own tools from Maven Central and runs the Java tests with them. Needs Java 17 and mvn.
set -euo pipefail
cd "$(dirname "$0")"
libs="${OTTLA_KAFKA_LIBS:-${TMPDIR:-/tmp}/ottla-kafka-libs}"
[ -f "$libs/.complete" ] || { mvn -q -B dependency:copy-dependencies -DoutputDirectory="$libs" && touch "$libs/.complete"; }
cd .. && OTTLA_KAFKA_LIBS="$libs" go test -count 1 -tags java -run Java -v .
