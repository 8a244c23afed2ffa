"""Webhooks of a real server, verified by the Python library of Standard Webhooks."""

import base64
import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

from harness import Server, eventually
from kedge_client import Client


class Receiver(ThreadingHTTPServer):
    """Accepts every message and keeps it unchanged."""

    def __init__(self):
        self.messages = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.server.messages.append((headers, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Webhooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server('webhook_allowed_networks=["127.0.0.0/8"]')
        cls.addClassCleanup(lambda: cls.assertEqual(cls(), cls.server.stop(), 0))
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.server_close)
        cls.addClassCleanup(cls.receiver.shutdown)

    def refused(self, secret: str, body: bytes, headers: dict):
        with self.assertRaises(WebhookVerificationError):
            Webhook(secret).verify(body, headers)

    def test_messages_verify_and_changed_ones_do_not(self):
        ann = Client(self.server.url)
        ann.register("ann@example.com")
        wanted = {"url": f"http://127.0.0.1:{self.receiver.server_port}/hook", "events": ["template.created"]}
        made = ann.change("POST", "/webhooks", ("webhook.create", "", json.dumps(wanted)))
        rotate = ("webhook.rotate", made["id"], '{"overlap_s":600}')
        rotated = ann.change("POST", f"/webhooks/{made['id']}/rotate", rotate)
        ann.change("POST", "/templates", ("template.create", "", '{"name":"Ä ticket"}'))
        headers, body = eventually("a message", lambda: self.receiver.messages)[0]
        sent_s = int(headers["webhook-timestamp"])
        # Both secrets sign while the old one still counts.
        for secret in (made["secret"], rotated["secret"]):
            event = Webhook(secret).verify(body, headers)
            self.assertEqual((event["type"], event["data"]["name"]), ("template.created", "Ä ticket"))
            self.refused(secret, body.replace(b"ticket", b"tickets"), headers)
            self.refused(secret, body + b" ", headers)
            self.refused(secret, body[:-1], headers)
            self.refused(secret, body, {**headers, "webhook-id": headers["webhook-id"] + "0"})
            for late_s in (-1, 1, -600, 600):
                self.refused(secret, body, {**headers, "webhook-timestamp": str(sent_s + late_s)})
            unsigned = {**headers, "webhook-signature": "v1," + base64.b64encode(bytes(32)).decode()}
            self.refused(secret, body, unsigned)
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
                self.refused(secret, body, {key: value for key, value in headers.items() if key != name})
        key = base64.b64decode(made["secret"].removeprefix("whsec_"))
        near = "whsec_" + base64.b64encode(key[:-1] + bytes([key[-1] ^ 1])).decode()
        self.refused(near, body, headers)


if __name__ == "__main__":
    unittest.main()
