#!/usr/bin/env bash
# Runs all checks, from formatting to the whole system, and installs the tools they need.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh
source scripts/console.sh

# All checks use the build that users run.
use_release_paths

node_folders=(crates/protocol/vectors/generate contracts crates/chain/tests/anvil crates/prover/snarkjs tests/js tests/openapi/generators sdk/typescript
  dashboards/console)

# Downloads in parallel with RocksDB's compilation. Afterwards everything runs again, which repeats failed steps and
# sets the environment; finished steps take no time.
tools() {
  local downloads
  install_packages "${build_packages[@]}" "${test_packages[@]}"
  other_tools >/dev/null 2>&1 &
  downloads=$!
  install_test_tools
  wait "$downloads" || say "    not everything could be installed meanwhile; trying again"
  other_tools
}

other_tools() {
  install_prometheus
  can_build_console || die "the console's tests need Node.js $console_node_min or newer"
  install_packages chromium
  install_node_packages "${node_folders[@]}"
  install_python_packages
  install_document_packages
  install_generators
  install_python_client_packages
  install_python_sdk_packages
  install_package_test_tools
}

cargo_tests=(cargo test --workspace --release --locked)

# Two programs in parallel, because most of them wait for elections, deadlines or the disk. Those with names starting
# with c, l, s or w (cluster, load, siege, simulation, storage, stream, walk) take about as long as all others together.
rust_tests() {
  local output some status=0
  "${cargo_tests[@]}" --no-run
  output="$(mktemp)"
  # A separate process group, because bash makes background jobs ignore Ctrl-C.
  setsid "${cargo_tests[@]}" --no-fail-fast --test '[clsw]*' >"$output" 2>&1 &
  some=$!
  trap 'kill -- "-$some" 2>/dev/null || true; cat "$output"; rm "$output"; exit 130' HUP INT TERM
  "${cargo_tests[@]}" --no-fail-fast --lib --bins --examples --test '[!clsw]*' || status=$?
  wait "$some" || status=$?
  trap - HUP INT TERM
  cat "$output"
  rm "$output"
  "${cargo_tests[@]}" --doc || status=$?
  return "$status"
}

# Everything not in Rust runs against the server of the Rust tests.
javascript_tests() {
  (cd tests/js && KEDGE_BIN="$target_dir/release/kedge" npm test)
}

# Builds the package, its tests and its reference; the tests install the package.
typescript_sdk() {
  (cd sdk/typescript && KEDGE_BIN="$target_dir/release/kedge" npm test && npm run docs)
}

# In Debian's Chromium, against the server with the embedded console.
console_tests() {
  (cd dashboards/console && npm run --silent check && KEDGE_BIN="$target_dir/release/kedge" npm test)
}

# A fixed seed, so that a failure is due to the change under test; `make fuzz` uses new ones.
document_tests() {
  KEDGE_BIN="$target_dir/release/kedge" scripts/document.sh test
  FUZZ_SEED="${FUZZ_SEED:-20261121}" KEDGE_BIN="$target_dir/release/kedge" scripts/document.sh fuzz
}

python_tests() {
  (cd tests/python && KEDGE_BIN="$target_dir/release/kedge" PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m unittest)
}

python_sdk_tests() {
  KEDGE_BIN="$target_dir/release/kedge" scripts/python-sdk.sh test
}

# Archive, image, unit, compose file and chart, with the same program.
packages() {
  KEDGE_BIN="$target_dir/release/kedge" scripts/dist.sh test
}

# Each alert fires at its threshold, and not just below.
monitoring_rules() {
  promtool check config dashboards/prometheus/prometheus.yml
  promtool test rules dashboards/prometheus/tests/*.yml
}

# With everything compiled once, on two quiet cores; docs/TESTING.md has the same table.
budget_s=(
  ["Tools"]=30
  ["Formatting"]=15
  ["Test vectors"]=15
  ["Licences, bans and sources of dependencies"]=15
  ["Monitoring rules"]=15
  ["Console, for the server to embed"]=15
  ["Lints"]=45
  ["Rust tests"]=900
  ["Contract"]=260
  ["JavaScript client"]=50
  ["TypeScript SDK"]=40
  ["Console"]=120
  ["OpenAPI document"]=110
  ["Python client"]=20
  ["Python SDK"]=110
  ["Packages"]=40
)

step "Tools" tools
step "Formatting" cargo fmt --all --check
step "Test vectors" scripts/vectors.sh check
step "Licences, bans and sources of dependencies" scripts/deny.sh offline
step "Monitoring rules" monitoring_rules
step "Console, for the server to embed" build_console
step "Lints" cargo clippy --workspace --all-targets --release --locked -- -D warnings
step "Rust tests" rust_tests
step "Contract" contracts/scripts/test.sh
step "JavaScript client" javascript_tests
step "TypeScript SDK" typescript_sdk
step "Console" console_tests
step "OpenAPI document" document_tests
step "Python client" python_tests
step "Python SDK" python_sdk_tests
step "Packages" packages
summary "make test"
