#!/usr/bin/env bash
# Tasks of the Python SDK in sdk/python: `test` runs its tests, `generate` regenerates types and operations from the API
# document, `docs` writes its reference, `measure` measures its speed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

folder="$root/sdk/python"
python="$folder/.venv/bin/python"

documented=(kedge kedge.generated.{client,async_client,operations,models} kedge.{signing,retry,protocol.{ids,trees,typed}})

# run <arguments…>: Python with the SDK's packages, and the server of KEDGE_BIN or the newest build.
run() {
  (cd "$folder" && KEDGE_BIN="${KEDGE_BIN:-$target_dir/release/kedge}" PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 "$python" "$@")
}

install_packages python3 python3-venv
install_python_sdk_packages
if [[ -z "${KEDGE_BIN:-}" && "${1:-}" != docs ]]; then
  install_build_tools
  build_programs kedge
fi
case "${1:-}" in
  test) run -m pytest "${@:2}" ;;
  generate) run tests/fresh.py ;;
  docs) PDOC_ALLOW_EXEC=1 run -m pdoc --docformat google --output-directory "${2:-out}" "${documented[@]}" ;;
  measure) run tests/measure.py ;;
  *) die "usage: scripts/python-sdk.sh test|generate|docs|measure" ;;
esac
