# Ottla's make targets. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X github.com/ottla-io/ottla/internal/cli.version=$(VERSION)
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
CRASH_CYCLES ?= 50000
KILL_CYCLES ?= 100
POWER_CYCLES ?= 60
FUZZTIME ?= 20s
CHURN_TIME ?= 10m
PLATFORMS := linux/386 linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64

.PHONY: help run build test check lint race platforms fuzz crash interop interop-java kgo churn bench go-version clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

go-version:
	@command -v $(GO) >/dev/null || { echo "ottla needs Go 1.26 or newer, and there is no $(GO) on the PATH: see https://go.dev/dl"; exit 1; }
	@v=$$(GOTOOLCHAIN=local $(GO) env GOVERSION); m=$${v#go1.}; m=$${m%%[!0-9]*}; \
	 [ "$${m:-0}" -ge 26 ] || { echo "ottla needs Go 1.26 or newer; this is $$v: see https://go.dev/dl"; exit 1; }

run: build ## one broker with every default: Kafka on 127.0.0.1:9092, HTTP on 127.0.0.1:9644, data in ./ottla-data
	@exec bin/ottla start

build: go-version ## build bin/ottla
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ottla ./cmd/ottla

test: build ## every test that needs only Go and a C compiler, the client suites too
	$(GO) test $$($(GO) list ./... | grep -v /test/hostile)
	$(GO) test -count 1 ./test/hostile
	cd test/interop && $(GO) test -count 1 ./...

check: go-version ## format, vet, the repository's own rules, fast tests (before every commit)
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt -w these: $$out"; exit 1; }
	$(GO) vet ./...
	$(GO) test ./internal/lint
	$(GO) test -short ./...

lint: go-version ## golangci-lint with .golangci.yml (downloads and builds it)
	$(GO) run $(GOLANGCI) run ./...

race: ## the unit tests with the race detector
	$(GO) test -race -short ./...

platforms: go-version ## vet the code and its tests for other platforms; run the tests of everything that parses and stores as 32-bit code
	@for p in $(PLATFORMS); do echo "vet $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./... || exit 1; done
	@[ "$$($(GO) env GOHOSTOS)/$$($(GO) env GOHOSTARCH)" != linux/amd64 ] || CGO_ENABLED=0 GOARCH=386 $(GO) test -short ./internal/protocol/... ./internal/storage/... ./internal/partition/... ./internal/coordinator/... ./internal/api/...

fuzz: ## each fuzz target for FUZZTIME (20s)
	@test/fuzz.sh $(FUZZTIME)

crash: build ## crash-and-recover cycles: in memory (CRASH_CYCLES), kill -9 (KILL_CYCLES), power cuts on FUSE (POWER_CYCLES; Linux, root)
	OTTLA_CRASH_CYCLES=$(CRASH_CYCLES) $(GO) test -count 1 -v -run Crash -timeout 60m ./internal/storage/... ./internal/partition/... ./internal/broker/...
	cd test/crash && OTTLA_KILL_CYCLES=$(KILL_CYCLES) OTTLA_POWER_CYCLES=$(POWER_CYCLES) $(GO) test -count 1 -timeout 60m -v .

interop: build ## other people's clients against the real binary
	cd test/interop && $(GO) test -count 1 -v ./...

interop-java: build ## Kafka's own console tools and dump tool, from Maven Central (needs Java 17 and mvn)
	test/interop/java/run.sh

kgo: build ## the franz-go client's own test suite against a broker
	test/interop/kgo/run.sh

churn: build ## members of groups of many clients that come, go and die, for CHURN_TIME (10m) each
	cd test/interop && INTEROP_CHURN=$(CHURN_TIME) $(GO) test -count 1 -timeout 3h -run TestGroupChurn -v .

bench: build ## figures beside the floor of this machine, in one run
	$(GO) run ./test/bench

clean: ## remove what was built
	rm -rf bin
