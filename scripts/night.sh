#!/usr/bin/env bash
# What takes too long for `make test`: every split and bad weather of the network, every damage of the stream's files,
# every call to the disk that can fail, hours of changed inputs, load and abuse over sockets, and hundreds of failovers
# under load, with reports.
#
#   scripts/night.sh                      all of it
#   scripts/night.sh failovers            the failovers alone (make failovers)
#   scripts/night.sh calls                the calls that fail alone
#   scripts/night.sh fuzz                 the changed inputs alone
#   scripts/night.sh siege                the load and abuse over sockets alone (make siege)
#
# FAILOVERS (200) is how many, SEED (the date) where they begin. A run with the same seed continues the one before: only
# failovers after which everything was checked are kept. The report is in data/failovers. The calls' report is in
# data/calls; a run continues the one before, too, and CALLS_AT_ONCE (2) run at one time. FUZZ_MINUTES (10) is how long
# each target gets; what it finds grows in data/fuzz. SIEGE_SECONDS (10) is how long each attack lasts, twice; the figures
# are in bench/results/<date>-siege.md, the log in data/siege. Nothing else should run meanwhile. CLUSTER_TESTS names the
# test program tests/cluster.rs, if it is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

wanted="${FAILOVERS:-200}"
seed="${SEED:-$(date -u +%Y%m%d)}"
# Failovers of one cluster; then a new one is started.
each=20
folder="$root/data/failovers"
lines="$folder/$seed.jsonl"

cluster_test() {
  if [[ -n "${CLUSTER_TESTS:-}" ]]; then
    "$CLUSTER_TESTS" --nocapture "$@"
  else
    cargo test --workspace --release --locked --test cluster -- --nocapture "$@"
  fi
}

done_so_far() { grep -c '"loss"' "$lines" 2>/dev/null || true; }

failovers() {
  local count left part failed=0 log
  mkdir -p "$folder"
  touch "$lines"
  while count="$(done_so_far)" && ((count < wanted && failed < 3)); do
    left=$((wanted - count))
    # Each cluster has a seed of its own, also after one that failed.
    part=$(($(grep -c '"acknowledged"' "$lines" || true) + failed + 1))
    log="$folder/$seed-$part.log"
    say "    $count of $wanted failovers done; the next cluster has the seed $((seed * 1000 + part))"
    if ! KEDGE_TEST_SEED=$((seed * 1000 + part)) KEDGE_FAILOVERS=$((left < each ? left : each)) \
      KEDGE_FAILOVERS_REPORT="$lines" cluster_test --exact failovers::failovers_of_every_kind_lose_nothing >"$log" 2>&1; then
      failed=$((failed + 1))
      say "    FAILED: $log"
    fi
  done
  report "$failed" | tee "$folder/$seed.txt"
  ((failed == 0)) || die "$failed clusters failed" "their logs are in $folder"
}

# The longest time without an acknowledged write: of all failovers, and of each kind.
report() {
  local failed="$1"
  printf '\nfailovers, seed %s, %s, %s cores\n' "$seed" "$(date -u +%Y-%m-%dT%H:%MZ)" "$(nproc)"
  sort_pauses() { sed -n "s/.*\"loss\":\"$1\",\"pause_ms\":\([0-9]*\).*/\1/p" "$lines" | sort -n; }
  printf '%-10s %9s %10s %9s %9s\n' kind failovers 'median ms' 'p95 ms' 'worst ms'
  local kind
  for kind in Killed Paused CutOff Stopped '[A-Za-z]*'; do
    sort_pauses "$kind" | awk -v kind="$kind" '
      { pause[NR] = $1 }
      function at(share,  place) { place = int(NR * share + 0.999999); return pause[place < 1 ? 1 : place] }
      END { if (NR) printf "%-10s %9d %10d %9d %9d\n", kind == "[A-Za-z]*" ? "all" : kind, NR, at(0.5), at(0.95), pause[NR] }'
  done
  sed -n 's/.*"acknowledged":\([0-9]*\).*/\1/p' "$lines" | awk -v failed="$failed" '
    { sum += $1 }
    END { printf "ledger: %d acknowledged writes on %d clusters, none lost, none doubled; %d clusters failed\n", sum, NR, failed }'
}

