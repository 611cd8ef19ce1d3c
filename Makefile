# make build test race fuzz bench lint demo; CI runs .ci/run, which adds to
# these what only it needs.

PACKAGES ?= ./...
FUZZTIME ?= 30s
BENCH ?= .
COUNT ?= 1

.PHONY: build test race fuzz bench lint demo

# The command, in bin/.
build:
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go build -o bin/ ./tools/segtool

test:
	go test $(PACKAGES)

# Needs a C compiler.
race:
	CGO_ENABLED=1 go test -race $(PACKAGES)

# Every fuzz target of every package: make fuzz FUZZTIME=5s PACKAGES=./codec/...
fuzz:
	FUZZTIME=$(FUZZTIME) bash .ci/fuzz $(PACKAGES)

# For benchstat: make bench COUNT=10 BENCH=Scan PACKAGES=./segment >new.txt
bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PACKAGES)

# Our own rules first: they take a second.
lint:
	go test -count=1 ./tools/lint
	bash .ci/run format vet lint

demo:
	go run ./tools/segtool demo
