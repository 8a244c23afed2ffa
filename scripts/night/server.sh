# Sourced by night.sh: simulator, and tests of a single server.
# shellcheck shell=bash

new_seeds() {
  local log="$root/data/seeds/$seed.log"
  mkdir -p "${log%/*}"
  SIM_SECONDS=$((${SIM_MINUTES:-60} * 60)) release_test simulation -- --exact --nocapture seeds::new_seeds_find_nothing 2>&1 | tee "$log" >/dev/null ||
    { tail -n 40 "$log"; die "a seed found something" "the log is $log; docs/TESTING.md says how to replay it"; }
  note "$(grep -c '^seed ' "$log" || true) seeds found nothing"
}

# One line per case; passed cases are skipped, failed ones run again.
calls() {
  local lines="$root/data/calls/$seed.txt" failed=0
  mkdir -p "${lines%/*}"
  touch "$lines"
  sed -i '/^FAILED/d' "$lines"
  KEDGE_CALLS_REPORT="$lines" KEDGE_CALLS_AT_ONCE="${CALLS_AT_ONCE:-8}" cargo test --workspace --release --locked \
    --test faults -- --ignored --exact calls::every_call_that_fails >"${lines%.txt}.log" 2>&1 || failed=1
  awk '{ sub(/:.*/, ""); count[$1 " " $2 " " $4]++ } END { for (kind in count) printf "%6d %s\n", count[kind], kind }' "$lines" | sort -k2 | notes
  { grep '^FAILED' "$lines" || true; } | notes
  ((failed == 0)) || die "calls that failed broke a promise" "the log is ${lines%.txt}.log; KEDGE_CALL replays one case (docs/TESTING.md)"
}

# The corpus is kept for the next run.
changed_inputs() {
  local log="$root/data/fuzz/log" program filter
  mkdir -p "${log%/*}"
  : >"$log"
  # Targets of whole connections and of forms need a server.
  for program in 'fuzz ' 'api connections::changed' 'api forms::changed'; do
    filter="${program#* }"
    KEDGE_FUZZ_CACHE="$root/data/fuzz" KEDGE_FUZZ_SECONDS=$((${FUZZ_MINUTES:-10} * 60)) \
      release_test "${program%% *}" -- --nocapture --test-threads=2 ${filter:+"$filter"} 2>&1 | tee -a "$log"
  done
  { grep -o '^[a-z0-9]*: KEDGE_FUZZ_SEED=.*' "$log" || true; } | notes
}

# Twenty kills of one server's data; then another server starts empty.
kills() {
  local lines="$root/data/kills/$seed.txt" wanted="${KILLS:-1000}" each=20 done_before part
  mkdir -p "${lines%/*}"
  touch "$lines"
  while done_before="$(awk '{ sum += $1 } END { print sum + 0 }' "$lines")" && ((done_before < wanted)); do
    part=$(($(wc -l <"$lines") + 1))
    say "    $done_before of $wanted kills done; the next server has the seed $((seed * 1000 + part))"
    KEDGE_TEST_SEED=$((seed * 1000 + part)) KEDGE_KILLS="$each" release_test faults -- --exact --nocapture \
      crash::every_acknowledged_action_survives_kill_9 >"${lines%.txt}-$part.log" 2>&1 ||
      die "a kill broke a promise" "the log is ${lines%.txt}-$part.log"
    sed -n 's/^\([0-9]* kills, .*\)$/\1/p' "${lines%.txt}-$part.log" >>"$lines"
  done
  awk '{ kills += $1; acknowledged += $3 } END { print kills " kills of " NR " servers, " acknowledged " acknowledged actions, none lost, none doubled" }' \
    "$lines" | notes
}

# One attack at a time, because each is measured.
siege() {
  local rows="$root/data/siege/rows.md" log="$root/data/siege/siege.log" failed=0
  local results
  results="$root/bench/results/$(date -u +%F)-siege.md"
  mkdir -p "${rows%/*}"
  rm -f "$rows"
  KEDGE_SIEGE_REPORT="$rows" KEDGE_SIEGE_SECONDS="${SIEGE_SECONDS:-10}" release_test siege \
    -- --ignored --nocapture --test-threads=1 >"$log" 2>&1 || failed=1
  siege_report "$rows" >"$results"
  notes <"$rows"
  say "    the table: $results"
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

# The benchmarks' figures, and those of a server with ten million actions.
growth() {
  local figures="$root/data/growth/$seed"
  mkdir -p "$figures"
  OUTPUT="$figures" scripts/bench.sh growth restart | tee "$figures/tables.txt"
  { grep '|' "$figures/tables.txt" || true; } | notes
  note "figures: $figures"
}

# Half the rate of a closed loop, with webhooks and event streams of some organizations.
soak() {
  local figures="$root/data/soak/$seed.json" minutes="${SOAK_MINUTES:-20}"
  mkdir -p "${figures%/*}"
  build_programs kedge kedge-load
  "$target_dir/release/kedge-load" batch-updates --minimal --server "$target_dir/release/kedge" --organizations 100 --auth key \
    --limits operator --rate 20 --webhooks 2 --readers 10 --webhooks-wait-s 120 --warm-up-s 180 --duration-s $((minutes * 60)) \
    --sign live --target 'errors<=0' --target 'deliveries_missing<=0' --json "$figures"
  python3 - "$figures" <<'END' | notes
import json, sys
figures = json.load(open(sys.argv[1]))["figures"]
for name in ("actions_per_s", "p50_ms", "p99_ms", "errors", "deliveries_missing", "delivery_lag_p99_ms", "resident_mib", "resident_slope_mib_per_min"):
    if name in figures:
        print(f"{name} {figures[name]['median']:.1f}")
END
  note "$minutes minutes; figures: $figures"
}
