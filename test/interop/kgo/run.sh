#!/usr/bin/env bash
# Runs franz-go's own test suite, from the module cache, against a broker of the binary; tests.txt says what must pass.
# KGO_TEST_RECORDS and KGO_TEST_MAX_TOPIC_PARTS make it larger.
set -euo pipefail
cd "$(dirname "$0")/.."
go test -count 1 -timeout 10m -run '^TestKgo$' -v .
