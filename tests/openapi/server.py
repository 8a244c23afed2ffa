"""A test's own server: the real binary, on a free port, in a temporary directory."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

# Seconds that a start, or an anchor on the embedded chain, may take.
PATIENCE_S = 60


# No limits apply here, and webhooks may call this machine.
OPTIONS = ("rate_limits=off", 'webhook_allowed_networks=["127.0.0.0/8"]')


class Receiver:
    """Receives webhook messages on this machine, and answers each with 204."""

    def __enter__(self) -> "Receiver":
        self.messages: list[tuple[dict[str, str], dict]] = []
        messages = self.messages

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                messages.append(({name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/kedge"
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


class Server:
    """Runs for the length of a block; `options` are name=value pairs of the configuration."""

    def __init__(self, *options: str) -> None:
        self.binary = os.environ.get("KEDGE_BIN")
        if not self.binary:
            raise SystemExit("KEDGE_BIN must name the server binary")
        self.options = options
        self.url = ""

    def __enter__(self) -> "Server":
        self.directory = Path(tempfile.mkdtemp(prefix="kedge-openapi-"))
        self.log = (self.directory / "log").open("w+")
        command = [self.binary, "serve", "--dev", "--listen", "127.0.0.1:0", "--data", str(self.directory / "data")]
        for option in ('embedded_chain_listen="127.0.0.1:0"', "log_filter=warn", "checkpoint_interval_s=1", *OPTIONS, *self.options):
            command += ["--set", option]
        # Nothing of the caller's own settings reaches the server.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
        self.process = subprocess.Popen(command, env=clean, stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.removeprefix("listening on ").strip()
                return self
        raise SystemExit(f"the server did not start:\n{self.logged()}")

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=PATIENCE_S)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def logged(self) -> str:
        return (self.directory / "log").read_text()

    def panics(self) -> list[str]:
        """Lines of panics, and of answers that the document does not describe."""
        faults = r"^thread .* panicked at .*\n.*|^.*an answer is not as the document describes it.*"
        return re.findall(faults, self.logged(), re.MULTILINE)

    def anchor(self) -> None:
        """Anchors the log on the embedded chain, and waits for finality."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self.directory / "data" / "admin.sock"))
            admin.sendall(b'{"command": "anchor_now"}\n')
            answer = json.loads(admin.makefile().readline())
        if not answer["ok"]:
            raise AssertionError(answer)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            anchors = requests.get(f"{self.url}/anchors", timeout=PATIENCE_S).json()["items"]
            if anchors and anchors[-1]["status"] == "finalized":
                return
            time.sleep(0.05)
        raise AssertionError(f"no anchor became final:\n{self.logged()}")
