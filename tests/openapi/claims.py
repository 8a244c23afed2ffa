"""Claims in zero knowledge, proved by the server's own binary."""

import json
import subprocess

from server import PATIENCE_S, Server

# The examples' claims are not resolved on a chain.
RESOLVER = "0x1000000000000000000000000000000000000001"
# Their purpose.
PURPOSE = "0x" + b"an example of the document".hex().ljust(64, "0")


def proved(server: Server, proof: dict, claimant: str) -> dict:
    """A claim about a proof file's action that discloses only what was done and how."""
    of = ["--claimant", claimant, "--resolver", RESOLVER, "--purpose", PURPOSE]
    command = [server.binary, "prove", "claim", "-", "--disclose", "kind,payload", *of, "--dev-insecure", "--url", server.url]
    done = subprocess.run(command, input=json.dumps(proof), capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return json.loads(done.stdout)
