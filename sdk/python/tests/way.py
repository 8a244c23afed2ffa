"""A way to the server that loses answers, refuses and breaks, as networks and proxies do."""

import http.client
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Fault = str | tuple[int, dict[str, str], dict[str, Any]]
LOSE = "lose"
"""The request reaches the server; its answer is lost."""
CUT = "cut"
"""The connection breaks before the request reaches the server."""


class Way(ThreadingHTTPServer):
    """Passes requests on. The requests that `hits` selects meet `faults`, one after the other: LOSE, CUT, or an answer
    (status, headers, body) in place of the server's. With a header `passed-on`, the request reaches the server all the same."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target).netloc
        self.faults: list[Fault] = []
        self.hits: Callable[[str, dict[str, str]], bool] = lambda path, headers: "x-signature" in headers
        self.paths: list[str] = []
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Way

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.paths.append(self.path)
        fault: Fault | None = None
        if self.server.hits(self.path, headers):
            self.server.seen.append((self.path, headers, body))
            fault = self.server.faults.pop(0) if self.server.faults else None
        if fault == CUT:
            self.close_connection = True
            return
        if isinstance(fault, tuple) and "passed-on" not in fault[1]:
            self.answer(fault[0], fault[1], json.dumps(fault[2]).encode())
            return
        onward = http.client.HTTPConnection(self.server.target, timeout=30)
        onward.request(self.command, self.path, body or None, {**headers, "connection": "close"})
        answer = onward.getresponse()
        content = answer.read()
        if fault == LOSE:
            self.close_connection = True
        elif isinstance(fault, tuple):
            self.answer(fault[0], fault[1], json.dumps(fault[2]).encode())
        else:
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in ("transfer-encoding", "content-length", "connection")}
            self.answer(answer.status, kept, content)

    def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = pass_on

    def log_message(self, *_: object) -> None:
        """Nothing: the tests state what they find."""


def envelope(status: int, code: str, **members: Any) -> dict[str, Any]:
    """An error as the service writes it."""
    return {"code": code, "status": status, "body": {"message": "a fault of the way", "request_id": "way", **members}}
