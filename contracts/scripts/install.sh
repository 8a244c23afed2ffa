#!/usr/bin/env bash
# Installs the pinned compiler, forge and OpenZeppelin, unless they already match the lock file.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=node_modules/.installed-lock
if ! cmp --silent package-lock.json "$stamp"; then
  echo "installing the contract's tools with npm"
  npm ci --ignore-scripts --no-audit --no-fund
  cp package-lock.json "$stamp"
fi
