"""The compose file: valid, with every file that it mounts, and in agreement with the server and the dashboards."""

import re
import tempfile
import unittest
from pathlib import Path

import yaml

import harness
from harness import PACKAGES, ROOT, VERSION, need, options, run, unpacked

COMPOSE = PACKAGES / "compose"


def read(path):
    return yaml.safe_load(path.read_text())


class Compose(unittest.TestCase):
    def setUp(self):
        self.services = read(COMPOSE / "compose.yaml")["services"]

    def test_it_follows_the_specification(self):
        run(need("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", COMPOSE / "compose.yaml")

    def test_an_engine_reads_it(self):
        shown = run(need("podman-compose"), "--file", COMPOSE / "compose.yaml", "config")
        self.assertIn(f"localhost/kedge:{VERSION}", shown)
        self.assertNotIn("${", shown)

    # Holds invariant 176.
    def test_every_file_that_it_mounts_is_in_the_repository_and_in_the_archive(self):
        # In the archive, the folder stands one level higher than in the repository.
        for folder in (COMPOSE, unpacked() / "share/kedge/packages/compose"):
            services = read(folder / "compose.yaml")["services"]
            mounts = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
            mounts = [mount for mount in mounts if mount.startswith(".")]
            self.assertGreaterEqual(len(mounts), 5)
            for mount in mounts:
                self.assertTrue((folder / mount).exists(), f"{folder}: {mount}")

    # Holds invariant 176.
    def test_the_server_knows_every_option(self):
        names = {name.removeprefix("KEDGE_").lower() for name in self.services["kedge"]["environment"]}
        self.assertLessEqual(names, options())

    # Holds invariant 176.
    def test_it_waits_longer_than_an_orderly_stop_takes(self):
        seconds = self.services["kedge"]["stop_grace_period"]
        self.assertGreater(int(seconds.removesuffix("s")), harness.stop_seconds_min() + 10)

    def test_prometheus_reads_the_configuration_and_the_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            mounted = Path(folder)
            (mounted / "prometheus.yml").write_text((COMPOSE / "prometheus.yml").read_text())
            (mounted / "rules").symlink_to(ROOT / "dashboards/prometheus/rules")
            run(need("promtool"), "check", "config", mounted / "prometheus.yml")

    def test_it_differs_from_the_dashboards_configuration_in_names_alone(self):
        ours = read(COMPOSE / "prometheus.yml")
        image = (PACKAGES / "container/Containerfile").read_text()
        [port] = re.findall(r"KEDGE_METRICS_LISTEN=0\.0\.0\.0:(\d+)", image)
        self.assertEqual(ours["scrape_configs"][0]["static_configs"], [{"targets": [f"kedge:{port}"]}])
        ours["scrape_configs"][0]["static_configs"] = [{"targets": ["127.0.0.1:9464"]}]
        self.assertEqual(ours, read(ROOT / "dashboards/prometheus/prometheus.yml"))
        ours = read(COMPOSE / "grafana-datasource.yml")
        ours["datasources"][0]["url"] = "http://127.0.0.1:9090"
        self.assertEqual(ours, read(ROOT / "dashboards/grafana/provisioning/datasources/prometheus.yml"))


if __name__ == "__main__":
    unittest.main()
