# The work is done in scripts/; each says what it installs and what it does.
.DEFAULT_GOAL := help
.PHONY: run cluster monitor test night failovers siege bench compare dist image fmt lint vectors vectors-check ceremony examples fuzz deny clean help

run: ## Install what is missing, build, and serve on ./data
	@scripts/run.sh

cluster: ## Start three nodes that share one log, on three NATS servers, in ./data/cluster
	@scripts/cluster.sh

monitor: ## Watch a running server with Prometheus
	@scripts/monitor.sh

test: ## Install what is missing and run every check and test
	@scripts/test.sh

night: ## What takes hours, with one report (PART: seeds calls fuzz kills splits elections damages failovers siege growth soak honesty weaknesses mutants; SEED continues)
	@scripts/night.sh $(PART)

failovers: ## Only the failovers of make night, with their report in data/failovers
	@scripts/night.sh failovers

siege: ## Only the load and abuse over sockets of make night: figures in bench/results (SIEGE_SECONDS)
	@scripts/night.sh siege

bench: ## Run the benchmarks (PARTS: stages claims bare growth proofs restart disk cluster tracing searches)
	@scripts/bench.sh $(PARTS)

compare: ## Compare Kedge with PostgreSQL, Redis Streams and NATS JetStream
	@scripts/compare.sh

dist: ## Pack a release in dist: the archive, the packages for pip and npm, their checksums
	@scripts/dist.sh archive

image: ## Build the container image localhost/kedge (IMAGE_BASE, CONTAINER_ENGINE)
	@scripts/dist.sh image

fmt: ## Format the Rust code
	@scripts/cargo.sh fmt --all

lint: ## Formatting and clippy, warnings as errors
	@scripts/cargo.sh fmt --all --check
	@scripts/cargo.sh clippy --workspace --all-targets --release --locked -- -D warnings

vectors: ## Regenerate the test vectors
	@scripts/vectors.sh write

vectors-check: ## Check that the test vectors match their generators
	@scripts/vectors.sh check

ceremony: ## Make keys of the claim circuit (CEREMONY folder, NAME, BEACON: 64 hex digits)
	@scripts/ceremony.sh full "$(CEREMONY)" "$(NAME)" "$(BEACON)"

examples: ## Record the examples of the API document again
	@scripts/document.sh examples

fuzz: ## Run schemathesis against a server (FUZZ_SEED, FUZZ_EXAMPLES)
	@scripts/document.sh fuzz

deny: ## Check dependencies, advisories included (needs the network)
	@scripts/deny.sh all

clean: ## Remove what was built and installed in the clone
	@scripts/clean.sh

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
