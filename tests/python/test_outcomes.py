"""Lost answers: the client sends the same bytes again, and everything is done exactly once."""

import http.client
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from harness import Server
from kedge_client import Client


class LossyWay(ThreadingHTTPServer):
    """A proxy that loses the answers to signed requests, after the server carried them out."""

    daemon_threads = True

    def __init__(self, target: str):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = urlsplit(target).netloc
        self.lose = 0
        self.signatures: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        onward = http.client.HTTPConnection(self.server.target, timeout=30)
        onward.request(self.command, self.path, body or None, dict(self.headers))
        answer = onward.getresponse()
        content = answer.read()
        signature = self.headers.get("X-Signature")
        if signature:
            self.server.signatures.append(signature)
            if self.server.lose > 0:
                self.server.lose -= 1
                self.close_connection = True
                return
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = pass_on

    def log_message(self, *_) -> None:
        """Does nothing: the test reports what it finds."""


class Outcomes(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.way = LossyWay(cls.server.url)
        cls.addClassCleanup(cls.way.shutdown)

    # Holds invariant 95.
    def test_what_was_done_without_an_answer_is_found_done(self) -> None:
        client = Client(self.way.url)
        self.way.lose = 1
        client.register("lost@example.com")
        self.way.signatures.clear()
        self.way.lose = 2
        template = client.change("POST", "/templates", ("template.create", "", '{"name":"once"}'))
        self.assertEqual(len(self.way.signatures), 3)
        self.assertEqual(len(set(self.way.signatures)), 1, "it is signed once")
        templates = client.read("/templates")["items"]
        self.assertEqual([template["id"]], [one["id"] for one in templates], "it is done once")
