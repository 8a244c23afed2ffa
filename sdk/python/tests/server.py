"""Starts the real server on a free loopback port, with a chain of its own, and stops it."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import IO

PATIENCE_S = 60


class Server:
    """A running server; `options` are settings as `--set` takes them."""

    def __init__(self, *options: str) -> None:
        binary = os.environ.get("KEDGE_BIN")
        if not binary:
            raise RuntimeError("KEDGE_BIN must name the server's binary")
        self._binary = binary
        self._directory = tempfile.TemporaryDirectory(prefix="kedge-python-sdk-")
        self._folder = Path(self._directory.name)
        self._options = options
        self._listen = "127.0.0.1:0"
        self._start()
        self._listen = self.url.removeprefix("http://")

    def _start(self) -> None:
        settings = ["embedded_chain_listen=127.0.0.1:0", "log_filter=warn", "checkpoint_interval_s=1", *self._options]
        command = [self._binary, "serve", "--dev", "--listen", self._listen, "--data", str(self._folder / "data")]
        for setting in settings:
            command += ["--set", setting]
        # Nothing of the caller's own settings reaches the server.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        output = self._process.stdout
        assert output is not None
        self.url = self._address(output)
        # The pipe has to be emptied, or the server would wait for a reader one day.
        threading.Thread(target=output.read, daemon=True).start()

    def _address(self, output: IO[str]) -> str:
        for line in output:
            if line.startswith("listening on "):
                return line.removeprefix("listening on ").strip()
        raise RuntimeError(f"the server does not start:\n{(self._folder / 'server.log').read_text()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process with a signal; gives its exit code."""
        self._process.send_signal(how)
        return self._process.wait(PATIENCE_S)

    def restart(self, how: signal.Signals) -> None:
        """Ends the process and starts it again on the same data and port."""
        self.end(how)
        self._start()

    def anchor(self) -> None:
        """Asks the server to anchor the log on its own chain now."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self._folder / "data" / "admin.sock"))
            admin.sendall(b'{"command": "anchor_now"}\n')
            answer = json.loads(admin.makefile().readline())
        if not answer["ok"]:
            raise RuntimeError(f"the server does not anchor: {answer}")

    def stop(self) -> int:
        """Asks the server to stop, and removes its data; gives its exit code."""
        code = self.end()
        self._directory.cleanup()
        return code
