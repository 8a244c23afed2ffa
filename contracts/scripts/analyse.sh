#!/usr/bin/env bash
# Static analysis (slither) and symbolic proofs (halmos). Each tool is stopped after TIME_LIMIT_S seconds (600).
set -euo pipefail
cd "$(dirname "$0")/.."

time_limit_s="${TIME_LIMIT_S:-600}"
scripts/install.sh
export PATH="$PWD/node_modules/.bin:$PATH"

stamp=.venv/installed-requirements.txt
if ! cmp --silent scripts/analysis-requirements.txt "$stamp"; then
  echo "installing slither and halmos with pip"
  python3 -m venv .venv
  .venv/bin/pip install --quiet --require-hashes --requirement scripts/analysis-requirements.txt
  cp scripts/analysis-requirements.txt "$stamp"
fi

echo "slither"
timeout "$time_limit_s" .venv/bin/slither . --fail-pedantic
echo "halmos"
# 64 turns: as many as a loop over the levels of a tree can take.
timeout "$time_limit_s" .venv/bin/halmos --match-contract 'Proof$' --loop 64
