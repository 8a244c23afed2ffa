"""The image: built and run as it would be in production, without root, without a shell, on a root that is read-only."""

import json
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
from harness import ROOT, VERSION, need, program, run

IMAGE = f"localhost/kedge:{VERSION}"
NAME = "kedge"


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need("podman")
        # crun refuses machines that have the control groups of both versions, runc does not.
        need("runc")
        folder = tempfile.TemporaryDirectory(prefix="kedge-image-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        # Separate storage, without a service: the machine's images and containers are not touched.
        cls.podman = ["podman", "--root", f"{folder.name}/root", "--runroot", f"{folder.name}/run", "--tmpdir",
                      f"{folder.name}/tmp", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file",
                      "--runtime", "runc"]
        # Runs in reverse order. Only podman can remove files of a container's users.
        cls.addClassCleanup(cls.engine, "volume", "rm", "--all", "--force")
        cls.addClassCleanup(cls.engine, "rmi", "--all", "--force")
        cls.addClassCleanup(cls.engine, "rm", "--all", "--force")
        run(ROOT / "scripts/dist.sh", "image", env=harness.environment(
            KEDGE_BIN=str(program()), CONTAINER_ENGINE=" ".join(cls.podman)))

    @classmethod
    def engine(cls, *arguments, **options):
        return run(*cls.podman, *arguments, **options)

    def start(self, *more):
        """A container without a network, so that ports never conflict; the volume is new at first, and stays.

        podman asks for more open files and processes than some machines let it, and for a timer of systemd to run
        healthchecks with: the tests run those themselves.
        """
        _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
        limits = ["--ulimit", f"nofile={min(files, 65536)}", "--ulimit", "nproc=4096", "--health-interval", "disable"]
        self.engine("run", "--detach", "--name", NAME, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
                    "--security-opt", "no-new-privileges", "--network", "none", "--volume", "log:/var/lib/kedge",
                    "--env", "KEDGE_DEV=true", *limits, *more, IMAGE)
        self.addCleanup(self.engine, "rm", "--force", "--ignore", NAME)
        # Until the server's first line, or until the container has ended.
        with subprocess.Popen([*self.podman, "logs", "--follow", NAME], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as logs:
            first = logs.stdout.readline()
            logs.kill()
            self.assertTrue(first.startswith("listening on "), f"{first}{logs.stderr.read()}")

    def inside(self, *command, **options):
        return self.engine("exec", NAME, "kedge", *command, **options)

    def stop(self):
        self.engine("stop", "--time", "60", NAME)
        self.assertEqual(self.engine("inspect", "--format", "{{.State.ExitCode}}", NAME).strip(), "0")
        self.engine("rm", NAME)

    # Holds invariant 176.
    def test_it_serves_keeps_its_log_and_stops_in_order(self):
        self.start()
        self.engine("healthcheck", "run", NAME)
        self.assertEqual(self.inside("health", "--ready"), "ready\n")
        self.inside("demo", "--objects", "500", "--save", "/tmp/proof.json")
        before = json.loads(self.inside("admin", "status", "--json"))
        self.assertGreater(before["sequence"], 500)
        self.assertEqual(self.engine("top", NAME, "user", "capeff").split()[-2:], ["kedge", "none"])
        self.stop()

        self.start()
        after = json.loads(self.inside("admin", "status", "--json"))
        self.assertEqual((after["sequence"], after["head"]), (before["sequence"], before["head"]))
        self.stop()

    def test_a_container_whose_server_does_not_answer_is_unhealthy(self):
        """The server does not listen where the image's healthcheck asks."""
        self.start("--env", "KEDGE_LISTEN=127.0.0.1:8081")
        self.inside("health", "--url", "http://127.0.0.1:8081")
        self.engine("healthcheck", "run", NAME, code=1)
        self.stop()

    # Holds invariant 176.
    def test_it_holds_the_program_its_licences_and_no_shell(self):
        self.engine("create", "--name", "still", IMAGE)
        self.addCleanup(self.engine, "rm", "still")
        with tempfile.TemporaryDirectory() as folder:
            self.engine("export", "--output", f"{folder}/files.tar", "still")
            names = set(run("tar", "--list", "--file", f"{folder}/files.tar").split())
        for name in ["usr/local/bin/kedge", "usr/local/share/doc/kedge/THIRD-PARTY.txt", "usr/share/doc/libc6/copyright"]:
            self.assertIn(name, names)
        self.assertEqual({name for name in names if Path(name).name in {"sh", "bash", "busybox"}}, set())
        shown = json.loads(self.engine("image", "inspect", IMAGE))[0]
        self.assertEqual(shown["Config"]["User"], "65532:65532")
        self.assertEqual(shown["Labels"]["org.opencontainers.image.version"], VERSION)


if __name__ == "__main__":
    unittest.main()
