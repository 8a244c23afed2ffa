"""The packages for pip and npm: installed from their files into empty folders, the program runs, serves and stops."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

import harness
from harness import PATIENCE, ROOT, VERSION, Serving, need, package, program, run

PROCESSOR = os.uname().machine
NODE_PROCESSOR = {"x86_64": "x64", "aarch64": "arm64"}[PROCESSOR]
NOTICES = ["LICENSE", "THIRD-PARTY.txt"]
PAGES = ["README.md", "docs/TOUR.md", "docs/operations/install.md", "scripts/packages/README.md"]


def documented(tool):
    """How the docs install the files with pip or npm, and then start the server: in one way."""
    found = {command for page in PAGES for command in re.findall(rf"^    {tool} (.+ \./dist/.+) && kedge serve --dev$",
                                                                 (ROOT / page).read_text(), re.MULTILINE)}
    [command] = found
    return command


def pip(*arguments, **options):
    """pip without the machine's settings and without an index."""
    command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", *arguments]
    return run(*command, **options)


class Installed(unittest.TestCase):
    """An empty folder for each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kedge-installed-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "dist").symlink_to(harness.archive().parent)

    def expanded(self, command):
        """The words of a command, as a shell expands them in this folder."""
        return run("sh", "-c", f"printf '%s\\n' {command}", cwd=self.folder).split()

    def development_server(self, command):
        """As a newcomer starts it; only the ports are other ones."""
        ports = {"KEDGE_LISTEN": "127.0.0.1:0", "KEDGE_EMBEDDED_CHAIN_LISTEN": "127.0.0.1:0"}
        return Serving(command, "serve", "--dev", cwd=self.folder, env=harness.environment(**ports))

    def serve(self, command):
        """Starts a server, asks it, and stops it."""
        with self.development_server(command) as server:
            deadline = time.monotonic() + PATIENCE
            while subprocess.run([program(), "health", "--ready", "--url", server.url], capture_output=True,
                                 env=harness.environment()).returncode:
                self.assertLess(time.monotonic(), deadline, "the server does not become ready")
                time.sleep(0.1)
            connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE)
            self.addCleanup(connection.close)
            connection.request("GET", "/version")
            self.assertEqual(json.load(connection.getresponse())["version"], VERSION)
        self.assertTrue((self.folder / "data").is_dir())


class Wheel(Installed):
    wheel = property(lambda self: package(f"kedge_server-{VERSION}-*.whl"))

    # Holds invariant 176.
    def test_pip_installs_a_server_into_an_empty_environment(self):
        run(sys.executable, "-m", "venv", "--without-pip", self.folder / "venv")
        pip("--python", self.folder / "venv/bin/python", *self.expanded(documented("pip")), "--no-index", cwd=self.folder)
        installed = self.folder / "venv/bin/kedge"
        self.assertEqual(run(installed, "--version"), f"kedge {VERSION}\n")
        self.serve(installed)

    # Holds invariant 174.
    def test_its_tag_is_what_an_independent_reader_of_the_program_finds(self):
        [tag] = re.findall(r"-py3-none-(.+)\.whl", self.wheel.name)
        shown = " ".join(run(need("auditwheel"), "show", self.wheel).split())
        self.assertIn(f'is consistent with the following platform tag: "{tag}"', shown)

    # Holds invariant 176.
    def test_pip_refuses_it_where_the_program_does_not_run(self):
        """On an older C library, with another C library, on another system, on another processor."""
        other = {"x86_64": "aarch64", "aarch64": "x86_64"}[PROCESSOR]
        for platform in [f"manylinux_2_17_{PROCESSOR}", f"musllinux_1_2_{PROCESSOR}", "macosx_14_0_arm64", f"manylinux_2_99_{other}"]:
            shown = pip("install", "--no-index", "--only-binary", ":all:", "--platform", platform, "--target", self.folder,
                        self.wheel, code=1)
            self.assertIn("is not a supported wheel on this platform", shown, platform)

    def test_it_holds_the_program_and_its_licences(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            contents = {name.removeprefix(f"kedge_server-{VERSION}."): name for name in wheel.namelist()}
            self.assertEqual(wheel.read(contents["data/scripts/kedge"]), program().read_bytes())
            for name in NOTICES:
                ours = (harness.unpacked() / "share/doc/kedge" / name).read_bytes()
                self.assertEqual(wheel.read(contents[f"dist-info/licenses/{name}"]), ours)
        self.assertIn("dist-info/sboms/kedge.cdx.json", contents)


class Node(Installed):
    """`npm pack` names a package's file after its scope and name."""

    command = property(lambda self: package(f"kedge-server-{VERSION}.tgz"))
    holder = property(lambda self: package(f"kedge-server-linux-{NODE_PROCESSOR}-{VERSION}.tgz"))

    def npm(self, *arguments, **options):
        settings = {"npm_config_cache": str(self.folder / "cache"), "npm_config_update_notifier": "false"}
        environment = harness.environment(**settings, **options.pop("env", {}))
        return run(need("npm"), "--offline", *arguments, cwd=self.folder, env=environment, **options)

    def install(self, *packages, **options):
        return self.npm("install", "--no-audit", "--no-fund", "--ignore-scripts", *packages, **options)

    # Holds invariant 176.
    def test_npm_installs_a_server_into_an_empty_folder(self):
        prefix = {"npm_config_prefix": str(self.folder / "prefix")}
        self.npm(*self.expanded(documented("npm")), env=prefix)
        installed = self.folder / "prefix/bin/kedge"
        self.assertEqual(run(installed, "--version"), f"kedge {VERSION}\n")
        self.serve(installed)

    # Holds invariant 176.
    def test_the_command_ends_as_the_program_ends(self):
        self.install(self.command, self.holder)
        self.assertEqual(self.npm("exec", "--", "kedge", "--version"), f"kedge {VERSION}\n")
        installed = self.folder / "node_modules/.bin/kedge"
        run(installed, "serve", "--no-such-option", code=2)
        running = self.development_server(installed)
        with running.process as process:
            process.stdout.readline()
            [served] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(served), signal.SIGKILL)
            process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, -signal.SIGKILL)

    # Holds invariant 176.
    def test_npm_refuses_it_on_another_processor(self):
        (self.folder / "other.cjs").write_text("Object.defineProperty(process, 'arch', { value: 'riscv64' });\n")
        for file in (self.command, self.holder):
            shown = self.install(file, env={"NODE_OPTIONS": f"--require {self.folder / 'other.cjs'}"}, code=1)
            self.assertIn("EBADPLATFORM", shown)
            self.assertRegex(shown, r"wanted .*x64.* \(current: .*riscv64")

    def test_without_the_program_the_command_says_what_to_install(self):
        self.install(self.command, "--omit=optional")
        shown = run(self.folder / "node_modules/.bin/kedge", "--version", code=1)
        self.assertIn(f"error: @kedge/server-linux-{NODE_PROCESSOR}, which holds the program, is not installed", shown)
        self.assertIn("npm install --include=optional @kedge/server", shown)

    def test_each_package_names_the_other_by_this_version_and_has_its_licences(self):
        with tarfile.open(self.command) as tar:
            command = json.load(tar.extractfile("package/package.json"))
            self.assertIn("package/LICENSE", tar.getnames())
        with tarfile.open(self.holder) as tar:
            holder = json.load(tar.extractfile("package/package.json"))
            self.assertEqual(tar.extractfile("package/bin/kedge").read(), program().read_bytes())
            for name in NOTICES:
                ours = (harness.unpacked() / "share/doc/kedge" / name).read_bytes()
                self.assertEqual(tar.extractfile(f"package/{name}").read(), ours)
        self.assertEqual(command["optionalDependencies"][holder["name"]], VERSION)
        self.assertEqual((command["version"], holder["version"]), (VERSION, VERSION))
        self.assertEqual((holder["os"], holder["cpu"], holder["libc"]), (["linux"], [NODE_PROCESSOR], ["glibc"]))
        self.assertIn(NODE_PROCESSOR, command["cpu"])


class Sdks(unittest.TestCase):
    def test_they_are_packed_with_the_server(self):
        """What they hold is tested by sdk/python and sdk/typescript."""
        with zipfile.ZipFile(package("kedge-*-py3-none-any.whl")) as wheel:
            names = {name.split("/", 1)[1] for name in wheel.namelist()}
        self.assertLessEqual({"py.typed", "licenses/LICENSE"}, names)
        with tarfile.open(package("kedge-[0-9]*[0-9].tar.gz")) as tar:
            names = {name.split("/", 1)[1] for name in tar.getnames()}
        self.assertLessEqual({"pyproject.toml", "src/kedge/py.typed", "LICENSE"}, names)
        with tarfile.open(package("kedge-sdk-*.tgz")) as tar:
            names = set(tar.getnames())
        modules = {path.relative_to(ROOT / "sdk/typescript/src").with_suffix(".js") for path in (ROOT / "sdk/typescript/src").rglob("*.ts")}
        self.assertGreater(len(modules), 20)
        self.assertLessEqual({f"package/dist/{module}" for module in modules}, names)


if __name__ == "__main__":
    unittest.main()
