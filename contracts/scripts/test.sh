#!/usr/bin/env bash
# Everything that holds the contract: format, build, tests, gas snapshot, lint, and the checked-in artifact.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
export PATH="$PWD/node_modules/.bin:$PATH"

echo "format"
forge fmt --check
echo "build and test; gas must be as in snapshots/"
# After a change that is meant: forge test --match-contract GasTest writes them again.
FORGE_SNAPSHOT_CHECK=true forge test
echo "lint"
solhint --disc --max-warnings 0 'src/**/*.sol'
echo "artifact"
scripts/artifacts.sh --check
echo "analysis and proofs"
scripts/analyse.sh
