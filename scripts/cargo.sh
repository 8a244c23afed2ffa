#!/usr/bin/env bash
# Calls cargo with the environment that every script uses, so that nothing is compiled twice.
set -euo pipefail
source "$(dirname "$0")/shell.sh"
source "$root/scripts/tools.sh"
find_cargo
use_rocksdb
# As everything else that is optimised.
[[ " $* " != *" --release "* && "${1:-}" != bench ]] || use_release_paths
cd "$root"
exec cargo "$@"
