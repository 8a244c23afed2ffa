"""Makes the generated code again, from the document of the server that KEDGE_BIN names."""

import subprocess
import sys
from pathlib import Path

from server import Server

running = Server()
try:
    subprocess.run([sys.executable, "-m", "generate", running.url], cwd=Path(__file__).parent.parent, check=True)
finally:
    running.stop()
