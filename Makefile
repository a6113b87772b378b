# Sluice. `make help` lists what there is. Go 1.26 or newer is enough to begin
# with: the toolchain that is built with is fetched by Go itself.
export GOTOOLCHAIN := go1.27.3
export CGO_ENABLED ?= 0
GO ?= go
BIN := bin

.DEFAULT_GOAL := help
.PHONY: help
help: ## say what the targets do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binary, bin/sluice
	$(GO) build -trimpath -ldflags '-s -w' -o $(BIN)/sluice ./cmd/sluice

.PHONY: run
run: build ## run the demo: the gateway before four simulated replicas
	$(BIN)/sluice demo

.PHONY: test
test: ## run the tests; needs Go alone, under 3 minutes
	$(GO) vet ./...
	$(GO) test ./...

.PHONY: race
race: ## run the tests under the race detector; needs gcc
	CGO_ENABLED=1 $(GO) test -race $$($(GO) list ./... | grep -v /router)
	CGO_ENABLED=1 $(GO) test -race -short ./router/... # no goroutine of its own: fewer schedules will do

FUZZTIME ?= 20s
.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (20s)
	./.ci/fuzz.sh $(FUZZTIME)

SOAK ?= 10m
.PHONY: soak
soak: ## run the gateway under load and faults for SOAK (10m, at most 1h) and print figures
	$(GO) test ./gateway/field -run '^TestSoak$$' -count=1 -v -timeout 75m -soak $(SOAK)

.PHONY: storm
storm: ## cancel 20,000 streams beside clean ones, under the race detector; needs gcc
	CGO_ENABLED=1 $(GO) test -race ./gateway/field -run '^TestStormOfCancels$$' -count=1 -v -storm 20000

SEEDS ?= 1000
.PHONY: seeds
seeds: ## play whole gateways in virtual time through SEEDS (1000) schedules of faults
	$(GO) test ./gateway/chaos -run TestSeeds -seeds $(SEEDS) -timeout 48h

.PHONY: mutants
mutants: ## plant bugs, one by one, and print the seed that finds each
	./.ci/mutants.sh

.PHONY: night
night: SEEDS = 100000
night: seeds soak storm ## what takes hours, by hand: 100,000 seeds, or SEEDS of them, a soak, a storm

.PHONY: lint
lint: ## check style and the directions of imports
	./.ci/lint.sh

.PHONY: vulns
vulns: ## check for known vulnerabilities, offline but for the pinned database
	./.ci/vulns.sh

.PHONY: bench
bench: ## compare with nginx and with a bare token walk, in one run
	./.ci/bench.sh

.PHONY: test-clients
test-clients: ## run the official OpenAI clients for Go, Node and Python against the demo
	./.ci/test-clients.sh

.PHONY: check-deploy
check-deploy: ## check the manifests, the rules and the example configuration
	./.ci/check-deploy.sh

.PHONY: test-tokens
test-tokens: ## compare the token counts with a reference, and the estimator with both
	./.ci/test-tokens.sh

.PHONY: test-lab
test-lab: ## judge the router in all of the laboratory's workloads, some minutes; not yet a part of verify
	$(GO) test ./router/lab -run 'Promises|Share|Committed' -all -timeout 30m

.PHONY: test-vllm
test-vllm: ## run the conformance suite and the gateway against a real vLLM on CPU; 3 GB
	./.ci/test-vllm.sh

.PHONY: verify
verify: ## everything CI runs; installs what it needs
	./.ci/verify.sh
