# Sourced by night.sh: cluster tests. CLUSTER_TESTS names an existing test program of tests/cluster/.
# shellcheck shell=bash

cluster_test() {
  if [[ -n "${CLUSTER_TESTS:-}" ]]; then
    "$CLUSTER_TESTS" --nocapture "$@"
  else
    release_test cluster -- --nocapture "$@"
  fi
}

done_so_far() { grep -c '"loss"' "$lines" 2>/dev/null || true; }

failovers() {
  local wanted="${FAILOVERS:-200}" folder="$root/data/failovers"
  local lines="$folder/$seed.jsonl" count left part failed=0 log
  # Failovers of one cluster; then a new one is started.
  local each=20
  mkdir -p "$folder"
  touch "$lines"
  while count="$(done_so_far)" && ((count < wanted && failed < 3)); do
    left=$((wanted - count))
    # Each cluster has a different seed, also after a failed one.
    part=$(($(grep -c '"acknowledged"' "$lines" || true) + failed + 1))
    log="$folder/$seed-$part.log"
    say "    $count of $wanted failovers done; the next cluster has the seed $((seed * 1000 + part))"
    if ! KEDGE_TEST_SEED=$((seed * 1000 + part)) KEDGE_FAILOVERS=$((left < each ? left : each)) \
      KEDGE_FAILOVERS_REPORT="$lines" cluster_test --exact failovers::failovers_of_every_kind_lose_nothing >"$log" 2>&1; then
      failed=$((failed + 1))
      say "    FAILED: $log"
    fi
  done
  failovers_report "$failed" | tee "$folder/$seed.txt" | notes
  ((failed == 0)) || die "$failed clusters failed" "their logs are in $folder"
}

# Longest time without an acknowledged write: of all failovers, and of each kind.
failovers_report() {
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
