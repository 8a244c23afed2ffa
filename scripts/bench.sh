#!/usr/bin/env bash
# Runs the benchmarks. Arguments go to `cargo bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

step "Tools" install_build_tools
step "Benchmarks" cargo bench --workspace --locked "$@"
summary "make bench"
