#!/usr/bin/env bash
# Removes all builds and installations inside the clone, except ./data and the RocksDB library.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh

find_cargo
cargo clean
rm -rf .venv tests/openapi/.venv tests/python/.venv sdk/python/.venv sdk/python/out scripts/packages/.venv tests/packages/.venv dist \
  sdk/typescript/dist sdk/typescript/out dashboards/console/dist .monitor
find . -name node_modules -type d -prune -exec rm -rf {} +
say "kept: ./data (the server's data) and $cache_dir (the RocksDB library and downloaded tools)"
