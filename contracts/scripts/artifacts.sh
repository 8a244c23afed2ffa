#!/usr/bin/env bash
# Writes artifacts/KedgeAnchor.json from the source, or with --check fails unless it is what the source compiles to.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
node scripts/artifacts.js "$@"
