#!/usr/bin/env bash
# Calls cargo with the environment shared by all scripts, so that nothing is compiled twice.
set -euo pipefail
source "$(dirname "$0")/shell.sh"
source "$root/scripts/tools.sh"
find_cargo
use_rocksdb
# The same flags as for all optimised code.
[[ " $* " != *" --release "* && "${1:-}" != bench ]] || use_release_paths
cd "$root"
exec cargo "$@"
