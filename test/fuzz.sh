#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for package in $(go list ./...); do
	dir=$(go list -f '{{.Dir}}' "$package")
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9]+' "$dir"/*_test.go 2>/dev/null | awk '{print $2}'); do
		if go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package" >"$out" 2>&1; then
			echo "ok $package $target: $(grep -oE 'execs: [0-9]+' "$out" | tail -1)"
			continue
		fi
		# The fuzzing engine sometimes takes the end of its own time for a failure of the target; it found nothing then.
		if grep -q 'context deadline exceeded' "$out" && ! grep -qE 'Failing input|panic|fuzzing process' "$out"; then
			echo "ok $package $target: $(grep -oE 'execs: [0-9]+' "$out" | tail -1) (ended at its time)"
			continue
		fi
		cat "$out"
		echo "FAIL $package $target"
		exit 1
	done
done
