"""Runs the README's tour, and compares what it prints with what the README states."""

import contextlib
import io
import re
import sys
from pathlib import Path

ORIGIN = "http://127.0.0.1:8080"


def main(readme: Path, url: str) -> None:
    """Runs all blocks in one program, one after the other."""
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 9, "the tour was not found"
    scope: dict[str, object] = {"__name__": "tour"}
    for block in blocks:
        stated = re.findall(r"^ *print\(.*\)    # (.*)$", block, re.MULTILINE)
        assert len(stated) == len(re.findall(r"\bprint\(", block)), f"a line without its output:\n{block}"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.replace(ORIGIN, url), str(readme), "exec"), scope)
        assert printed.getvalue().splitlines() == stated, (printed.getvalue(), stated)
    print(f"{len(blocks)} blocks")


main(Path(sys.argv[1]), sys.argv[2])
