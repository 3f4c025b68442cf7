# What can be made. GOFLAGS is the same for every target, so that all of them share
# one build cache; what the machine sets (go env -w) stays in force.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 20s
ROUNDS   ?= 20
# How bad make chaos is.
KILLS     ?= 100
ENGINE    ?= table
RUNS      ?= $(if $(filter temporal,$(ENGINE)),1500,20000)
PROCESSES ?= 3
MINUTES   ?= 10
# What make hostile gives the gateway, how many deliveries make hooks sends of each sender, and where it keeps things (sqlite, postgres).
MEMORY ?= 512MiB
DELIVERIES ?= 1000
STORE  ?= sqlite
# What a release leaves out: formats that Gin knows and the API does not speak, and a
# debugging page of gRPC. It saves 7 MB.
TAGS     := nomsgpack,grpcnotrace
TOOL     := go tool -modfile=deploy/tools/go.mod
LINT     := $(TOOL) golangci-lint
TYPESCRIPT := adapters/httpapi/client/typescript
CONSOLE  := adapters/console/web
NODE     := $(shell command -v npm 2>/dev/null)
# SQLite is C that was made into Go: to check its pointers doubles the time, and finds no race.
NOCHECKPTR := -gcflags=modernc.org/sqlite/lib=-d=checkptr=0
# What sends one request after another has nothing to race for either; nor do many processes of one test with each
# other, nor what reads the sources.
NORACE   := -skip '^(TestGoldens|TestRenderedRegistriesAreBounded|TestPublishing|FuzzCreateTrigger|TestImportsFollowTheHouse|TestEveryPackageSaysWhatItIs|TestFilesAndFunctionsStaySmall|TestOutboundPortsStayNarrow|TestUseCasesReadNoAggregatesState|TestAfterAnyOutageTheLedgerIsComplete|TestEachLocalDayStartsOneRunOfAFixedTime|TestTwoVersionsRunNextToEachOther|TestRunsOfEveryShapeSurviveTheUpgrade|TestARollingUpgradeLosesNoRequest|TestCodeFromItsPublicationToTheOutputOfARun|TestTheWalkThroughTheREADMEHonoursTheAnswer|TestTheWalkFromAStripeEventCallsTheAPIOnce|TestTheWalkWithATokenReachesOneCompany|TestTheLinkerLeavesOutWhatNothingCalls|TestThirtyProcessesOfTheirOwnRefreshOnce|TestNoDumpAndNoLogOfPostgreSQLHoldsASecret|TestNoFileOfASQLiteDatabaseHoldsASecret)$$'
# How many packages are tested at the same time: one more than there are processors, since some of them mostly wait.
PACKAGES := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# How tests are run on a Temporal server.
ON_TEMPORAL := go run ./deploy/temporalserver go test -timeout 14m -vet=off -tags $(TAGS),temporal
# Tests in which clients of the API start runs that workers move on: with an engine within the process, and with Temporal.
RUNS_OVER_HTTP := ./adapters/httpapi ./adapters/httpapi/client ./cmd/sluice -run '^(TestAStreamShowsARunWhileItContinues|TestANumberIsKeptToItsLastDigit|TestARunFromItsCallToItsEnd|TestRunsOfEachKindEndAsAClientOfTheAPIExpects|TestEachTemplateIsPublishedWithoutAWarningAndRunsToItsEnd|TestCodeFromItsPublicationToTheOutputOfARun|TestTheWalkThroughTheREADMEHonoursTheAnswer)$$'
# Packages that share state between goroutines; the others have nothing to race for. What both databases have in common
# is tried on PostgreSQL, where units run at the same time.
RACE     := ./adapters/budget ./adapters/noderunner ./adapters/sandbox ./adapters/httpapi ./adapters/httpapi/client ./adapters/httpapi/exchange ./adapters/httpapi/jsonread ./adapters/httpserver ./adapters/limiter/... ./adapters/sqlstore ./adapters/sqlstore/core ./adapters/sqlstore/runs ./adapters/sqlstore/webhooks ./adapters/sqlstore/postgres ./adapters/system/... ./adapters/expression/... ./application/... ./cmd/... ./domain/trigger/... ./deploy/rolling

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Start the gateway on an embedded database, with a demo tenant and a first request to paste
	@bin/sluice dev

.PHONY: build
build: ## Build bin/sluice, one static binary
	CGO_ENABLED=0 go build -tags $(TAGS) -ldflags '-s -w -X main.version=$(VERSION)' -o bin/sluice ./cmd/sluice

.PHONY: test
test: ## Run all tests, without go vet, which is part of lint; fetches a real PostgreSQL where there is none
	go test -timeout 20m -vet=off -p $(PACKAGES) ./...
	SLUICE_TEST_STORE=postgres go test -vet=off ./adapters/httpapi
	SLUICE_TEST_ENGINE=relay go test -vet=off -tags relay $(RUNS_OVER_HTTP)
	@echo "all tests passed"

