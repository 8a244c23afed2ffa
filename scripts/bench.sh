#!/usr/bin/env bash
# Runs the benchmarks. Without arguments: the single stages, and the server against the bare pipeline in turns. With
# arguments: only the named parts, of stages, claims, bare, growth, proofs, restart, disk, cluster, tracing, searches. OUTPUT
# names a folder for JSON figures; BENCH_ARGUMENTS goes to each part that starts servers (as in BENCH_ARGUMENTS="--runs
# 2"). Data is in a temporary folder (TMPDIR; on a real disk, with 30 GB to spare) and is removed at the end.
# SERVER_PROGRAM and BENCH_PROGRAM name existing programs.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

read -ra more <<<"${BENCH_ARGUMENTS:-}"
use_release_paths
output="${OUTPUT:-}"

build() {
  server="${SERVER_PROGRAM:-}" bench="${BENCH_PROGRAM:-}"
  if [[ -z "$server" ]]; then
    build_programs kedge
    server="$target_dir/release/kedge"
  fi
  if [[ -z "$bench" ]]; then
    build_programs kedge-bench
    bench="$target_dir/release/kedge-bench"
  fi
}

# table <bench>: also writes the table to the folder.
table() {
  local file=/dev/null
  [[ -z "$output" ]] || file="$output/$1.txt"
  cargo bench --package kedge-bench --bench "$1" --locked | tee "$file"
}

# with_server <subcommand> <option for the file> [its other options…]
with_server() {
  local name="$1" to=()
  [[ -z "$output" ]] || to=("$2" "$output/$1.json")
  shift 2
  "$bench" "$name" --server "$server" "$@" "${to[@]}" "${more[@]}"
}

[[ -z "$output" ]] || mkdir -p "$output"
step "Tools" install_build_tools
[[ " $* " != *" cluster "* ]] || step "NATS" install_nats
step "Programs" build
(($#)) || set -- stages bare
for part in "$@"; do
  case "$part" in
    stages) step "Stages, one by one" table stages ;;
    claims) step "Claims, made and checked" table claims ;;
    bare) step "The server and the bare pipeline, compared" with_server compare --json ;;
    growth) step "A large store and a small one, compared" with_server growth --json ;;
    proofs) step "Objects with and without their proofs" with_server proofs --json ;;
    restart) step "Restarts of a large store" with_server restart --json ;;
    disk) step "Bytes on the disk" with_server disk --json ;;
    cluster) step "Three nodes and one, compared" with_server cluster --json --nats "$KEDGE_NATS" ;;
    tracing) step "Tracing off, of a hundredth and of everything, compared" with_server tracing --json ;;
    searches) step "Searches among a million objects" with_server search --output ;;
    *) die "$part is not a part of the benchmarks" "name one of: stages claims bare growth proofs restart disk cluster tracing searches" ;;
  esac
done
summary "make bench"
