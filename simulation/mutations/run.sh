#!/usr/bin/env bash
# Proves the simulator: applies each mutation of the core, looks for a seed that finds it, and reverts it. One whose name
# begins with "nodes-" is looked for with several nodes.
#   simulation/mutations/run.sh [name…]     SEED: the first one to try, 1. SEEDS: how many, 60
# The tree must have no changes of its own, because each mutation is reverted by its patch. Prints a line for each:
# its name, the seed that found it, and what that seed found.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here/../.."
first="${SEED:-1}"
seeds="${SEEDS:-60}"
target="${CARGO_TARGET_DIR:-$PWD/target}"
applied=""

revert() {
  [[ -z "$applied" ]] || git apply -R "$applied"
  applied=""
}
trap revert EXIT

git diff --quiet || {
  echo "error: the tree has changes: commit or stash them first" >&2
  exit 1
}
if (($#)); then
  patches=("${@/#/$here/}")
  patches=("${patches[@]/%/.patch}")
else
  patches=("$here"/*.patch)
fi
missed=0
for patch in "${patches[@]}"; do
  name="$(basename "$patch" .patch)"
  several=()
  [[ "$name" != nodes-* ]] || several=(--nodes)
  git apply "$patch"
  applied="$patch"
  if ! scripts/cargo.sh build --quiet --workspace --release --locked --bin kedge-sim >"$target/mutation.log" 2>&1; then
    echo "$name: does not build, see $target/mutation.log"
    missed=1
  elif found="$("$target/release/kedge-sim" "${several[@]}" --seed "$first" --seeds "$seeds" 2>/dev/null | tail -1)"; then
    echo "$name: not found by $seeds seeds from $first on"
    missed=1
  else
    echo "$name: $found"
  fi
  revert
done
exit "$missed"
