# The README's two commands need no make; these are for people who work on spiced.
.PHONY: build test race lint fuzz bench docs

build:
	go build -o spiced ./cmd/spiced

test:
	go test ./...

race:
	go test -race -short ./...

lint:
	go vet ./...
	staticcheck ./...
	test -z "$$(gofumpt -l .)"

# Fuzzes every entrance for FUZZTIME seconds in all.
FUZZTIME ?= 240
fuzz:
	.ci/fuzz $(FUZZTIME)

# The tables of docs/performance.md.
bench:
	go run ./internal/test/bench

# Files that are generated from code; tests fail when they are stale.
docs:
	go test ./spicepod ./sqlapi -run Docs -update
	go test . -run Picture -update
