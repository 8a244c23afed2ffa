#!/usr/bin/env bash
# Generates the test vectors. `write` replaces the files, `check` fails if they would change.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

vectors="$root/crates/protocol/vectors"

# generate <directory>
generate() {
  node "$vectors/generate/eip712_viem.mjs" "$1/eip712.json"
  # -B: no compiled files next to the sources.
  "$python_environment/bin/python" -B "$vectors/generate/eip712_eth_account.py" "$1/eip712.json"
  "$python_environment/bin/python" -B "$vectors/generate/possession_check.py" "$vectors/possession.json"
  "$python_environment/bin/python" -B "$vectors/generate/chain_trees.py" "$vectors/spec.json" "$1"
}

check() {
  local made file
  made="$(mktemp -d)"
  generate "$made"
  for file in eip712 chain trees; do
    cmp "$made/$file.json" "$vectors/$file.json" ||
      die "crates/protocol/vectors/$file.json differs from its generator's output" "if the change is intended: make vectors"
  done
  rm -rf "$made"
  say "    eip712.json, chain.json and trees.json match their generators"
}

check_node
install_packages python3 python3-venv
install_node_packages crates/protocol/vectors/generate
install_python_packages
case "${1:-}" in
  write) generate "$vectors" ;;
  check) check ;;
  *) die "usage: scripts/vectors.sh write|check" ;;
esac
