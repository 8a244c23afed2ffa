"""Refusals before the body was read reach this platform's clients, every time."""

import http.client
import json
import subprocess
import tempfile
import unittest
from urllib.parse import urlsplit

from harness import Server

TIMES = 100
SIZES = (2_000, 300_000, 3_000_000)


class Early(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(lambda: cls.assertEqual(cls(), cls.server.stop(), 0))

    # Holds invariant 121.
    def test_http_client_gets_every_refusal_and_goes_on(self):
        address = urlsplit(self.server.url)
        for size in SIZES:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            for number in range(TIMES):
                with self.subTest(size=size, number=number):
                    connection.request("POST", "/objects", b" " * size, {"content-type": "application/json"})
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, json.load(answer)["code"]), (401, "UNAUTHENTICATED"))
                    # The next request is read as one, not as the rest of the body.
                    connection.request("GET", "/version")
                    answer = connection.getresponse()
                    self.assertEqual(answer.status, 200)
                    answer.read()
            connection.close()

    # Holds invariant 121.
    def test_curl_over_http2_gets_every_refusal(self):
        # Also more than any file may have: then the answer is sent before the request has ended.
        ended_short = 0
        for size in (*SIZES, 30_000_000):
            with tempfile.NamedTemporaryFile() as body:
                body.write(b" " * size)
                body.flush()
                for number in range(TIMES if size in SIZES else 20):
                    command = [
                        "curl", "--silent", "--show-error", "--http2-prior-knowledge", "--max-time", "30",
                        "--header", "content-type: application/json", "--data-binary", f"@{body.name}",
                        "--write-out", "%{http_code} %{http_version}", "--output", "-", f"{self.server.url}/objects",
                    ]
                    sent = subprocess.run(command, capture_output=True, text=True, check=False)
                    with self.subTest(size=size, number=number):
                        self.assertTrue(sent.stdout.endswith("401 2"), sent.stdout)
                        # Once curl has the head of an answer that refuses, it ends its body, whatever length it announced. The
                        # server has to reset such a stream with a PROTOCOL_ERROR (RFC 9113, 8.1.1). If a busy machine sends the
                        # answer's own body after that, curl has the status and misses the rest.
                        if size not in SIZES and sent.returncode == 92 and "PROTOCOL_ERROR" in sent.stderr:
                            ended_short += 1
                            continue
                        self.assertEqual((sent.returncode, sent.stderr), (0, ""))
                        self.assertIn("UNAUTHENTICATED", sent.stdout)
        self.assertLessEqual(ended_short, 5)


if __name__ == "__main__":
    unittest.main()
