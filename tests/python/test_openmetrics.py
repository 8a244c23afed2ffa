"""The metrics of a real server with tracing, read by Prometheus's own OpenMetrics parser."""

import socket
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from harness import Server, eventually

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Collector(ThreadingHTTPServer):
    """Accepts every trace, and keeps none."""

    def __init__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def get(url: str, **headers: str) -> tuple[str, str]:
    """The media type and the text."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return answer.headers["content-type"], answer.read().decode()


class OpenMetrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.server_close)
        cls.addClassCleanup(cls.collector.shutdown)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        cls.metrics = f"http://{address}/metrics"
        endpoint = f"http://127.0.0.1:{cls.collector.server_port}"
        cls.server = Server(f"metrics_listen={address}", f"tracing_endpoint={endpoint}", "tracing_sample_ratio=0")
        cls.addClassCleanup(lambda: cls.assertEqual(cls(), cls.server.stop(), 0))

    # Holds invariant 198.
    def test_the_page_is_openmetrics_with_an_exemplar_in_its_bucket(self):
        get(f"{self.server.url}/batches", traceparent=f"00-{TRACE}-b7ad6b7169203331-01")
        media_type, text = get(self.metrics, accept="application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5")
        self.assertEqual(media_type, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        families = list(open_families(text))
        found = [sample for family in families for sample in family.samples if sample.exemplar]
        self.assertEqual(len(found), 1)
        (sample,) = found
        self.assertEqual(sample.name, "kedge_http_request_seconds_bucket")
        self.assertEqual((sample.labels["route"], sample.labels["method"]), ("/batches", "GET"))
        self.assertEqual(sample.exemplar.labels["trace_id"], TRACE)
        self.assertLessEqual(sample.exemplar.value, float(sample.labels["le"]))

    def test_both_formats_have_the_same_families_and_series(self):
        def series(families):
            return {
                (sample.name, *sorted((name, value if name != "le" else float(value)) for name, value in sample.labels.items()))
                for family in families
                for sample in family.samples
            }

        def scrape():
            """Both formats, read when no new metric appeared in between, as some do soon after the start."""
            media_type, before = get(self.metrics)
            self.assertTrue(media_type.startswith("text/plain"))
            _, opened = get(self.metrics, accept="application/openmetrics-text")
            _, after = get(self.metrics)
            opened, before, after = list(open_families(opened)), list(plain_families(before)), list(plain_families(after))
            return (opened, after) if series(before) == series(after) else None

        get(f"{self.server.url}/healthz")
        opened, plain = eventually("two scrapes with the same series", scrape)
        self.assertEqual({family.name: family.type for family in opened}, {family.name: family.type for family in plain})
        self.assertEqual(series(opened), series(plain))
        self.assertGreater(len(opened), 30)


if __name__ == "__main__":
    unittest.main()
