#!/usr/bin/env bash
# Runs the benchmarks. Arguments go to `cargo bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

step "Tools" install_build_tools
step "Benchmarks" cargo bench --workspace --locked "$@"
step "Programs" cargo build --release --locked --package kedge --package kedge-bench
step "Searches among a million objects" \
  "$target_dir/release/kedge-bench" search --server "$target_dir/release/kedge"
summary "make bench"
