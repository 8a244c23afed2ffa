"""The archive: its content, that it is reproducible, and the systems on which its program runs."""

import os
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import harness
from harness import NAME, ROOT, archive, make_archive, need, run, unpacked

# Libraries of every Linux distribution with the GNU C library. libstdc++ is in the program.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Debian 12, Ubuntu 24.04, RHEL 10 and later have it. Without libstdc++, which asks for arc4random, it would be 2.34.
GLIBC_MAX = (2, 36)

CONTENTS = [
    "bin/kedge",
    "lib/systemd/system/kedge.service",
    "lib/sysusers.d/kedge.conf",
    "share/bash-completion/completions/kedge",
    "share/zsh/site-functions/_kedge",
    "share/fish/vendor_completions.d/kedge.fish",
    "share/man/man1/kedge.1",
    "share/doc/kedge/LICENSE",
    "share/doc/kedge/THIRD-PARTY.txt",
    "share/doc/kedge/kedge.cdx.json",
    "share/doc/kedge/README.md",
    "share/doc/kedge/docs/operations/install.md",
    "share/kedge/kedge.toml",
    "share/kedge/contracts/KedgeAnchor.json",
    "share/kedge/dashboards/RUNBOOK.md",
    "share/kedge/dashboards/grafana/dashboards/kedge-overview.json",
    "share/kedge/dashboards/prometheus/rules/alerts.yml",
    "share/kedge/packages/compose/compose.yaml",
    "share/kedge/packages/helm/kedge/Chart.yaml",
    "share/kedge/packages/nats/kedge.conf",
]


class Archive(unittest.TestCase):
    # Holds invariant 174.
    def test_the_same_program_gives_the_same_bytes(self):
        """In another folder, time zone and language, for another user's mask, with files of another age."""
        with tempfile.TemporaryDirectory(prefix="kedge other ") as other:
            before = os.umask(0o077)
            try:
                again = make_archive(Path(other) / "d", TMPDIR=other, TZ="Asia/Kathmandu", LC_ALL="C.UTF-8")
            finally:
                os.umask(before)
            sums = [(path.parent / "SHA256SUMS").read_text() for path in (archive(), again)]
        self.assertEqual(sums[0], sums[1])

    def test_the_checksums_are_those_of_every_file(self):
        shown = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=archive().parent)
        checked = {line.split(":")[0] for line in shown.splitlines()}
        self.assertEqual(checked | {"SHA256SUMS"}, {path.name for path in archive().parent.iterdir()})
        self.assertEqual(len(checked), 7)

    # Holds invariant 174.
    def test_every_file_is_roots_and_of_the_commits_time(self):
        time = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct", cwd=ROOT))
        with tarfile.open(archive()) as tar:
            members = tar.getmembers()
        # Files of a clone that are not in the repository stay out of it.
        self.assertEqual([each.name for each in members if "node_modules" in each.name or "/console/" in each.name], [])
        names = [member.name for member in members]
        self.assertEqual(names, sorted(names))
        for member in members:
            self.assertEqual(member.name.split("/")[0], NAME)
            executable = member.isdir() or member.name == f"{NAME}/bin/kedge"
            expected = (0, 0, time, 0o755 if executable else 0o644)
            self.assertEqual((member.uid, member.gid, member.mtime, member.mode), expected, member.name)

    def test_everything_is_in_it(self):
        for name in CONTENTS:
            with self.subTest(name):
                self.assertTrue((unpacked() / name).stat().st_size > 0)

    def test_the_docs_name_this_version(self):
        for page in ["docs/TOUR.md", "docs/operations/install.md"]:
            named = re.findall(r"kedge[-:](\d+\.\d+\.\d+)", (ROOT / page).read_text())
            self.assertEqual(set(named), {harness.VERSION}, page)

    def test_the_docs_command_installs_it_and_leaves_folders_as_they_are(self):
        for page in ["docs/TOUR.md", "docs/operations/install.md"]:
            [command] = re.findall(r"sudo (tar -C .+?\.tar\.gz)", (ROOT / page).read_text())
            with tempfile.TemporaryDirectory() as prefix:
                share = Path(prefix) / "share"
                share.mkdir(mode=0o700)
                run(*command.replace("/usr/local", prefix).split(), cwd=archive().parent)
                self.assertEqual(share.stat().st_mode & 0o777, 0o700)
                self.assertEqual(run(f"{prefix}/bin/kedge", "--version"), f"kedge {harness.VERSION}\n")


