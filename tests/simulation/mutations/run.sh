#!/usr/bin/env bash
# Proves the simulator: applies each mutation of the core, looks for a seed that finds it, and reverts it. One whose name
# begins with "nodes-" is looked for with several nodes.
#   tests/simulation/mutations/run.sh [name…]     MINUTES: for how long to look for each, 10
#                                           SEED: the first one to try. SEEDS: how many
# Without SEED, the seed in FOUND.md is tried first, then those from 1 on.
# The tree must have no changes of its own, because each mutation is reverted by its patch. Prints a line for each:
# its name, the seed that found it, and what that seed found.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here/../../.."
seeds="${SEEDS:-1000000}"
seconds=$((60 * ${MINUTES:-10}))
target="${CARGO_TARGET_DIR:-$PWD/target}"
program="$target/release/kedge-sim"
export CARGO_INCREMENTAL=1
applied=""

revert() {
  [[ -z "$applied" ]] || git apply -R "$applied"
  applied=""
}
trap revert EXIT

# The seed that found a mutation, by the list; nothing if there is none.
listed() {
  awk -F'|' -v name="\`$1\`" '{ gsub(/ /, "", $2) } $2 == name { print $4 }' "$here/FOUND.md" |
    sed -nE 's/^ *([0-9]+).*/\1/p'
}

# look <first seed> <how many>: prints what is found. Fails if nothing is.
look() {
  local status=0
  timeout "$seconds" "$program" "${several[@]}" --seed "$1" --seeds "$2" >"$target/mutation.out" 2>"$target/mutation.log" ||
    status=$?
  # Some findings have several lines.
  found="$(grep '^seed ' "$target/mutation.out" | tail -n 1 || true)"
  case "$status" in
    0 | 124) return 1 ;;
    1) ;;
    *) found="ended with status $status after: $found" ;;
  esac
}

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
  known=""
  [[ -n "${SEED:-}" ]] || known="$(listed "$name")"
  if ! scripts/cargo.sh --config "$here/build.toml" build --quiet --workspace --release --locked --bin kedge-sim \
    >"$target/mutation.log" 2>&1; then
    echo "$name: does not build, see $target/mutation.log"
    missed=1
  elif { [[ -n "$known" ]] && look "$known" 1; } || look "${SEED:-1}" "$seeds"; then
    echo "$name: $found"
  else
    echo "$name: not found by $(grep -c '^seed ' "$target/mutation.out" || true) seeds from ${SEED:-1} on"
    missed=1
  fi
  revert
done
exit "$missed"
