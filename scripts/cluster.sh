#!/usr/bin/env bash
# Runs three nodes of one log on this machine: three NATS servers, a development chain, three Kedge nodes. Everything is
# in ./data/cluster and ends with Ctrl-C. Arguments go to each `kedge serve`. A node that ends restarts after 5 seconds.
#
#   scripts/cluster.sh kill NODE     kills a node of the running cluster (node1, node2 or node3) with SIGKILL
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

data="$root/data/cluster"
kedge() { "$target_dir/release/kedge" "$@"; }
ports=(8081 8082 8083)
chain_listen="${CLUSTER_CHAIN_LISTEN:-127.0.0.1:8555}"

nats_urls() { printf '"tls://127.0.0.1:%s",' 14222 14223 14224 | sed 's/,$//'; }
monitors() { printf '"http://127.0.0.1:%s",' 18222 18223 18224 | sed 's/,$//'; }

# Creates an authority, a certificate of the servers, and one of each node. A node's certificate names its NATS user
# (scripts/packages/nats/kedge.conf).
make_certificates() {
  local place="$data/certificates" name
  [[ -f "$place/node3.pem" ]] && return
  mkdir -p -m 700 "$place"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=make cluster" \
    -keyout "$place/authority.key" -out "$place/authority.pem" 2>/dev/null
  for name in server node1 node2 node3; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
      -keyout "$place/$name.key" -out "$place/$name.csr" 2>/dev/null
    openssl x509 -req -in "$place/$name.csr" -CA "$place/authority.pem" -CAkey "$place/authority.key" -days 3650 \
      -extfile <(printf 'subjectAltName=DNS:%s,IP:127.0.0.1\n' "$name") -out "$place/$name.pem" 2>/dev/null
  done
}

start_nats() {
  local index sync="" place="$data/certificates"
  if nats_can_sync; then sync=", sync_interval: always"; fi
  cp scripts/packages/nats/kedge.conf "$data/kedge.conf"
  for index in 0 1 2; do
    cat >"$data/nats$index.conf" <<CONF
server_name: nats$index
listen: 127.0.0.1:$((14222 + index))
http: 127.0.0.1:$((18222 + index))
max_payload: 67108864
tls { cert_file: "$place/server.pem", key_file: "$place/server.key", ca_file: "$place/authority.pem", verify_and_map: true }
include "kedge.conf"
jetstream { store_dir: "$data/nats$index"$sync }
cluster { name: kedge, listen: 127.0.0.1:$((16222 + index)), routes: ["nats://127.0.0.1:16222", "nats://127.0.0.1:16223", "nats://127.0.0.1:16224"] }
CONF
    "$KEDGE_NATS" -c "$data/nats$index.conf" >"$data/nats$index.log" 2>&1 &
  done
  wait_for "JetStream" curl --silent --fail --output /dev/null http://127.0.0.1:18222/healthz
}

wait_for() {
  local what="$1" tries
  shift
  for tries in $(seq 300); do
    if "$@"; then return 0; fi
    sleep 0.2
  done
  die "$what did not come up within a minute" "see the logs in $data"
}

# The nodes share every key: a new leader must be able to do everything that the old one did.
make_keys() {
  mkdir -p "$data/keys"
  [[ -f "$data/keys/sequencer.key" ]] || kedge keys new "$data/keys/sequencer.key" >/dev/null
  # The development chain's first key, which is public.
  echo "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80" >"$data/keys/anchor.key"
  chmod 600 "$data/keys/anchor.key"
}

start_chain() {
  local address
  address="$(kedge keys address --key-file "$data/keys/sequencer.key")"
  "$target_dir/release/kedge" dev-chain --data "$data/chain" --listen "$chain_listen" --sequencer "$address" >"$data/chain.log" 2>&1 &
  wait_for "the development chain" grep -q '^contract' "$data/chain.log"
  contract="$(awk '/^contract/ { print $2 }' "$data/chain.log")"
  chain_id="$(awk '/^chain id/ { print $3 }' "$data/chain.log")"
}

