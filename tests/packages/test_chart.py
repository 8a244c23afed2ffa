"""The Helm chart: rendered by helm, checked against the schemas of Kubernetes, and its configuration by a real server."""

import functools
import re
import tempfile
import tomllib
import unittest
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

import harness
from harness import PACKAGES, VERSION, Serving, free_port, need, options, program, run

CHART = PACKAGES / "helm/kedge"
VALUES = ["dev", "full"]
# The oldest version of Kubernetes that the chart accepts.
OLDEST = re.search(r"[0-9.]+", yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"])[0]


@functools.cache
def render(values, *more):
    """The chart's objects by kind and name."""
    text = run(need("helm"), "template", "log", CHART, "--kube-version", OLDEST,
               "--values", CHART / f"ci/{values}-values.yaml", *more)
    found = [document for document in yaml.safe_load_all(text) if document]
    return {(document["kind"], document["metadata"]["name"]): document for document in found}


def pod(values):
    return render(values)["StatefulSet", "log-kedge"]["spec"]["template"]["spec"]


class Rendered(unittest.TestCase):
    def setUp(self):
        need("helm")

    def test_helm_finds_nothing_to_complain_about(self):
        for values in VALUES:
            run("helm", "lint", "--strict", "--kube-version", OLDEST, CHART, "--values", CHART / f"ci/{values}-values.yaml")

    def test_kubernetes_accepts_every_object(self):
        for values in VALUES:
            for (kind, _), document in render(values).items():
                # Its schema belongs to the operator, not to Kubernetes.
                if kind != "ServiceMonitor":
                    for version in [OLDEST, kubernetes_validate.latest_version()]:
                        kubernetes_validate.validate(document, version, strict=True)

    def test_what_is_optional_is_there_when_it_is_asked_for(self):
        few = {kind for kind, _ in render("dev")}
        self.assertEqual(few, {"ConfigMap", "Service", "StatefulSet"})
        self.assertEqual({kind for kind, _ in render("full")}, few | {"NetworkPolicy", "ServiceMonitor"})

    # Holds invariant 176.
    def test_the_pod_is_confined(self):
        for values in VALUES:
            spec = pod(values)
            [container] = spec["containers"]
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
            self.assertTrue(spec["securityContext"]["runAsNonRoot"])
            self.assertEqual(spec["securityContext"]["fsGroupChangePolicy"], "OnRootMismatch")
            self.assertFalse(spec["automountServiceAccountToken"])
            # A Service named kedge would set KEDGE_PORT, which is no option of the server.
            self.assertFalse(spec["enableServiceLinks"])

    # Holds invariant 176.
    def test_it_waits_longer_than_an_orderly_stop_takes(self):
        self.assertGreater(pod("full")["terminationGracePeriodSeconds"], harness.stop_seconds_min() + 10)

    # Holds invariant 176.
    def test_a_server_starts_with_the_rendered_arguments_and_configuration(self):
        chart = render("dev", "--set", "config.requests_max=4096,config.anchor_on_shutdown=true",
                       "--set", "config.public_url=https://kedge.example.com/a?b&c=<d>")
        text = chart["ConfigMap", "log-kedge"]["data"]["kedge.toml"]
        self.assertEqual(tomllib.loads(text)["public_url"], "https://kedge.example.com/a?b&c=<d>")
        [container] = chart["StatefulSet", "log-kedge"]["spec"]["template"]["spec"]["containers"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kedge.toml"
            file.write_text(text.replace("/a?b&c=<d>", ""))
            arguments = [argument.replace("/etc/kedge", folder) for argument in container["args"]]
            # The kubelet's permissions of a volume with a group.
            volume = Path(folder) / "volume"
            volume.mkdir()
            volume.chmod(0o2775)
            # The image's settings.
            image = harness.environment(
                KEDGE_LISTEN="127.0.0.1:0", KEDGE_DATA_DIR=f"{volume}/data", KEDGE_METRICS_LISTEN="127.0.0.1:0",
                KEDGE_EMBEDDED_CHAIN_LISTEN=f"127.0.0.1:{free_port()}")
            for _ in range(2):
                with Serving(program(), *arguments, env=image):
                    pass

            # Without two of the chart's settings Kubernetes would cause a refused start.
            linked = run(program(), *arguments, env=image | {"KEDGE_PORT": "tcp://10.0.0.1:80"}, code=1)
            self.assertIn("found `port`", linked)
            run("chmod", "--recursive", "g+rwX", volume)
            self.assertIn("can be read by others", run(program(), *arguments, env=image, code=1))

    def test_the_options_of_the_full_example_are_the_servers(self):
        text = render("full")["ConfigMap", "log-kedge"]["data"]["kedge.toml"]
        self.assertLessEqual(set(tomllib.loads(text)), options())

    # Holds invariant 176.
    def test_values_that_would_harm_are_refused(self):
        full = ["--values", str(CHART / "ci/full-values.yaml")]
        for arguments, why in [
            ([*full, "--set", "replicas=2"], "replicas"),
            ([*full, "--set", "config.data_dir=/data"], "data_dir"),
            ([*full, "--set", "persistence.accessMode=ReadWriteMany"], "accessMode"),
            ([*full, "--set", "keysSecret="], "keysSecret"),
            ([*full, "--set", "replicaCount=1"], "replicaCount"),
            ([], "chain_rpc_url"),
        ]:
            with self.subTest(why):
                refused = run("helm", "template", "log", CHART, "--kube-version", OLDEST, *arguments, code=1)
                self.assertIn(why, refused)


class Values(unittest.TestCase):
    """Tests that need no helm."""

    # Holds invariant 176.
    def test_the_schema_accepts_the_examples_and_one_replica_alone(self):
        schema = yaml.safe_load((CHART / "values.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        base = yaml.safe_load((CHART / "values.yaml").read_text())
        for values in VALUES:
            merged = base | yaml.safe_load((CHART / f"ci/{values}-values.yaml").read_text())
            jsonschema.validate(merged, schema)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(merged | {"replicas": 2}, schema)
        self.assertEqual(set(schema["properties"]) - {"global"}, set(base))

    def test_its_version_is_the_servers(self):
        self.assertEqual(str(yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]), VERSION)


if __name__ == "__main__":
    unittest.main()
