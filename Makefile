# Copyright The krmfn Authors
# SPDX-License-Identifier: Apache-2.0

# Every module of this repository; which commands make up krmfn; what images are built for.
MODULES  := proto services services/images/credentials functions wrapper-server function-runner pod-janitor image-warmer task-handler krmfn e2e tools tools/release
COMMANDS := function-runner wrapper-server pod-janitor image-warmer task-handler krmfn functions/cmd/functions
ARCHES   ?= amd64 arm64

REGISTRY ?= ghcr.io/krmfn
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 10s
FUZZ     ?=
COUNT    ?= 1
BENCHTIME ?= 4s

# Where Debian and its like keep the certificates that images trust; images are built without where there are none.
CA_BUNDLE ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)

# Modules are built as their go.mod files say, not as go.work mixes them: so do those who import them.
export GOWORK := off

# Tools run by way of go tool, at the versions that tools/go.mod and tools/lint/go.mod pin.
TOOL     := go -C tools tool
LINTER   := go tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint

# Static, stripped, the same bytes wherever they are built; and without the trace pages of gRPC, which nobody serves and
# which would bring an HTML template engine into every function pod.
LDFLAGS  := -s -w -X github.com/krmfn/krmfn/services/server/version.release=$(VERSION)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -tags grpcnotrace

