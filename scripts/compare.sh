#!/usr/bin/env bash
# Compares Kedge with PostgreSQL, Redis Streams and NATS JetStream: the same records, each answered when it is durable,
# in turns on this machine. The others come from Debian and PyPI and run as separate instances on free ports, with their
# data next to Kedge's in a temporary folder (TMPDIR; on a real disk, with 40 GB to spare), which is removed at the end.
# Arguments go to `kedge-bench compare`. SERVER_PROGRAM, BENCH_PROGRAM and PEERS_PROGRAM name existing programs, RESULTS
# the tables' path without extension.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

work=""
pids=()
results="${RESULTS:-$root/bench/results/$(date -u +%F)-side-by-side}"

# Ends only the processes started here. SIGINT is PostgreSQL's quick shutdown, and ends the others too.
clean_up() {
  local pid
  for pid in "${pids[@]}"; do
    kill -INT "$pid" 2>/dev/null || true
  done
  for pid in "${pids[@]}"; do
    wait "$pid" 2>/dev/null || true
  done
  [[ -z "$work" ]] || rm -rf "$work"
}
trap 'report_failed_step; clean_up' EXIT

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_for <what> <command…>: waits until the command succeeds.
wait_for() {
  local what="$1" tries
  shift
  for ((tries = 0; tries < 150; tries++)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.2
  done
  die "$what does not answer" "the end of its log in $work, which is removed now: $(tail -n 3 "$work/$what.log" 2>/dev/null)"
}

install_peers() {
  install_packages python3 postgresql redis-server
  install_nats
}

build() {
  local target="$target_dir/peers"
  server="${SERVER_PROGRAM:-}" bench="${BENCH_PROGRAM:-}" peers="${PEERS_PROGRAM:-}"
  if [[ -z "$server" ]]; then
    build_programs kedge
    server="$target_dir/release/kedge"
  fi
  if [[ -z "$bench" ]]; then
    build_programs kedge-bench
    bench="$target_dir/release/kedge-bench"
  fi
  if [[ -z "$peers" ]]; then
    CARGO_TARGET_DIR="$target" cargo build --release --locked --manifest-path bench/peers/Cargo.toml
    peers="$target/release/kedge-peers"
  fi
}

start_postgres() {
  local bin as=()
  bin="$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -n 1)"
  postgres_port="$(free_port)"
  mkdir "$work/postgres"
  # PostgreSQL does not run as root.
  if ((EUID == 0)); then
    chown postgres "$work/postgres"
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  fi
  "${as[@]}" "$bin/initdb" -D "$work/postgres/data" --username=kedge --auth=trust >"$work/initdb.log" 2>&1 ||
    die "initdb failed" "$(tail -n 3 "$work/initdb.log")"
  # Default settings, except enough connections, and a log size that does not force checkpoints.
  "${as[@]}" "$bin/postgres" -D "$work/postgres/data" -p "$postgres_port" -k "$work/postgres" \
    -c listen_addresses=127.0.0.1 -c max_connections=200 -c shared_buffers=512MB -c max_wal_size=4GB \
    -c fsync=on -c synchronous_commit=on >"$work/postgres.log" 2>&1 &
  pids+=($!)
  wait_for postgres "$bin/pg_isready" -q -h 127.0.0.1 -p "$postgres_port"
  "$bin/createdb" -h 127.0.0.1 -p "$postgres_port" -U kedge kedge
  postgres_said="$("$bin/postgres" --version)"
}

start_redis() {
  redis_port="$(free_port)"
  mkdir "$work/redis"
  redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$work/redis" --appendonly yes --appendfsync always \
    --save "" --auto-aof-rewrite-percentage 0 --daemonize no >"$work/redis.log" 2>&1 &
  pids+=($!)
  wait_for redis redis-cli -p "$redis_port" ping
  redis_said="$(redis-server --version | awk '{print $1, $2, $3}')"
}

start_nats() {
  nats_port="$(free_port)"
  local sync="sync_interval: always"
  nats_said="$("$KEDGE_NATS" --version), synced before each answer"
  if ! nats_can_sync; then
    sync=""
    nats_said="$("$KEDGE_NATS" --version): NOT durable, it syncs only every two minutes"
  fi
  printf 'listen: "127.0.0.1:%s"\nmax_payload: 1MB\njetstream { store_dir: "%s", max_file_store: 64GB, %s }\n' \
    "$nats_port" "$work/nats" "$sync" >"$work/nats.conf"
  "$KEDGE_NATS" -c "$work/nats.conf" >"$work/nats.log" 2>&1 &
  pids+=($!)
  wait_for nats grep -q "Server is ready" "$work/nats.log"
}

start() {
  start_postgres
  start_redis
  start_nats
  say "    $postgres_said, port $postgres_port"
  say "    $redis_said, port $redis_port"
  say "    $nats_said, port $nats_port"
}

compare() {
  local note="PostgreSQL: $postgres_said, COPY of 500 rows a transaction or INSERT of one, and a function that chains with \
SHA-256. Redis: $redis_said, appendfsync always, XADDs in one pipeline. NATS: $nats_said, messages in atomic batches (one \
by one before 2.12). They receive plain records over their own protocols, without signatures, and keep no other state."
  "$bench" compare --server "$server" --scratch "$work" --peers "$peers" \
    --postgres "host=127.0.0.1 port=$postgres_port user=kedge dbname=kedge" \
    --redis "127.0.0.1:$redis_port" --nats "127.0.0.1:$nats_port" --peers-note "$note" \
    --json "$results.json" --markdown "$results.md" "$@"
  say "    written to $results.md and .json"
}

work="$(mktemp -d)"
chmod 755 "$work"
server="" bench="" peers=""
step "Tools" install_build_tools
step "PostgreSQL, Redis, NATS" install_peers
step "Programs" build
step "Own instances" start
step "Side by side" compare "$@"
summary "make compare"
