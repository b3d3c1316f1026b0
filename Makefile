# Copyright The krmfn Authors
# SPDX-License-Identifier: Apache-2.0

# All Go modules of this repository, the commands to build, and the architectures to build images for.
MODULES  := proto . internal/providers functions wrapper-server function-runner pod-janitor image-warmer task-handler krmfn e2e tools
COMMANDS := function-runner wrapper-server pod-janitor image-warmer task-handler krmfn functions/cmd/functions
PROGRAMS := $(notdir $(COMMANDS)) functions-light
ARCHES   ?= amd64 arm64
HOST     := $(shell go env GOOS)/$(shell go env GOARCH)

REGISTRY ?= ghcr.io/krmfn
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 10s
KUBERNETES ?=
FUZZ     ?=
MUTATION ?=
ATTEMPTS ?= 1
PROCS    ?= 4
N        ?= 20
BUSY     ?= 2
COUNT    ?= 1
BENCHTIME ?= 4s
BENCH_FLAGS ?=
REPORTS  ?= e2e/bench/reports
SINCE    ?=

# The certificate bundle for images, at its path on Debian. If the file does not exist, images have no bundle.
CA_BUNDLE ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)

# Build each module with the versions in its go.mod, like its importers, and not with the versions in go.work.
export GOWORK := off

# The race detector needs a C compiler. krmfn does not.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Compile programs, tests and tools with the same flags, so that all targets and checkouts share the build cache. The tag grpcnotrace excludes
# gRPC's trace pages, which would add an HTML template engine to every function pod.
export CGO_ENABLED := 0
export GOFLAGS += -trimpath -buildvcs=false -tags=grpcnotrace

# The tools whose versions are in tools/go.mod.
TOOL := go -C tools tool

# The tools that go run builds with the versions in their own go.mod files. The requirements of these tools conflict with each other and with
# krmfn's, and the versions of its libraries affect what golangci-lint finds. Dependabot does not update them: make outdated prints the newest
# versions.
PINNED := github.com/golangci/golangci-lint/v2@v2.15.0 github.com/gohugoio/hugo@v0.160.1 helm.sh/helm/v4@v4.3.1 \
	github.com/rhysd/actionlint@v1.7.12 golang.org/x/vuln@v1.8.0
pinned = $(1)$(2)@$(lastword $(subst @, ,$(filter $(1)@%,$(PINNED))))

# The module cache is the first proxy, so that go run needs no network once it has downloaded a tool.
GO_RUN    := GOPROXY=file://$(shell go env GOMODCACHE)/cache/download,$(shell go env GOPROXY) go run
LINTER    := $(GO_RUN) $(call pinned,github.com/golangci/golangci-lint/v2,/cmd/golangci-lint)
HUGO      := $(GO_RUN) $(call pinned,github.com/gohugoio/hugo)
ACTIONLINT := $(GO_RUN) $(call pinned,github.com/rhysd/actionlint,/cmd/actionlint)
VULNCHECK := $(GO_RUN) $(call pinned,golang.org/x/vuln,/cmd/govulncheck)
HELM4     := $(GO_RUN) $(call pinned,helm.sh/helm/v4,/cmd/helm)

# A command substitution for the path of Helm 4 in the build cache. The first command builds it.
HELM4_PATH = $$($(HELM4) version >/dev/null && $(subst go run,go run -exec echo,$(HELM4)))

# Runs the end-to-end suites in PROCS processes. Each process has its own installation in the cluster.
GINKGO = HELM4=$(HELM4_PATH) go -C e2e tool ginkgo run --tags e2e,grpcnotrace --procs="$(PROCS)" --fail-on-empty --poll-progress-after=3m $(if $(CI),--no-color) --label-filter="$(LABELS)" $(if $(FOCUS),--focus="$(FOCUS)")

# Static, stripped and reproducible binaries.
LDFLAGS  := -s -w -X github.com/krmfn/krmfn/internal/server/version.release=$(VERSION)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(LDFLAGS)" -tags grpcnotrace

# The commit that benchmarks measure. Changed reports do not count as changes, because each benchmark writes one.
MEASURED = $(shell git rev-parse --short HEAD; git diff --quiet HEAD -- ':!e2e/bench/reports' || echo and uncommitted changes)

# The modules with concurrent code. Their tests run with the race detector, for which Go compiles all dependencies again.
RACE_MODULES := . internal/providers wrapper-server function-runner pod-janitor image-warmer task-handler krmfn

