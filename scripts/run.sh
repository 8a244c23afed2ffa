#!/usr/bin/env bash
# Installs missing tools, builds the server, and starts it on ./data. Arguments go to `kedge serve`.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh
source scripts/console.sh

# With a terminal, job control puts the server into a separate process group: Ctrl-C then reaches only the server, make
# waits while it drains, and its exit status becomes make's. If this shell is killed, setpriv asks the server to end.
# Without a terminal, the server replaces this shell.
serve() {
  # Default address for `make monitor`.
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

build_server() {
  [[ -x "$target_dir/release/kedge" ]] ||
    say "    compiling Kedge and its libraries, once: about ten minutes on two cores, seconds the next time"
  build_programs kedge
}

step "Tools" install_build_tools
step "Console" build_console
step "Build" build_server
printf '\n==> 4. Start\n'
serve "$@"
