"""Checks spec.json and writes chain.json and trees.json.

Usage: python chain_trees.py <spec.json> <output directory>
"""

import json
import sys
from pathlib import Path

from chain import chain_vectors
from spec_check import check_spec
from trees import tree_vectors


def compact(value, indent: str = "") -> str:
    """JSON with one line for what fits into 160 characters: small files, readable differences."""
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(value, (dict, list)) or len(flat) < 160:
        return flat
    inner = indent + " "
    if isinstance(value, list):
        rows = [inner + compact(item, inner) for item in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    rows = [f"{inner}{json.dumps(key)}: {compact(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def main(spec: str, out: str) -> None:
    check_spec(json.loads(Path(spec).read_text(encoding="utf-8")))
    for name, vectors in (("chain.json", chain_vectors()), ("trees.json", tree_vectors())):
        Path(out, name).write_text(compact(vectors) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
