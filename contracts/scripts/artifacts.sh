#!/usr/bin/env bash
# Writes artifacts/ from the source, or with --check fails unless they are what the source compiles to.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
node scripts/artifacts.js "$@"
