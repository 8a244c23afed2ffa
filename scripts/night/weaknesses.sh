# Sourced by night.sh: weaknesses of the predicates of the state's faults, each of which a test must find.
# shellcheck shell=bash

# Histories of an honest log, and evidence of every fault drawn from them.
honesty() {
  local log="$root/data/honesty/$seed.log"
  mkdir -p "${log%/*}"
  KEDGE_HONESTY_HISTORIES="${HISTORIES:-1000000}" KEDGE_HONESTY_SEED=$((seed * 100000000)) release_test protocol -- \
    --exact --nocapture state_honesty::honest_logs_are_never_convicted >"$log" 2>&1 ||
    { tail -n 60 "$log"; die "an honest log was convicted" "the log is $log; docs/TESTING.md says how to replay its seed"; }
  { grep -E ' histories from seed |pieces of evidence' "$log" || true; } | notes
}

# Works on a copy of the commit. All weaknesses are compiled in one build, each switched on alone.
weaknesses() {
  local copy="$root/data/weaknesses/sources" log="$root/data/weaknesses/$seed.log" status=0
  rm -rf "$copy"
  mkdir -p "$copy"
  git -C "$root" archive HEAD | tar --extract --touch --directory "$copy"
  python3 scripts/night/weaknesses.py plant "$copy"
  CARGO_TARGET_DIR="$root/data/weaknesses/target" python3 scripts/night/weaknesses.py build "$copy"
  python3 scripts/night/weaknesses.py run "$copy" >"$log" 2>&1 || status=$?
  contracts/scripts/install.sh
  ln -sfn "$root/contracts/node_modules" "$copy/contracts/node_modules"
  python3 scripts/night/weaknesses.py plant-contracts "$copy"
  python3 scripts/night/weaknesses.py run-contracts "$copy" >>"$log" 2>&1 || status=$?
  { grep -E 'MISSED$| weaknesses found, ' "$log" || true; } | notes
  ((status == 0)) || die "a weakness was missed" "the log is $log; WEAKNESSES.md and CONTRACTS.md in $copy list what finds each"
}