# One line a case; cases that have passed are not run again, those that have failed are.
calls() {
  local lines="$root/data/calls/$seed.txt" failed=0
  mkdir -p "${lines%/*}"
  touch "$lines"
  sed -i '/^FAILED/d' "$lines"
  KEDGE_CALLS_REPORT="$lines" KEDGE_CALLS_AT_ONCE="${CALLS_AT_ONCE:-2}" cargo test --workspace --release --locked \
    --test calls -- --ignored --exact every_call_that_fails >"${lines%.txt}.log" 2>&1 || failed=1
  printf '\ncalls that fail, %s, %s\n' "$seed" "$(date -u +%Y-%m-%dT%H:%MZ)"
  awk '{ sub(/:.*/, ""); count[$1 " " $2 " " $4]++ } END { for (kind in count) printf "%6d %s\n", count[kind], kind }' "$lines" | sort -k2
  grep '^FAILED' "$lines" || true
  ((failed == 0)) || die "calls that failed broke a promise" "the log is ${lines%.txt}.log; KEDGE_CALL replays one case (docs/TESTING.md)"
}

# What is kept stays for the next run.
changed_inputs() {
  KEDGE_FUZZ_CACHE="$root/data/fuzz" KEDGE_FUZZ_SECONDS=$((${FUZZ_MINUTES:-10} * 60)) \
    cargo test --workspace --release --locked --test fuzz -- --nocapture --test-threads=2
}

# One attack at a time, because it is measured.
siege() {
  local rows="$root/data/siege/rows.md" log="$root/data/siege/siege.log" failed=0
  local results
  results="$root/bench/results/$(date -u +%F)-siege.md"
  mkdir -p "${rows%/*}"
  rm -f "$rows"
  KEDGE_SIEGE_REPORT="$rows" KEDGE_SIEGE_SECONDS="${SIEGE_SECONDS:-10}" cargo test --workspace --release --locked \
    --test siege -- --ignored --nocapture --test-threads=1 >"$log" 2>&1 || failed=1
  siege_report "$rows" >"$results"
  cat "$results"
  ((failed == 0)) || die "the server did not withstand an attack" "the log is $log"
}

siege_report() {
  cat <<REPORT
# Load and abuse over sockets, $(date -u +%F)

\`make siege\`: $(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo) MiB, Linux $(uname -r);
attackers, the well-behaved client and the server share the cores, the attackers with a lower priority. The load of the machine was
$(cut -d ' ' -f 1-3 /proc/loadavg) at the end. Each attack lasts ${SIEGE_SECONDS:-10} s, twice. Meanwhile the well-behaved client sends 40 requests a second, half of
them signed changes; a latency counts from the time at which its request was due, and includes signing and checking the receipt. A request
that was refused for overload (503) counts as one that takes for ever; no other one may fail.
\`rate_limits\` is off, so that only bounds and shares hold attackers.

| attack | times | calm, p50 / p99, ms | p50, ms | **p99**, ms | worst, ms | refused (503), failed | memory before, MiB | peak, MiB | after each, MiB | sockets | threads | s until it was gone |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
$(cat "$1")
REPORT
}

if [[ -z "${CLUSTER_TESTS:-}" ]]; then
  use_release_paths
  step "Tools" install_build_tools
fi
part="${1:-all}"
if [[ "$part" == all || "$part" == calls ]]; then
  step "Calls that fail" calls
fi
if [[ "$part" == all || "$part" == fuzz ]]; then
  step "Changed inputs" changed_inputs
fi
if [[ "$part" == all || "$part" == siege ]]; then
  step "Load and abuse over sockets" siege
fi
if [[ "$part" == all || "$part" == failovers ]]; then
  step "NATS" install_packages nats-server curl
fi
if [[ "$part" == all ]]; then
  step "Splits of the network" cluster_test --exact --ignored splits::every_split_leaves_one_log
  step "Elections of the servers" cluster_test --exact --ignored engine::writes_continue_soon_after_the_servers_have_elected
  step "Damages of the stream" cluster_test --ignored damaged::
fi
if [[ "$part" == all || "$part" == failovers ]]; then
  step "Failovers" failovers
fi
summary "make night"
