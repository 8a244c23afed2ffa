#!/usr/bin/env bash
# Checks the API document: `test` against OpenAPI, its schemas, a server and client generators; `fuzz` runs schemathesis
# with so many examples; `examples` records the examples again.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

folder="$root/tests/openapi"
python="$folder/.venv/bin/python"

# run <file…>: with the server of KEDGE_BIN, or the newest build.
run() {
  (cd "$folder" && KEDGE_BIN="${KEDGE_BIN:-$target_dir/release/kedge}" PYTHONDONTWRITEBYTECODE=1 "$python" "$@")
}

install_build_tools
install_packages python3 python3-venv
install_document_packages
if [[ "${1:-}" == test ]]; then
  install_generators
fi
if [[ -z "${KEDGE_BIN:-}" ]]; then
  build_programs kedge
fi
case "${1:-}" in
  test) run -m pytest --quiet -p no:cacheprovider . ;;
  fuzz) run fuzz.py ;;
  examples) run story.py record ;;
  *) die "usage: scripts/document.sh test|fuzz|examples" ;;
esac
