#!/usr/bin/env bash
# Everything that has to hold, from formatting to the whole system; installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

node_folders=(protocol/vectors/generate contracts chain/tests/anvil prover/snarkjs tests/js tests/openapi/generators sdk/typescript)

tools() {
  install_test_tools
  install_prometheus
  install_node_packages "${node_folders[@]}"
  install_python_packages
  install_document_packages
  install_generators
  install_python_client_packages
  install_python_sdk_packages
}

rust_tests() {
  cargo test --workspace --release --locked
}

# What is not Rust runs against the server that the Rust tests were built with.
javascript_tests() {
  (cd tests/js && KEDGE_BIN="$target_dir/release/kedge" npm test)
}

# Builds the package, its tests and its reference; the tests install the packed package.
typescript_sdk() {
  (cd sdk/typescript && KEDGE_BIN="$target_dir/release/kedge" npm test && npm run docs)
}

# The seed is the same for every run, so that a change answers for itself alone; `make fuzz` takes new ones.
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

# Each alert fires where it should and not just below.
monitoring_rules() {
  promtool check config dashboards/prometheus/prometheus.yml
  promtool test rules dashboards/prometheus/tests/*.yml
}

step "Tools" tools
step "Formatting" cargo fmt --all --check
step "Test vectors" scripts/vectors.sh check
step "Licences, bans and sources of dependencies" scripts/deny.sh offline
step "Monitoring rules" monitoring_rules
step "Lints" cargo clippy --workspace --all-targets --release --locked -- -D warnings
step "Rust tests" rust_tests
if [[ -f contracts/scripts/test.sh ]]; then
  step "Contract" contracts/scripts/test.sh
fi
if [[ -f tests/js/package.json ]]; then
  step "JavaScript client" javascript_tests
fi
step "TypeScript SDK" typescript_sdk
step "OpenAPI document" document_tests
step "Python client" python_tests
step "Python SDK" python_sdk_tests
summary "make test"
