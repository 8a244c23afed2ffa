#!/usr/bin/env bash
# Checks the dependencies against deny.toml. `offline` skips the advisories, whose database needs the network; `all`
# checks everything.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

version=0.20.2
tools="$cache_dir/cargo-deny-$version"

# Built from source once, into the cache outside the clone.
install() {
  if [[ ! -x "$tools/bin/cargo-deny" ]]; then
    say "    building cargo-deny $version, once"
    # Unoptimised: compiles in half the time, and a run takes seconds either way. A separate target directory leaves the
    # workspace's alone.
    CARGO_TARGET_DIR="$tools/target" cargo install --quiet --debug --locked --root "$tools" --version "$version" cargo-deny ||
      die "cargo-deny could not be built" "see cargo's output above; it needs the package registry"
    rm -rf "$tools/target"
  fi
  export PATH="$tools/bin:$PATH"
}

find_cargo
install
# Checks the workspace, and the clients of other stores, by the same rules.
check() {
  local manifest
  for manifest in Cargo.toml bench/peers/Cargo.toml; do
    cargo deny --locked --log-level warn --manifest-path "$manifest" --config deny.toml check "$@"
  done
}

case "${1:-}" in
  offline) check licenses bans sources ;;
  all) check all ;;
  *) die "usage: scripts/deny.sh offline|all" ;;
esac
