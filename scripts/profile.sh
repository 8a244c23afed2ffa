#!/usr/bin/env bash
# Records what the server does most, for the compiler: bench/profile/rustc-<version>.profdata.gz. Everything that is built
# with optimisation uses it, if the compiler has that version (use_release_flags in scripts/tools.sh). A function that
# has changed since is compiled as if there was no profile, and so is everything after a change of its crate's
# dependencies, so record it again from time to time: `make profile`, on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

seconds="${SECONDS_EACH:-12}"
work="$(mktemp -d)"
server=""

clean_up() {
  [[ -z "$server" ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap 'report_failed_step; clean_up' EXIT

tools() {
  install_build_tools
  rustup component add llvm-tools
  profdata="$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-profdata"
  [[ -x "$profdata" ]] || die "llvm-profdata was not found" "rustup component add llvm-tools"
}

# The load generator is not measured, so it is the usual one.
programs() {
  (build_programs kedge-load)
  (
    export CARGO_TARGET_DIR="$target_dir/profile/build" CARGO_ENCODED_RUSTFLAGS="-Cprofile-generate=$work/raw"
    cargo build --release --locked --workspace --bin kedge
  )
}

# load <scenario and options…>: on a server of its own, which ends in order and then writes its counts.
load() {
  local url
  rm -rf "$work/data"
  LLVM_PROFILE_FILE="$work/raw/%p.profraw" "$target_dir/profile/build/release/kedge" serve --dev --listen 127.0.0.1:0 \
    --data "$work/data" --set embedded_chain_listen=127.0.0.1:0 --set log_filter=warn \
    --set address_requests_per_minute=1000000000 --set organization_share_percent=100 \
    --set 'webhook_allowed_networks=["127.0.0.0/8"]' >"$work/out" 2>"$work/log" &
  server=$!
  until grep -q '^listening on' "$work/out"; do
    kill -0 "$server" || die "the server did not start" "$(tail -n 1 "$work/log")"
    sleep 0.2
  done
  url="$(sed -n 's/^listening on //p' "$work/out")"
  "$target_dir/release/kedge-load" "$@" --limits operator --warm-up-s 1 --duration-s "$seconds" --url "$url" \
    --admin-socket "$work/data/admin.sock"
  kill -TERM "$server"
  wait "$server"
  server=""
}

loads() {
  load batch-updates --minimal --organizations 100
  load batch-updates --organizations 50
  load batch-mints --minimal --organizations 100
  load batch-transfers --organizations 20
  load single-updates --organizations 100 --webhooks 5 --readers 5
  load reads --organizations 50
  load proof-files --organizations 50
}

# Without the hashing of passwords, which only the loads' preparations do and which would pass for the hottest part.
merge() {
  local to
  to="bench/profile/rustc-$(rustc_version).profdata"
  mkdir -p bench/profile
  rm -f bench/profile/*
  "$profdata" merge --sparse --no-function='argon2|blake2' -o "$to" "$work"/raw/*.profraw
  gzip -9 --no-name "$to"
  say "    $to.gz: $(stat -c %s "$to.gz") bytes"
}

step "Tools" tools
step "Programs" programs
step "Loads" loads
step "Profile" merge
summary "make profile"
