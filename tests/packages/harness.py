"""Shared by the tests of the packages: the program, one archive of it, tools, and a server in its own folder."""

import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "scripts/packages"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
NAME = f"kedge-{VERSION}-{os.uname().machine}-linux"
# Seconds, for the slowest command on a busy machine.
PATIENCE = 300

_scratch = tempfile.TemporaryDirectory(prefix="kedge-packages-")


def program():
    """The program under test."""
    path = Path(os.environ.get("KEDGE_BIN", ""))
    if not path.is_absolute() or not path.is_file():
        raise SystemExit("KEDGE_BIN must be the absolute path of the program")
    return path


def environment(**more):
    """The caller's environment without options of the server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEDGE_")}
    return kept | more


def run(*command, code=0, **options):
    """Runs a command that must end with `code`; returns its output, both streams if it must fail."""
    options = {"env": environment(), "timeout": PATIENCE} | options
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != code:
        raise AssertionError(f"{command} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr


# Tools that no package registry has, and tools that only Go can build.
OPTIONAL = {"helm"}


@functools.cache
def find(tool):
    """The tool's path, or None, which is reported above the results."""
    found = shutil.which(tool)
    if not found and tool in OPTIONAL:
        print(f"\nNOT CHECKED: {tool} is not installed, so the tests that need it are skipped\n", file=sys.stderr, flush=True)
    return found


def need(tool):
    """The tool's path. `make test` installs what is missing; a test is skipped only for what it cannot install."""
    found = find(tool)
    if not found and tool in OPTIONAL:
        raise unittest.SkipTest(f"{tool} is not installed")
    if not found:
        raise AssertionError(f"{tool} is not installed: make test installs it")
    return found


def make_archive(folder, **more):
    """Packs the program, for pip and npm too; the archive's path."""
    run(ROOT / "scripts/dist.sh", "archive", env=environment(KEDGE_BIN=str(program()), DIST=str(folder), **more))
    return Path(folder) / f"{NAME}.tar.gz"


@functools.cache
def archive():
    """One archive for all tests."""
    made = make_archive(Path(_scratch.name) / "dist")
    sizes = [f"    {file.name}: {file.stat().st_size} bytes" for file in sorted(made.parent.iterdir())]
    print("", *sizes, sep="\n", file=sys.stderr, flush=True)
    return made


def package(pattern):
    """The file of this name that was packed with the archive."""
    [found] = archive().parent.glob(pattern)
    return found


@functools.cache
def unpacked():
    """That archive, unpacked."""
    with tarfile.open(archive()) as tar:
        tar.extractall(_scratch.name, filter="tar")
    return Path(_scratch.name) / NAME


@functools.cache
def defaults():
    """The server's options that have a default, from the commented configuration."""
    text = run(program(), "init", "-")
    lines = re.findall(r"^#([a-z0-9_]+ = .+)$", text, re.MULTILINE)
    return tomllib.loads("\n".join(lines))


@functools.cache
def options():
    """The names of all options of the server."""
    return set(re.findall(r"^#([a-z0-9_]+) =", run(program(), "init", "-"), re.MULTILINE))


def stop_seconds_min():
    """How long a supervisor must wait for an orderly stop, with the defaults."""
    return defaults()["drain_timeout_s"] + defaults()["anchor_on_shutdown_timeout_s"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Serving:
    """A server from its first line until it has ended in order."""

    def __init__(self, *arguments, **options):
        options = {"env": environment()} | options
        command = [str(word) for word in arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.kill()
            raise AssertionError(f"the server does not start: {line}{self.process.communicate()[1]}")
        self.url = line.split()[-1]
        return self

    def __exit__(self, kind, error, trace):
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=PATIENCE)
        if error is None and self.process.returncode != 0:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{log}")
