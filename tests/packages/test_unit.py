"""The systemd unit: valid, hardened, and a server runs and stops in order under what it forbids."""

import ctypes
import errno
import os
import re
import resource
import shlex
import stat
import tempfile
import unittest
from pathlib import Path

import pyseccomp

import harness
from harness import PACKAGES, Serving, free_port, need, program, run, unpacked

UNIT = PACKAGES / "systemd/kedge.service"
# Of 10, as `systemd-analyze security` rates it, in tenths. A service without any hardening has 9.6.
EXPOSURE_MAX = 20
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}


def settings(section):
    """A section's settings: each name with all of its values."""
    of_section = UNIT.read_text().split(f"[{section}]\n")[1].split("\n[")[0]
    found = {}
    for name, value in re.findall(r"^([A-Za-z]+)=(.*)$", of_section, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def seconds(text):
    """A time span in a unit file's form."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|min|h|)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "": 1, "min": 60, "h": 3600}[unit]


def starts_in(period, lasts, pause, interval, burst):
    """The number of starts by systemd in this many seconds of a service that ends each time after `lasts`: it gives up
    after `burst` starts within `interval`, unless that is 0."""
    now, count, begun = 0.0, 0, []
    while now < period:
        begun = [at for at in begun if now - at < interval]
        if interval and len(begun) >= burst:
            break
        begun.append(now)
        count += 1
        now += lasts + pause
    return count


def calls_of(name):
    """The system calls of a set and of the sets in it, in this version of systemd."""
    text = run(need("systemd-analyze"), "syscall-filter", name, "--no-pager")
    found = set()
    for word in re.findall(r"^    (@?[a-z0-9_-]+)$", text, re.MULTILINE):
        found |= calls_of(word) if word.startswith("@") else {word}
    return found


class Unit(unittest.TestCase):
    def setUp(self):
        self.service = settings("Service")
        [line] = self.service["ExecStart"]
        self.command = shlex.split(line)

    def test_systemd_accepts_it(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder) / "kedge.service"
            unit.write_text(UNIT.read_text().replace(self.command[0], str(program())))
            self.assertEqual(run("sh", "-c", '"$0" verify --man=no "$1" 2>&1', need("systemd-analyze"), unit), "")

    # Holds invariant 176.
    def test_systemd_rates_it_as_hardened(self):
        run(need("systemd-analyze"), "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", "--no-pager", UNIT)

    def test_its_program_and_options_are_there(self):
        self.assertEqual(self.command[0], "/usr/local/bin/kedge")
        self.assertTrue((unpacked() / "bin/kedge").is_file())
        self.assertEqual(self.command[1], "serve")
        known = re.findall(r"^\s+(--[a-z-]+)", run(program(), "serve", "--help"), re.MULTILINE)
        for word in self.command[2:]:
            if word.startswith("-"):
                self.assertIn(word, known)

    # Holds invariant 176.
    def test_it_waits_longer_than_an_orderly_stop_takes(self):
        [seconds] = self.service["TimeoutStopSec"]
        self.assertGreater(int(seconds.removesuffix("s")), harness.stop_seconds_min() + 10)

    def test_it_never_gives_up(self):
        """However soon each start ends, systemd starts again: for a whole day, and at most a few times a minute."""
        unit = settings("Unit")
        [pause] = self.service["RestartSec"]
        interval = unit.get("StartLimitIntervalSec", ["10s"])[-1]
        burst = int(unit.get("StartLimitBurst", ["5"])[-1])
        for lasts in (0.0, 0.7, 6.7):
            starts = starts_in(24 * 3600, lasts, seconds(pause), seconds(interval), burst)
            self.assertGreater(starts, 24 * 3600 / (lasts + seconds(pause)) - 2, f"a start that lasts {lasts} s")
            self.assertLess(starts, 24 * 3600 / 5)
        # The former behaviour: dead after ten starts, within one or two minutes.
        self.assertEqual([starts_in(24 * 3600, lasts, 5, 600, 10) for lasts in (0.7, 6.7)], [10, 10])
        # A wrong command line is not retried; every other failure is.
        self.assertEqual((self.service["Restart"], self.service["RestartPreventExitStatus"]), (["on-failure"], ["2"]))

    def test_its_user_is_made_by_the_archive(self):
        users = (unpacked() / "lib/sysusers.d/kedge.conf").read_text()
        self.assertRegex(users, rf"(?m)^u {self.service['User'][0]} ")
        run(need("systemd-sysusers"), "--dry-run", unpacked() / "lib/sysusers.d/kedge.conf")

    # Holds invariant 176.
    def test_a_server_runs_under_its_limits_and_keeps_to_its_folder(self):
        """The unit's command, system calls, memory and umask; a client's whole tour; SIGTERM."""
        with tempfile.TemporaryDirectory() as folder:
            state, etc = Path(folder) / "state", Path(folder) / "etc"
            state.mkdir(mode=int(self.service["StateDirectoryMode"][0], 8))
            etc.mkdir()
            chain = free_port()
            (etc / "kedge.toml").write_text(
                f'dev = true\nlisten = "127.0.0.1:0"\nembedded_chain_listen = "127.0.0.1:{chain}"\n')
            places = {"/usr/local/bin/kedge": str(program()), "/etc/kedge": str(etc), "/var/lib/kedge": str(state)}
            command = self.command
            for there, here in places.items():
                command = [word.replace(there, here) for word in command]
            with Serving(*command, cwd=state, preexec_fn=self.confine()) as server:
                run(program(), "health", "--ready", "--url", server.url)
                run(program(), "demo", "--url", server.url, "--socket", state / "data/admin.sock",
                    "--rpc", f"http://127.0.0.1:{chain}", "--save", etc / "proof.json")
                run(program(), "backup", state / "backup", "--socket", state / "data/admin.sock")
            # The high-water mark lies outside the data directory and inside the state directory.
            self.assertEqual({path.name for path in state.iterdir()}, {"data", "data.high-water", "backup"})
            for path in [state / "data", *state.rglob("*")]:
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    def confine(self):
        """Systemd's settings for the program, as far as one process can set them for itself."""
        allowed = set()
        for value in self.service["SystemCallFilter"]:
            if value.startswith("~"):
                allowed -= calls_of(value[1:])
            else:
                allowed |= calls_of(value)
        allowed |= calls_of("@default")
        self.assertEqual(self.service["SystemCallErrorNumber"], ["EPERM"])
        families = [FAMILIES[name] for name in self.service["RestrictAddressFamilies"][0].split()]
        # Less if this machine's limit is lower.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = min(int(self.service["LimitNOFILE"][0]), most)
        self.assertEqual(self.service["MemoryDenyWriteExecute"], ["yes"])
        calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
        for name in sorted(allowed - {"socket"}):
            try:
                calls.add_rule(pyseccomp.ALLOW, name)
            except (OSError, ValueError):
                # This processor or libseccomp has no such call.
                continue
        for family in families:
            calls.add_rule(pyseccomp.ALLOW, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))

        def confined():
            os.umask(int(self.service["UMask"][0], 8))
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            # Older kernels do not have it.
            ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
            calls.load()

        return confined


if __name__ == "__main__":
    unittest.main()