.PHONY: temporal
temporal: ## Run tests of runs on a Temporal server, and kill one; the first time this builds the server, which takes minutes
	$(ON_TEMPORAL) $(RUNS_OVER_HTTP)
	$(ON_TEMPORAL) -parallel 1 ./adapters/temporal ./application/worker
	$(ON_TEMPORAL) ./deploy/chaos -run '^TestNothingIsLostInASmallRoundWithTemporal$$'

.PHONY: race
race: ## Run the tests of concurrent packages under the race detector (needs a C compiler)
	go test -timeout 20m -p $(PACKAGES) -race -short -vet=off $(NOCHECKPTR) $(NORACE) $(RACE)

.PHONY: fmt
fmt: ## Format the code
	$(LINT) fmt ./...

.PHONY: vet
vet: ## Run go vet alone, which is quick; lint runs it too
	go vet ./...

.PHONY: lint
lint: ## Check format and code; the first time this builds the linter, which takes minutes
	$(LINT) fmt --diff ./...
	$(LINT) run ./...
	go vet -tags $(TAGS),noaccounting ./cmd/sluice # the bench builds with this tag

.PHONY: tidy-check
tidy-check: ## Check that go.mod holds what is needed and nothing else
	go mod tidy -diff
	cd deploy/tools && go mod tidy -diff
	cd deploy/helm && go mod tidy -diff
	cd deploy/tools/temporal && go mod tidy -diff

.PHONY: chart
chart: ## Lint and render the Helm chart, and hold it to what Kubernetes takes
	cd deploy/helm && go vet . && go test .

.PHONY: wire
wire: ## Write the object graph anew
	go tool wire ./cmd/...

.PHONY: wire-check
wire-check: ## Check that the object graph is the one that is described
	go tool wire diff ./cmd/...

deploy/npm/node_modules: deploy/npm/package-lock.json
	cd deploy/npm && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

deploy/browser/node_modules: deploy/browser/package-lock.json
	cd deploy/browser && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

.PHONY: e2e
e2e: deploy/browser/node_modules $(CONSOLE)/node_modules ## Drive the console, pages for answers and answers to hooks in a real browser (needs Node; installs Chromium on Debian)
	@command -v chromium chromium-browser google-chrome >/dev/null || deploy/browser/install-chromium
	SLUICE_TEST_BROWSER=1 go test -count=1 -v -timeout 20m ./deploy/browser

.PHONY: pictures
pictures: deploy/browser/node_modules ## Take the pictures of the console that README shows
	SLUICE_TEST_BROWSER=1 SLUICE_STORY=tour SLUICE_PICTURES=$(CURDIR)/deploy/browser/pictures go test -count=1 -run '^TestTheConsoleInABrowser$$/^SQLite$$' ./deploy/browser

.PHONY: sequences
sequences: deploy/browser/node_modules ## Write what each story of the console showed, picture by picture, into bin/sequences (STORY=part of a name)
	SLUICE_TEST_BROWSER=1 SLUICE_STORY=$(STORY) SLUICE_SEQUENCES=$(CURDIR)/bin/sequences go test -count=1 -v -timeout 20m -run '^TestTheConsoleInABrowser$$/^SQLite$$' ./deploy/browser

$(CONSOLE)/node_modules: $(CONSOLE)/package-lock.json
	cd $(CONSOLE) && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

$(CONSOLE)/src/api/gateway.gen.ts: $(CONSOLE)/node_modules adapters/httpapi/openapi/openapi.yaml adapters/httpapi/console/openapi.yaml
	cd $(CONSOLE) && npm run --silent types

.PHONY: console
console: $(CONSOLE)/src/api/gateway.gen.ts ## Build the console's pages into adapters/console/dist (needs Node)
	cd $(CONSOLE) && npm run --silent build

.PHONY: console-dev
console-dev: $(CONSOLE)/src/api/gateway.gen.ts ## Serve the console's pages with hot reload at :5173, against the gateway that make run started (SLUICE_BASE_URL)
	cd $(CONSOLE) && npm run --silent dev

.PHONY: console-check
console-check: $(CONSOLE)/src/api/gateway.gen.ts ## Check the console's code and translations, and that dist is what they build into (needs Node)
	cd $(CONSOLE) && npm run --silent check && npm run --silent compare

.PHONY: openapi-lint
openapi-lint: deploy/npm/node_modules ## Check the description of the API (needs Node)
	cd adapters/httpapi/openapi && ../../../deploy/npm/node_modules/.bin/redocly lint openapi.yaml

