# The README's two commands need no make; these are for people who work on spiced.
.PHONY: build release test race lint nightly fuzz crash-fuzz diff-test replay bench docs

build:
	go build -o spiced ./cmd/spiced

# Archives for other machines in dist/, with checksums. VERSION=v1.2.3 sets a version
# that the commit's tags do not have.
release:
	.ci/release

test:
	go test ./...

race:
	go test -race ./...

lint:
	go vet ./...
	staticcheck ./...
	cd internal/test/lab && go vet ./... && staticcheck ./...
	test -z "$$(gofumpt -l .)"

# What is random and takes long: the fuzz targets, the crash fuzz, the differential test and
# Schemathesis, for MINUTES in all.
MINUTES ?= 40
nightly:
	.ci/nightly $(MINUTES)

# Fuzzes every entrance for FUZZTIME seconds in all.
FUZZTIME ?= 240
fuzz:
	.ci/fuzz $(FUZZTIME)

# Builds a program of the module internal/test/lab. It runs in this folder, with spiced's sources.
lab = go build -C internal/test/lab -o $(CURDIR)/dist/lab/

# Calls every function of DuckDB that statements may call with hostile values. It
# takes hours: CRASHFUZZ='-time 10m -seed 7' shortens it. CRASHFUZZ='-beside ./spiced'
# sends the calls to that binary next to honest requests instead.
crash-fuzz:
	$(lab) ./crashfuzz
	dist/lab/crashfuzz $(CRASHFUZZ)

# Compares generated statements with plain DuckDB, once or as DIFFTEST='-time 1h -seed 7' says;
# with PostgreSQL: DIFFTEST='-postgres -time 10m'.
diff-test:
	$(lab) ./difftest
	dist/lab/difftest $(DIFFTEST)

# Sends the same requests to two binaries over every entrance and prints where answers differ:
# REPLAY='-old /tmp/before -new ./spiced'.
replay:
	$(lab) ./replay
	dist/lab/replay $(REPLAY)

# The table of internal/test/lab/bench/RESULTS.md; a part with BENCH='-only start,reload'.
bench:
	$(lab) ./bench
	dist/lab/bench $(BENCH)

# Files that are generated from code; tests fail when they are stale.
docs:
	go test ./spicepod ./sqlapi ./internal/llm/chat/translation ./functions ./internal/kit/telemetry ./internal/runtime -run Docs -update
	go test . -run 'Picture|Architecture' -update
