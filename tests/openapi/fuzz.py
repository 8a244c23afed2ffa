"""Runs schemathesis against a server of its own, for a bounded time, from a seed that is told.

FUZZ_SEED repeats a run, FUZZ_SECONDS changes its length.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

from server import Receiver, Server

HERE = Path(__file__).parent
SECONDS = int(os.environ.get("FUZZ_SECONDS", "75"))
SEED = int(os.environ.get("FUZZ_SEED", random.SystemRandom().randrange(2**32)))


# One operation at a time, then what links lead to: each has its share of the seconds.
SHARES = (("examples,coverage,fuzzing", 0.6), ("stateful", 0.4))


def run(server: Server, receiver: Receiver, phases: str, seconds: float) -> int:
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{server.url}/openapi.json", "--checks", "all", "--phases", phases]
    command += ["--max-time", str(round(seconds)), "--seed", str(SEED), "--no-color", "--warnings", "off"]
    # It has no end that could be waited for: test_examples.py reads it.
    command += ["--exclude-path", "/ebus/events/stream"]
    environment = {
        **os.environ,
        "KEDGE_URL": server.url,
        "KEDGE_HOOK": receiver.url,
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run([*command, *sys.argv[1:]], cwd=HERE, env=environment, check=False).returncode


def main() -> int:
    print(f"FUZZ_SEED={SEED} FUZZ_SECONDS={SECONDS}", flush=True)
    with Server() as server, Receiver() as receiver:
        codes = [run(server, receiver, phases, share * SECONDS) for phases, share in SHARES]
        panics = server.panics()
        for panic in panics:
            print(panic, file=sys.stderr)
        return 1 if panics or any(codes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