class Program(unittest.TestCase):
    """Checks of the program in the archive."""

    # Holds invariant 174.
    def test_it_needs_only_the_c_library(self):
        dynamic = run(need("readelf"), "--dynamic", "--wide", unpacked() / "bin/kedge")
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
        self.assertLessEqual(needed, LIBRARIES)

    # Holds invariant 174.
    def test_it_runs_on_an_older_c_library(self):
        versions = run(need("readelf"), "--version-info", "--wide", unpacked() / "bin/kedge")
        found = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", versions)}
        self.assertLessEqual(max(found), GLIBC_MAX)

    # Holds invariant 174.
    def test_no_file_names_the_machine_that_made_it(self):
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        folders = [home / "registry", Path.home() / ".rustup", *(path for path in ROOT.iterdir() if path.is_dir())]
        for path in unpacked().rglob("*"):
            if path.is_file():
                contents = path.read_bytes()
                named = [str(folder) for folder in folders if bytes(folder) in contents]
                self.assertEqual(named, [], f"{path.name} names folders of this machine")


class Completions(unittest.TestCase):
    def complete(self, *words):
        """Bash's completions after these words, by the function that the script registers for kedge."""
        script = unpacked() / "share/bash-completion/completions/kedge"
        typed = f"""
            source "$1"; shift
            [[ "$(complete -p kedge)" =~ -F\\ ([^ ]+) ]] || exit 1
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}
            "${{BASH_REMATCH[1]}}" "$1" "${{@: -1}}" "${{@: -2:1}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return run("bash", "-c", typed, "bash", script, "kedge", *words).split()

    def test_bash_completes_commands_and_options(self):
        self.assertEqual(self.complete("ver"), ["verify"])
        self.assertEqual(self.complete("verify", "pro"), ["proof"])
        self.assertEqual(self.complete("serve", "--accept"), ["--accept-missing-high-water-mark"])

    def test_the_other_shells_have_every_command(self):
        for name in ["share/zsh/site-functions/_kedge", "share/fish/vendor_completions.d/kedge.fish"]:
            script = (unpacked() / name).read_text()
            for command in commands():
                self.assertIn(command[-1], script, name)


def commands(*before):
    """Every command that the help names, as words."""
    text = run(unpacked() / "bin/kedge", *before, "--help")
    section = re.search(r"^Commands:\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", section[1], re.MULTILINE) if section else []
    for name in names:
        if name != "help":
            yield (*before, name)
            yield from commands(*before, name)


class ManPages(unittest.TestCase):
    folder = property(lambda self: unpacked() / "share/man/man1")

    def test_every_command_has_a_page_and_every_page_a_command(self):
        pages = {path.name for path in self.folder.iterdir()}
        expected = {"-".join(["kedge", *command]) + ".1" for command in commands()}
        self.assertGreater(len(expected), 30)
        self.assertEqual(pages, expected | {"kedge.1"})

    def test_every_page_renders_without_a_warning(self):
        need("man")
        for page in self.folder.iterdir():
            shown = subprocess.run(
                ["man", "--warnings", "-l", "-Tutf8", str(page)], capture_output=True, text=True, check=True,
                env=harness.environment(LC_ALL="C.UTF-8", MANWIDTH="100", MANROFFSEQ=""))
            self.assertEqual(shown.stderr, "", page.name)
            self.assertIn("SYNOPSIS", re.sub(".\b|\x1b\\[[0-9;]*m", "", shown.stdout), page.name)


if __name__ == "__main__":
    unittest.main()