# The race detector needs a C compiler, which building krmfn does not.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Picks the packages that have tests; go test says of each other one that it has none.
TESTED := {{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}

# The modules that make tidy brings up to date, and its files.
TIDIED := $(MODULES) tools/lint tools/workflows
MODULE_FILES := go.work go.work.sum $(foreach m,$(TIDIED),$(m)/go.mod $(m)/go.sum)

# The packages that go.work joins.
WORKSPACE := $(patsubst %,./%/...,$(filter-out tools%,$(MODULES)))

# The source of the validation rules that proto/ imports: the release that matches the Go module in proto/go.mod.
PROTOVALIDATE := github.com/bufbuild/protovalidate@v1.2.2

# What go:generate lines write.
SCHEMAS := functions/kubeconform/schemas/kubernetes.tsv
CHART_SCHEMAS := e2e/chart/testdata/kubernetes

.DEFAULT_GOAL := help

##@ Use

.PHONY: help demo build images $(COMMANDS:%=build/%) build/functions-light $(ARCHES:%=build-linux/%)
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## Render an example package through a function runner, on this machine
	@go -C e2e run ./cmd/demo --bin $(CURDIR)/bin

build: $(COMMANDS:%=build/%) build/functions-light ## Build all commands into bin/
$(COMMANDS:%=build/%): build/%:
	@echo "build $(@F)"
	@cd $* && $(GO_BUILD) -o $(CURDIR)/bin/ .

# The functions once more, without those whose libraries take long to start.
build/functions-light:
	@echo "build $(@F)"
	@cd functions/cmd/functions && $(GO_BUILD),light -o $(CURDIR)/bin/$(@F) .

images: $(ARCHES:%=build-linux/%) ## Build the container images into build/images/, without Docker
	@go -C tools/release run ./cmd/images --binaries $(CURDIR)/build/linux --out $(CURDIR)/build/images \
		--registry $(REGISTRY) --version $(VERSION) --ca-bundle "$(CA_BUNDLE)" $(ARCHES)
$(ARCHES:%=build-linux/%): build-linux/%:
	@for c in $(COMMANDS); do \
		echo "build $$c for linux/$*"; \
		(cd $$c && GOOS=linux GOARCH=$* $(GO_BUILD) -o $(CURDIR)/build/linux/$*/ .) || exit 1; \
	done
	@cd functions/cmd/functions && GOOS=linux GOARCH=$* $(GO_BUILD),light -o $(CURDIR)/build/linux/$*/functions-light .

##@ Check

.PHONY: test bench bench-go fuzz fuzz-targets lint lint-proto lint-generated lint-workspace lint-chart lint-workflows $(MODULES:%=test/%) $(MODULES:%=lint/%)
test: $(MODULES:%=test/%) ## Test all modules, with the race detector (one module: make test/services)
	$(if $(RACE),,@echo "There is no C compiler here, so the race detector did not run.")
$(MODULES:%=test/%): test/%:
	@echo "test $*"
	@go -C $* test $(RACE) $$(go -C $* list -f '$(TESTED)' ./...)

bench: build/function-runner build/krmfn build/functions-light ## Measure calls and renders on this machine beside bare processes; the report is in build/bench
	@go -C e2e run ./bench/local --bin $(CURDIR)/bin --out $(CURDIR)/build/bench

bench-go: ## Run the Go benchmarks COUNT times, each for BENCHTIME; BASE=file compares with an earlier build/bench.txt
	@mkdir -p build
	@for m in $(MODULES); do \
		echo "bench $$m" >&2; \
		go -C $$m test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./... || exit 1; \
	done >build/bench.txt || { cat build/bench.txt; exit 1; }
	@$(TOOL) benchstat $(abspath $(BASE)) $(CURDIR)/build/bench.txt

fuzz: ## Run every fuzz target for FUZZTIME, and print how many inputs each ran (some: FUZZ=regexp)
	@go -C tools run ./cmd/fuzz -root $(CURDIR) -time $(FUZZTIME) -match '$(FUZZ)' $(MODULES)
fuzz-targets: # for the workflow that fuzzes
	@go -C tools run ./cmd/fuzz -root $(CURDIR) -list -match '$(FUZZ)' $(MODULES)

lint: lint-proto lint-generated lint-workspace lint-chart lint-workflows $(MODULES:%=lint/%) ## Check code, formats, contract, chart, workflows, generated files, go.mod files
$(MODULES:%=lint/%): lint/%:
	go -C $* build -o /dev/null ./...
	cd $* && $(LINTER) run ./...

lint-workspace: # all modules at once, as each has a part in the others' versions
	@mkdir -p build && cat $(MODULE_FILES) >build/modules.txt
	$(MAKE) --no-print-directory tidy
	GOWORK= go build -o /dev/null $(WORKSPACE)
	@cat $(MODULE_FILES) | diff build/modules.txt - # if they differ, the files are up to date now
	GOOS=darwin CGO_ENABLED=0 go -C krmfn build -o /dev/null . # the command is for other machines, too

lint-chart:
	go -C e2e tool helm lint --strict ../charts/krmfn

lint-workflows:
	go -C tools tool -modfile=$(CURDIR)/tools/workflows/go.mod actionlint

lint-proto: .deps/protovalidate
	$(TOOL) buf lint ../proto
	$(TOOL) buf format --diff --exit-code ../proto
	$(TOOL) buf breaking ../proto --against ../proto/contract.binpb --exclude-imports

lint-generated: .deps/protovalidate
	@rm -rf build/generated
	$(TOOL) buf generate ../proto --template ../buf.gen.yaml -o ../build/generated
	diff -r proto/gen build/generated/proto/gen
	@cp $(SCHEMAS) build/generated/
	@cp -r $(CHART_SCHEMAS) build/generated/
	go -C functions generate ./...
	go -C e2e generate ./chart
	cmp build/generated/$(notdir $(SCHEMAS)) $(SCHEMAS) # if they differ, the latter is up to date now
	diff -r build/generated/$(notdir $(CHART_SCHEMAS)) $(CHART_SCHEMAS) # the same

.PHONY: cluster cluster-down cluster-images e2e bench-e2e
cluster: ## Make a Kubernetes cluster with a registry beside it; build/kubeconfig is for its clients
	@go -C e2e run ./cmd/cluster up

cluster-down: ## Delete the cluster and its registry
	@go -C e2e run ./cmd/cluster down

# All images of this checkout, in the registry of the cluster.
cluster-images: cluster build
	@$(MAKE) --no-print-directory images ARCHES=$(shell go env GOARCH)
	@go -C e2e run ./cmd/cluster load --images $(CURDIR)/build/images --functions $(CURDIR)/bin

e2e: cluster-images ## Run the end-to-end suites on that cluster (suites: LABELS=smoke; specs by name: FOCUS='pods that are idle')
	@go -C e2e test -tags e2e -count 1 -p 1 -timeout 90m -v ./suites/... \
		-ginkgo.label-filter="$(LABELS)" $(if $(FOCUS),-ginkgo.focus="$(FOCUS)")

bench-e2e: cluster-images ## Measure function pods on that cluster beside bare processes; the report is in build/bench-e2e
	@go -C e2e run ./bench/cluster --bin $(CURDIR)/bin --out $(CURDIR)/build/bench-e2e

##@ Change

.PHONY: generate contract picture performance fmt tidy clean
generate: .deps/protovalidate ## Generate the Go code of proto/, and what go:generate lines say
	$(TOOL) buf generate ../proto --template ../buf.gen.yaml -o ..
	go -C functions generate ./...
	go -C e2e generate ./chart

contract: .deps/protovalidate ## Record proto/ as the released contract that lint compares with; only at a release
	$(TOOL) buf build ../proto --exclude-source-info -o ../proto/contract.binpb

picture: build ## Draw docs/demo.svg anew
	@go -C e2e run ./cmd/demopicture --bin $(CURDIR)/bin

performance: ## Write docs/performance.md and what the README says of speed from the reports of bench and bench-e2e
	@go -C e2e run ./bench/performance --root $(CURDIR)

fmt: .deps/protovalidate ## Format all code
	$(TOOL) buf format -w ../proto
	@for m in $(MODULES); do (cd $$m && $(LINTER) fmt) || exit 1; done

tidy: ## Bring the go.mod files up to date, with one version of everything they share
	@go -C tools/release run ./cmd/release require --root $(CURDIR) $(TIDIED)
	@for m in $(TIDIED); do go -C $$m mod tidy || exit 1; done
	@GOWORK= go work sync # needs complete go.mod files, and leaves more in go.sum files than they need
	@for m in $(TIDIED); do go -C $$m mod tidy || exit 1; done
	@GOWORK= go list -m all >/dev/null # completes go.work.sum, as does the next
	@GOWORK= go list -deps -test -tags e2e,cloudkeychains $(WORKSPACE) >/dev/null

clean: ## Delete everything that make has made
	rm -rf bin build .deps

.deps/protovalidate: Makefile
	@rm -rf $@ && mkdir -p $(@D)
	go -C tools mod download $(PROTOVALIDATE)
	cp -R "$$(go env GOMODCACHE)/$(PROTOVALIDATE)/proto/protovalidate" $@
	@chmod -R u+w $@ && touch $@

##@ Release

# RELEASE is the tag in git: vX.Y.Z or NAME/vX.Y.Z, or nothing for that of the chart in versions.yaml, which also says which
# Go makes releases.
release-dry-run publish: export GOTOOLCHAIN = go$(shell sed -n 's/^go: //p' versions.yaml)

.PHONY: release-dry-run publish
release-dry-run: ## Make the release RELEASE in build/release/, with nothing but Go and git
	@go -C tools/release run ./cmd/release build --root $(CURDIR) --out $(CURDIR)/build/release \
		--work $(CURDIR)/build/release-work --tag "$(RELEASE)" --arches "$(ARCHES)" --commands "$(COMMANDS)" -- $(GO_BUILD)

publish: ## Push the release RELEASE from build/release/ to REGISTRY (more flags: PUBLISH_FLAGS)
	@go -C tools/release run ./cmd/release publish --root $(CURDIR) --from $(CURDIR)/build/release \
		--digests $(CURDIR)/build/published.txt --tag "$(RELEASE)" --registry $(REGISTRY) $(PUBLISH_FLAGS)