# Operations lose the prefix and the version of their names, which are publicworkflows_getWorkflow_v1 in the description.
.PHONY: client
client: ## Generate the Go client from the description of the API
	sed -E 's/(operationId: )[a-z]+_([A-Za-z]+)_v1$$/\1\2/' adapters/httpapi/openapi/openapi.yaml | $(TOOL) oapi-codegen -config deploy/tools/goclient/config.yaml /dev/stdin

.PHONY: client-check
client-check: client ## Check that the Go client is that of the description
	git diff --exit-code --stat -- adapters/httpapi/client/client_gen.go

$(TYPESCRIPT)/node_modules: $(TYPESCRIPT)/package-lock.json
	cd $(TYPESCRIPT) && npm ci --loglevel=error --no-audit --no-fund
	@touch $@

.PHONY: client-npm
client-npm: $(TYPESCRIPT)/node_modules ## Build the TypeScript client, and pack it into bin (needs Node)
	mkdir -p bin
	cd $(TYPESCRIPT) && npm run build && npm pack --pack-destination $(CURDIR)/bin

.PHONY: client-npm-check
client-npm-check: build client-npm ## Check that the TypeScript client works (needs Node)
	cd $(TYPESCRIPT) && npm test

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (20s)
	@set -e; packages=$$(go list ./...); for package in $$packages; do \
		found=$$(go test -list '^Fuzz' $$package); \
		for target in $$(echo "$$found" | grep '^Fuzz'); do \
			echo "== $$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done
	@echo "all fuzz tests passed"

.PHONY: bench
bench: ## Measure the hot paths against a baseline in the same run (installs wrk and PostgreSQL on Debian)
	go run ./deploy/bench

.PHONY: size
size: ## Print how many hand-written lines each package has, and how long functions are
	@go run ./deploy/size

.PHONY: rolling
rolling: ## Restart gateways behind a balancer under load, ROUNDS times, and print the ledger
	go test ./cmd/sluice -run '^TestARollingRestartLosesNoRequest$$' -count=1 -v -rolling-rounds $(ROUNDS)

.PHONY: chaos
chaos: ## Kill, freeze and cut gateways off under load (ENGINE, KILLS, RUNS, PROCESSES, MINUTES, SEED), and print what was lost
	go run ./deploy/chaos -engine $(ENGINE) -kills $(KILLS) -runs $(RUNS) -processes $(PROCESSES) -minutes $(MINUTES) $(if $(SEED),-seed $(SEED))

.PHONY: hostile
hostile: ## Let a tenant misuse a gateway beside honest ones (MEMORY, MINUTES, STORE, SEED, ATTACK), and print what became of them
	go run ./deploy/chaos hostile -memory $(MEMORY) -minutes $(MINUTES) -store $(STORE) $(if $(SEED),-seed $(SEED)) $(if $(ATTACK),-attack $(ATTACK))

.PHONY: examples
examples: build ## Run the example services against the gateway, and print what happened (needs Node)
	go test ./deploy/examples -count=1 -v -binary $(CURDIR)/bin/sluice

.PHONY: deliveries
deliveries: ## Bring 10,000 webhooks to receivers that fail at random, through a gateway that is killed, and print the ledger
	go test ./cmd/sluice -run '^TestEveryDeliveryArrivesAlthoughTheGatewayIsKilledAndReceiversFail$$' -count=1 -v -timeout 30m -deliveries 10000 -deliveries-within 10m

.PHONY: hooks
hooks: ## Send a gateway that is killed what every preset's sender sends (DELIVERIES of each, STORE), and as much altered, and print the ledger
	go run ./deploy/hooks -deliveries $(DELIVERIES) -store $(STORE)

.PHONY: image-check
image-check: build ## Build the container image and try it (installs buildah on Debian; says so where it cannot)
	deploy/image-check

# The parts that need Node are left out where there is none, and the last line says so.
.PHONY: ci
ci: tidy-check wire-check client-check lint chart test race build $(if $(NODE),openapi-lint client-npm-check console-check e2e) ## Run everything that must pass
ifdef NODE
	@echo "ci passed"
else
	@echo "########################################################################"
	@echo "## SKIPPED, because there is no Node (npm) here: openapi-lint, client-npm-check, console-check, e2e."
	@echo "## What the API description says was NOT checked by Redocly, nor was the"
	@echo "## TypeScript client, nor the console. Install Node 20 or later and run:"
	@echo "## make openapi-lint client-npm-check console-check e2e"
	@echo "########################################################################"
	@echo "ci passed, except for what was skipped"
endif

.PHONY: clean
clean: ## Remove what was built, and the embedded database of make run
	rm -rf bin data deploy/npm/node_modules deploy/browser/node_modules $(CONSOLE)/node_modules $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist
