#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
for package in $(go list ./...); do
	dir=$(go list -f '{{.Dir}}' "$package")
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9]+' "$dir"/*_test.go 2>/dev/null | awk '{print $2}'); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package"
	done
done
