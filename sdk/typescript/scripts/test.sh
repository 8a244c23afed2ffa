#!/usr/bin/env bash
# Builds the package and its tests, and runs the tests against the server that KEDGE_BIN names (an absolute path).
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist out
npx --no-install tsc --project tsconfig.build.json
npx --no-install tsc --project tsconfig.json
node --test --test-concurrency=2 out/tests/*.test.js
