#!/usr/bin/env bash
# Checks that take too long for `make test`, with one report: data/night/SEED/report.txt.
#
#   scripts/night.sh               all parts, one after the other; a failed part does not stop the others
#   scripts/night.sh PART          one part alone
#
# The parts, and the variables that set their length:
#   seeds      new seeds of the simulator: SIM_MINUTES (60)
#   calls      every disk operation that can fail: CALLS_AT_ONCE (8) in parallel
#   fuzz       fuzzing: FUZZ_MINUTES (10) for each target; the corpus grows in data/fuzz
#   kills      KILLS (1000) times kill -9 of a server under load
#   splits     every split of the network of nodes and NATS servers
#   elections  the pauses when NATS servers are lost
#   damages    every damage of the stream's files
#   failovers  FAILOVERS (200) failovers under load (make failovers)
#   siege      attacks over sockets: SIEGE_SECONDS (10) for each, twice (make siege)
#   growth     cost of an action with 10,000,000 stored, and time of a start
#   soak       SOAK_MINUTES (20) at half of the top rate, with webhooks and event streams
#   honesty    HISTORIES (1000000) of an honest log, none of which convicts it of a fault of the state
#   weaknesses planted weaknesses of the predicates of these faults, each of which a test finds
#   mutants    changes of `rules` and `protocol` that no test notices: MUTANTS_SHARD (as in 3/40) is the part of all
#              changes to try; a different one each day
#
# SEED (the date) determines all random choices. A run with the same seed continues the previous one: passed parts are
# skipped, and an interrupted part keeps its progress where possible.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh
source scripts/night/mutants.sh
source scripts/night/nodes.sh
source scripts/night/server.sh
source scripts/night/weaknesses.sh

parts=(seeds calls fuzz kills splits elections damages failovers siege growth soak honesty weaknesses mutants)
export SEED="${SEED:-$(date -u +%Y%m%d)}"
seed="$SEED"
night="$root/data/night/$seed"

# Adds a line to the report.
note() {
  printf '    %s\n' "$*"
  [[ -z "${NIGHT_NOTES:-}" ]] || printf '    %s\n' "$*" >>"$NIGHT_NOTES"
}

# Adds lines from a pipe to the report.
notes() {
  local line
  while IFS= read -r line; do note "$line"; done
}

release_test() {
  cargo test --workspace --release --locked --test "$@"
}

run_part() {
  case "$1" in
    seeds) step "New seeds of the simulator" new_seeds ;;
    calls) step "Calls that fail" calls ;;
    fuzz) step "Changed inputs" changed_inputs ;;
    kills) step "Kills under load" kills ;;
    splits) step "Splits of the network" cluster_test --exact --ignored splits::every_split_leaves_one_log ;;
    elections) step "Elections of the servers" cluster_test --exact --ignored \
      engine::writes_continue_soon_after_the_servers_have_elected ;;
    damages) step "Damages of the stream" cluster_test --ignored damaged:: ;;
    failovers) step "Failovers" failovers ;;
    siege) step "Siege" siege ;;
    growth) step "Growth" growth ;;
    soak) step "Soak" soak ;;
    honesty) step "Honest logs" honesty ;;
    weaknesses) step "Planted weaknesses" weaknesses ;;
    mutants) step "Changed code" mutants ;;
    *) die "$1 is no part of the night" "name one of: ${parts[*]}" ;;
  esac
}

# Each part is a separate process, so that its failure does not stop the others.
all_parts() {
  local part begun state failed=0
  mkdir -p "$night"
  say "the report: $night/report.txt"
  for part in "${parts[@]}"; do
    if [[ -f "$night/$part.passed" ]]; then
      say "    $part: passed before"
      continue
    fi
    begun=$SECONDS state=passed
    rm -f "$night/$part.notes" "$night/$part.failed"
    NIGHT_NOTES="$night/$part.notes" "$0" "$part" >"$night/$part.log" 2>&1 || state=failed
    printf '%s in %d minutes\n' "$state" $(((SECONDS - begun) / 60)) >"$night/$part.$state"
    say "    $part: $(<"$night/$part.$state")"
    night_report >"$night/report.txt"
  done
  for part in "${parts[@]}"; do
    [[ -f "$night/$part.passed" ]] || failed=$((failed + 1))
  done
  night_report | tee "$night/report.txt"
  ((failed == 0)) || die "$failed parts of the night failed" "their logs are in $night; the same SEED runs only these again"
}

night_report() {
  local part state
  printf 'night %s, %s, %s cores, %s\n' "$seed" "$(date -u +%Y-%m-%dT%H:%MZ)" "$(nproc)" "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  for part in "${parts[@]}"; do
    state="$(cat "$night/$part".{passed,failed} 2>/dev/null || true)"
    printf '\n%s: %s\n' "$part" "${state:-not run yet}"
    cat "$night/$part.notes" 2>/dev/null || true
  done
}

if [[ -z "${CLUSTER_TESTS:-}" ]]; then
  use_release_paths
  step "Tools" install_build_tools
fi
case "${1:-all}" in
  splits | elections | damages | failovers) step "NATS" install_nats ;;
esac
if [[ "${1:-all}" == all ]]; then
  all_parts
else
  run_part "$1"
  summary "make night"
fi