# Runs a node and restarts it like a supervisor. Its process id is in $place.pid.
keep_node() {
  local name="$1" place="$2" child=""
  shift 2
  trap 'kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; exit' TERM
  while true; do
    "$target_dir/release/kedge" serve --config "$place.toml" "$@" >>"$place.log" 2>&1 &
    child=$!
    echo "$child" >"$place.pid"
    wait "$child" || true
    say "$name has ended; it starts again in 5 seconds"
    sleep 5 &
    wait $!
  done
}

# Only a node of this cluster, started with its configuration.
kill_node() {
  local name="${1:-}" id
  [[ "$name" =~ ^node[123]$ ]] || die "there is no node \"$name\"" "name node1, node2 or node3"
  [[ -f "$data/$name.pid" ]] || die "$name does not run" "\`make cluster\` starts it"
  id="$(cat "$data/$name.pid")"
  tr '\0' ' ' 2>/dev/null <"/proc/$id/cmdline" | grep -q "$data/$name.toml" || die "$name does not run"
  kill -9 "$id"
}

start_node() {
  local index="$1" name="node$(($1 + 1))" place="$data/node$(($1 + 1))"
  shift
  mkdir -p -m 700 "$place" "$place/keys"
  cat >"$place.toml" <<TOML
data_dir = "$place"
listen = "127.0.0.1:${ports[$index]}"
public_url = "http://127.0.0.1:${ports[0]}"
chain = "rpc"
chain_id = $chain_id
chain_rpc_url = "http://$chain_listen"
chain_contract = "$contract"
chain_confirmations = 1
sequencer_key_file = "$data/keys/sequencer.key"
anchor_key_file = "$data/keys/anchor.key"
trusted_proxies = ["127.0.0.0/8"]

[cluster]
node = "$name"
servers = [$(nats_urls)]
monitors = [$(monitors)]
unsynced_allowed = $(nats_can_sync && echo false || echo true)
ca_file = "$data/certificates/authority.pem"
certificate_file = "$data/certificates/$name.pem"
key_file = "$data/certificates/$name.key"
TOML
  : >"$place.log"
  keep_node "$name" "$place" "$@" &
  wait_for "$name" grep -q '^listening on' "$place.log"
}

nats_and_curl() {
  install_nats
  install_packages curl openssl
}

role_of() { curl --silent "http://127.0.0.1:$1/readyz" | grep -o '"role":"[a-z]*"' | cut -d'"' -f4; }
is_led() {
  local port
  for port in "${ports[@]}"; do
    [[ "$(role_of "$port")" == leader ]] && return 0
  done
  return 1
}

tell() {
  local index
  printf '\n'
  for index in 0 1 2; do
    printf '    node%s   http://127.0.0.1:%s   %s\n' "$((index + 1))" "${ports[$index]}" "$(role_of "${ports[$index]}")"
  done
  cat <<TEXT

Try:
  $target_dir/release/kedge demo --url http://127.0.0.1:8082 --rpc http://$chain_listen \\
    --socket '$data/{node}/admin.sock' --kill-leader-with '$root/scripts/cluster.sh kill {node}'
  $target_dir/release/kedge cluster status --socket $data/node1/admin.sock
  scripts/cluster.sh kill node1        another node leads within seconds; node1 starts again

Ctrl-C stops everything; the logs are in $data.
TEXT
}

if [[ "${1:-}" == kill ]]; then
  kill_node "${2:-}"
  exit
fi
step "Tools" install_build_tools
step "NATS" nats_and_curl
step "Build" build_programs kedge
printf '\n==> 4. Start\n'
mkdir -p -m 700 "$data"
trap 'trap - EXIT; kill $(jobs -p) 2>/dev/null; wait' EXIT INT TERM
make_keys
make_certificates
start_chain
start_nats
start_node 0 "$@"
# The first node has generated the missing keys; the others get copies before they start.
for other in 2 3; do
  mkdir -p -m 700 "$data/node$other/keys"
  cp -n "$data"/node1/keys/* "$data/node$other/keys/"
done
start_node 1 "$@"
start_node 2 "$@"
wait_for "a leader" is_led
tell
wait
