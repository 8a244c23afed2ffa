"""Starts the real server on a free loopback port, with its embedded chain, and stops it."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PATIENCE_S = 60


class Server:
    """A running server; `options` are settings in the form of `--set`."""

    def __init__(self, *options: str):
        binary = os.environ.get("KEDGE_BIN")
        if not binary:
            raise RuntimeError("KEDGE_BIN must name the server binary")
        self._directory = tempfile.TemporaryDirectory(prefix="kedge-python-")
        folder = Path(self._directory.name)
        # The tests send more than a free organization may.
        settings = ["embedded_chain_listen=127.0.0.1:0", "log_filter=warn", "rate_limits=off", "checkpoint_interval_s=1", *options]
        command = [binary, "serve", "--dev", "--listen", "127.0.0.1:0", "--data", str(folder / "data")]
        for setting in settings:
            command += ["--set", setting]
        # Nothing of the caller's own settings reaches the server.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = self._address()
        # The pipe has to be drained, or the server would block on it eventually.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def _address(self) -> str:
        for line in self._process.stdout:
            if line.startswith("listening on "):
                return line.removeprefix("listening on ").strip()
        raise RuntimeError(f"the server does not start:\n{self._log.read_text()}")

    def stop(self) -> int:
        """Asks the server to stop; returns its exit code."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE_S)
        self._process.stdout.close()
        self._directory.cleanup()
        return code


def eventually(what: str, probe):
    """The probe's first result that is not empty."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE_S} s: {what}")