# Selects the packages that have tests, because go test prints a line for each package without tests.
TESTED := {{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}

# The files that make tidy updates, and the packages that go.work joins.
MODULE_FILES := go.work go.work.sum $(foreach m,$(MODULES),$(m)/go.mod $(m)/go.sum)
WORKSPACE := $(patsubst %,./%/...,$(filter-out tools,$(MODULES)))

# The source of the validation rules that proto/ imports: the release that matches the Go module in proto/go.mod.
PROTOVALIDATE := github.com/bufbuild/protovalidate@v1.2.2

# Files that go:generate directives write.
SCHEMAS := functions/kubeconform/schemas/kubernetes.tsv
CHART_SCHEMAS := e2e/chart/testdata/kubernetes

.DEFAULT_GOAL := help

##@ Use

.PHONY: help demo build images $(COMMANDS:%=build/%) build/functions-light $(ARCHES:%=build-linux/%)
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build/krmfn build/function-runner build/functions/cmd/functions ## Render an example package with a function runner on this machine
	@go -C e2e build -o $(CURDIR)/build/ ./cmd/demo && build/demo --bin bin

build: $(COMMANDS:%=build/%) build/functions-light ## Build all commands into bin/
$(COMMANDS:%=build/%): build/%:
	@echo "build $(@F)"
	@cd $* && $(GO_BUILD) -o $(CURDIR)/bin/ .

# The second executable of the curated functions excludes functions whose libraries start slowly.
build/functions-light:
	@echo "build $(@F)"
	@cd functions/cmd/functions && $(GO_BUILD),light -o $(CURDIR)/bin/$(@F) .

images: $(ARCHES:%=build-linux/%) ## Build the container images into build/images/, without Docker
	@go -C tools run ./release/cmd/images --binaries $(CURDIR)/build/linux --out $(CURDIR)/build/images \
		--registry $(REGISTRY) --version $(VERSION) --ca-bundle "$(CA_BUNDLE)" $(ARCHES)
# bin has the programs for this machine. Linking them again would take a minute.
$(ARCHES:%=build-linux/%): build-linux/%:
	@mkdir -p build/linux/$*
	@$(if $(filter linux/$*,$(HOST)),$(MAKE) --no-print-directory build && cp $(PROGRAMS:%=bin/%) build/linux/$*/,$(call cross-build,$*))

define cross-build
for c in $(COMMANDS); do \
	echo "build $$c for linux/$(1)"; \
	(cd $$c && GOOS=linux GOARCH=$(1) $(GO_BUILD) -o $(CURDIR)/build/linux/$(1)/ .) || exit 1; \
done; \
cd functions/cmd/functions && GOOS=linux GOARCH=$(1) $(GO_BUILD),light -o $(CURDIR)/build/linux/$(1)/functions-light .
endef

##@ Check

.PHONY: test check bench bench-go fuzz fuzz-targets mutate vulncheck lint lint-proto lint-generated lint-workspace lint-chart lint-workflows lint-site $(MODULES:%=test/%) $(MODULES:%=lint/%)
test: ## Test all modules, with the race detector for concurrent code (one module: make test/krmfn; services and internal: make test/.)
	@$(MAKE) --no-print-directory -j 2 $(MODULES:%=test/%) # the last tests of a module would leave a CPU idle
	$(if $(RACE),,@echo "The race detector did not run, because there is no C compiler.")
$(RACE_MODULES:%=test/%): export CGO_ENABLED := $(if $(RACE),1,0)
$(RACE_MODULES:%=test/%): DETECT := $(RACE)
# Do not reuse results, because the go command does not detect changes of docs, charts, examples and programs that tests read. Do not vet,
# because make lint does.
$(MODULES:%=test/%): test/%:
	@echo "test $*"
	@go -C $* test -count 1 -vet off $(DETECT) $$(go -C $* list -f '$(TESTED)' ./...)

check: ## Test and lint the modules that depend on files that differ from main (from another commit: SINCE=HEAD~1)
	@targets=$$(go -C tools run ./cmd/affected -root $(CURDIR) -since '$(SINCE)' $(MODULES)) || exit 1; \
	if [ -n "$$targets" ]; then echo "make $$targets"; $(MAKE) --no-print-directory $$targets; else echo "There is nothing to check."; fi

bench: build/function-runner build/krmfn build/functions-light ## Measure executables, renders and memory on this machine for REPORTS (10 minutes; fewer: BENCH_FLAGS='--rounds 1')
	@go -C e2e run ./bench/local --bin $(CURDIR)/bin --out $(abspath $(REPORTS))/local.json --commit "$(MEASURED)" $(BENCH_FLAGS)

bench-go: ## Run the Go benchmarks COUNT times, each for BENCHTIME; BASE=file compares with an earlier build/bench.txt
	@mkdir -p build
	@for m in $(MODULES); do \
		echo "bench $$m" >&2; \
		go -C $$m test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(COUNT) ./... || exit 1; \
	done >build/bench.txt || { cat build/bench.txt; exit 1; }
	@$(TOOL) benchstat $(abspath $(BASE)) $(CURDIR)/build/bench.txt

fuzz: ## Run every fuzz target for FUZZTIME, and print the number of inputs of each (selected targets: FUZZ=regexp)
	@go -C tools run ./cmd/fuzz -root $(CURDIR) -time $(FUZZTIME) -match '$(FUZZ)' $(MODULES)
fuzz-targets: # for the fuzzing workflow
	@go -C tools run ./cmd/fuzz -root $(CURDIR) -list -match '$(FUZZ)' $(MODULES)

mutate: ## Break the core in one place at a time, and expect its tests to fail (selected mutations: MUTATION=regexp)
	@go -C tools run ./cmd/mutate -root $(CURDIR) -match '$(MUTATION)'

lint: lint-proto lint-generated lint-workspace lint-chart lint-workflows lint-site $(MODULES:%=lint/%) ## Lint code, protos, chart and workflows; check formats, generated files, go.mod files and docs
$(MODULES:%=lint/%): lint/%:
	cd $* && $(LINTER) run ./...

lint-workspace: # all modules at once, because each affects the versions of the others
	@mkdir -p build && cat $(MODULE_FILES) >build/modules.txt
	$(MAKE) --no-print-directory tidy
	GOWORK= go list -export $(WORKSPACE) >/dev/null # compiles without linking
	@cat $(MODULE_FILES) | diff build/modules.txt - # if they differ, commit the updated files
	GOOS=darwin go -C krmfn list -export . >/dev/null # the command also runs on macOS

lint-chart:
	go -C e2e tool helm lint --strict ../charts/krmfn
	$(HELM4) lint --strict charts/krmfn
	go -C e2e test ./chart -count=1 -run TestHelm4 -helm4 "$(HELM4_PATH)"

lint-workflows:
	$(ACTIONLINT)

lint-site: docs # in a browser; if there is none, root installs Debian's Chromium
	go -C e2e test ./docs/site -count=1 -tags e2e,grpcnotrace # pictures are in build/site

# Not part of lint: it queries https://vuln.go.dev, and a new entry there must not fail an unrelated change.
# The programs are built as for images, but with symbols, which govulncheck uses to find called functions. The only other content of images is
# certificates.
vulncheck: ## Check the code of all modules, and the programs of the images, for known vulnerabilities
	@for m in $(MODULES); do echo "vulncheck $$m"; (cd $$m && $(VULNCHECK) ./...) || exit 1; done
	@for c in $(COMMANDS); do \
		echo "vulncheck $${c##*/}, the program"; \
		(cd $$c && $(subst -s -w,,$(GO_BUILD)) -o $(CURDIR)/build/vulncheck/ . && $(VULNCHECK) -mode=binary $(CURDIR)/build/vulncheck/$${c##*/}) || exit 1; \
	done

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
	cmp build/generated/$(notdir $(SCHEMAS)) $(SCHEMAS) # if they differ, commit the updated files
	diff -r build/generated/$(notdir $(CHART_SCHEMAS)) $(CHART_SCHEMAS)

.PHONY: cluster cluster-down cluster-images install uninstall e2e e2e-soak previous bench-e2e
cluster: ## Create a kind cluster and a registry; the kubeconfig is build/kubeconfig (another minor version: KUBERNETES=1.34)
	@go -C e2e run ./cmd/cluster up --kubernetes="$(KUBERNETES)"

cluster-down: ## Delete the cluster and its registry
	@go -C e2e run ./cmd/cluster down

# Push all images of this checkout to the cluster's registry.
cluster-images: cluster $(if $(filter linux/%,$(HOST)),,build)
	@$(MAKE) --no-print-directory images ARCHES=$(notdir $(HOST))
	@go -C e2e run ./cmd/cluster load --images $(CURDIR)/build/images --functions $(CURDIR)/bin

install: cluster-images ## Install the chart and images of this checkout into the cluster (more flags: HELM_FLAGS='--set replicas=2')
	@go -C e2e tool helm upgrade --install krmfn ../charts/krmfn --kubeconfig $(CURDIR)/build/kubeconfig \
		--namespace porch-system --create-namespace --wait \
		--set image.tag=e2e --set image.registry="$$(go -C e2e run ./cmd/cluster registry-address)/krmfn" $(HELM_FLAGS)

uninstall: ## Uninstall the chart from the cluster
	@go -C e2e tool helm uninstall krmfn --kubeconfig $(CURDIR)/build/kubeconfig --namespace porch-system --wait

e2e: cluster-images previous ## Run the end-to-end suites on the cluster (by label: LABELS=smoke; by name: FOCUS='idle pods'; with retries: ATTEMPTS=2)
	@$(GINKGO) --timeout 90m --flake-attempts="$(ATTEMPTS)" ./suites

e2e-soak: cluster-images previous ## Repeat specs N times, until one fails, with BUSY other processes on the CPUs (which specs: FOCUS, LABELS)
	@for i in $$(seq $(BUSY)); do while :; do :; done & busy="$$busy $$!"; done; trap 'kill $$busy' EXIT; \
		$(GINKGO) --timeout 24h --repeat=$$(($(N) - 1)) ./suites

previous: ## Build the chart and images that the e2e suites upgrade from, at the commit in versions.yaml, into the user's cache
	@go -C e2e run ./cmd/cluster previous

bench-e2e: cluster-images ## Measure function pods on the cluster for REPORTS (15 minutes; fewer: BENCH_FLAGS='--rounds 1')
	@go -C e2e run ./bench/cluster --bin $(CURDIR)/bin --out $(abspath $(REPORTS))/cluster.json --commit "$(MEASURED)" $(BENCH_FLAGS)

##@ Change

.PHONY: docs generate contract performance scale fmt tidy outdated clean
generate: .deps/protovalidate ## Generate the Go code of proto/, and run go generate
	$(TOOL) buf generate ../proto --template ../buf.gen.yaml -o ..
	go -C functions generate ./...
	go -C e2e generate ./chart

docs: ## Build the documentation site in build/docs, and check its links
	@$(HUGO) --quiet --noBuildLock --source tools/docs/site --destination $(CURDIR)/build/docs --cleanDestinationDir
	@go -C tools run ./cmd/checksite $(CURDIR)/build/docs

contract: .deps/protovalidate ## Record proto/ as the released contract that lint compares with (only for a release)
	$(TOOL) buf build ../proto --exclude-source-info -o ../proto/contract.binpb

performance: ## Write the measurements in README.md and docs/ from the reports of bench and bench-e2e
	@go -C e2e run ./bench/performance --root $(CURDIR)

scale: ## Simulate 1 to 50 function runners with up to 5,000 functions, and write docs/scale.md from the results (takes 25 minutes)
	@mkdir -p build
	@go -C function-runner test -count 1 -vet off -timeout 3h -v -run TestSizes ./internal/scale -args -report $(CURDIR)/build/scale.json
	@go -C e2e run ./bench/scale --root $(CURDIR)

fmt: .deps/protovalidate ## Format all code
	$(TOOL) buf format -w ../proto
	@for m in $(MODULES); do (cd $$m && $(LINTER) fmt) || exit 1; done

tidy: ## Update the go.mod files, with one version of each shared dependency
	@go -C tools run ./release/cmd/release require --root $(CURDIR) $(MODULES)
	@for m in $(MODULES); do go -C $$m mod tidy || exit 1; done
	@GOWORK= go work sync # needs complete go.mod files, and adds unneeded lines to go.sum files
	@printf '%s\n' $(MODULES) | xargs -P 2 -I{} go -C {} mod tidy
	@GOWORK= go list -m all >/dev/null # this and the next command complete go.work.sum
	@GOWORK= go list -deps -test -tags e2e,cloudkeychains $(WORKSPACE) >/dev/null

outdated: ## Print the newest versions of the tools that the Makefile pins
	@go list -m -f '{{.Path}}@{{.Version}}' $(foreach p,$(PINNED),$(firstword $(subst @, ,$(p)))@latest)

clean: ## Delete bin, build and .deps
	rm -rf bin build .deps

.deps/protovalidate: Makefile
	@rm -rf $@ && mkdir -p $(@D)
	go -C tools mod download $(PROTOVALIDATE)
	cp -R "$$(go env GOMODCACHE)/$(PROTOVALIDATE)/proto/protovalidate" $@
	@chmod -R u+w $@ && touch $@

##@ Release

# RELEASE is the git tag: vX.Y.Z or NAME/vX.Y.Z. Empty means the chart's version in versions.yaml. That file also pins the version of Go for
# releases.
release-dry-run publish: export GOTOOLCHAIN = go$(shell sed -n 's/^go: //p' versions.yaml)

.PHONY: release-dry-run publish
release-dry-run: ## Build the release RELEASE in build/release/; needs only Go and git
	@go -C tools run ./release/cmd/release build --root $(CURDIR) --out $(CURDIR)/build/release \
		--work $(CURDIR)/build/release-work --tag "$(RELEASE)" --arches "$(ARCHES)" --commands "$(COMMANDS)" -- $(GO_BUILD)

publish: ## Push the release RELEASE from build/release/ to REGISTRY (more flags: PUBLISH_FLAGS)
	@go -C tools run ./release/cmd/release publish --root $(CURDIR) --from $(CURDIR)/build/release \
		--digests $(CURDIR)/build/published.txt --tag "$(RELEASE)" --registry $(REGISTRY) $(PUBLISH_FLAGS)
