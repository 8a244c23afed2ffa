#!/usr/bin/env bash
# Installs what is missing, builds the server and starts it on ./data. Arguments go to `kedge serve`.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh
source scripts/console.sh

# Where there is a terminal, job control gives the server a process group of its own: Ctrl-C then reaches it
# alone, make waits while it drains, and its exit status is make's. Should this shell be killed, setpriv has the
# server asked to end. Without a terminal it takes this shell's place.
serve() {
  # Where `make monitor` looks for them.
  export KEDGE_METRICS_LISTEN="${KEDGE_METRICS_LISTEN:-127.0.0.1:9464}"
  local command=("$target_dir/release/kedge" serve --dev --data "$root/data" "$@")
  if [[ -t 0 && -t 1 ]]; then
    set -m
    setpriv --pdeathsig TERM -- "${command[@]}"
  else
    trap - EXIT
    exec "${command[@]}"
  fi
}

step "Tools" install_build_tools
step "Console" build_console
step "Build" build_programs kedge
printf '\n==> 4. Start\n'
serve "$@"
