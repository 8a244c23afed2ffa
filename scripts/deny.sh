#!/usr/bin/env bash
# Checks the dependency tree against deny.toml. `offline` leaves out the advisories, whose database comes over the
# network; `all` checks everything.
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
    # Unoptimised: it compiles in half the time, and a run takes seconds either way. A target directory of its own
    # leaves the workspace's alone.
    CARGO_TARGET_DIR="$tools/target" cargo install --quiet --debug --locked --root "$tools" --version "$version" cargo-deny ||
      die "cargo-deny could not be built" "look at what cargo printed; it needs the package registry"
    rm -rf "$tools/target"
  fi
  export PATH="$tools/bin:$PATH"
}

find_cargo
use_compiler_cache
install
case "${1:-}" in
  offline) cargo deny --locked --log-level warn check licenses bans sources ;;
  all) cargo deny --locked --log-level warn check ;;
  *) die "usage: scripts/deny.sh offline|all" ;;
esac
