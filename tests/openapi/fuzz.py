"""Runs schemathesis against a separate server: a fixed number of examples of each operation and of walks along
links, from a printed seed. However slow the machine is, it does all of them.

FUZZ_SEED repeats a run, FUZZ_EXAMPLES sets the number of examples.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import requests

from server import PATIENCE_S, Receiver, Server

HERE = Path(__file__).parent
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
SEED = int(os.environ.get("FUZZ_SEED", random.SystemRandom().randrange(2**32)))

# One operation at a time, then walks along links: a fixed number for each example of an operation.
OPERATIONS, WALKS = "examples,coverage,fuzzing", "stateful"
WALKS_PER_EXAMPLE = 3

# An endless answer; test_examples.py reads it.
EXCLUDED = "/ebus/events/stream"
# Schemathesis reads the document, which it does not count as an operation.
DOCUMENT = "/openapi.json"


def run(server: Server, receiver: Receiver, phases: str, examples: int, calls: Path) -> int:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{server.url}{DOCUMENT}", "--checks", "all", "--phases", phases]
    command += ["--max-examples", str(examples), "--seed", str(SEED), "--no-color", "--warnings", "off"]
    command += ["--exclude-path", EXCLUDED]
    environment = {
        **os.environ,
        "KEDGE_URL": server.url,
        "KEDGE_HOOK": receiver.url,
        "KEDGE_CALLS": str(calls),
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run([*command, *sys.argv[1:]], cwd=HERE, env=environment, check=False).returncode


def operations(server: Server) -> set[str]:
    """The operations to call."""
    paths = requests.get(server.url + DOCUMENT, timeout=PATIENCE_S).json()["paths"]
    called = [each for path, each in paths.items() if path not in (EXCLUDED, DOCUMENT)]
    return {rows["operationId"] for each in called for rows in each.values()}


def left_out(server: Server, calls: Path) -> list[str]:
    """The operations that were never called, for any reason."""
    counted = json.loads(calls.read_text()) if calls.exists() else {}
    print(f"{sum(counted.values())} calls of {len(counted)} operations", flush=True)
    return sorted(operations(server) - counted.keys())


def main() -> int:
    print(f"FUZZ_SEED={SEED} FUZZ_EXAMPLES={EXAMPLES}", flush=True)
    with Server() as server, Receiver() as receiver, tempfile.TemporaryDirectory() as folder:
        by_operation, by_link = Path(folder, "operations"), Path(folder, "walks")
        codes = [
            run(server, receiver, OPERATIONS, EXAMPLES, by_operation),
            run(server, receiver, WALKS, WALKS_PER_EXAMPLE * EXAMPLES, by_link),
        ]
        missing = [] if len(sys.argv) > 1 else left_out(server, by_operation)
        for operation in missing:
            print(f"{operation} was never called", file=sys.stderr)
        panics = server.panics()
        for panic in panics:
            print(panic, file=sys.stderr)
        return 1 if panics or missing or any(codes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
