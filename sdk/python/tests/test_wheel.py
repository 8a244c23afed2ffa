"""The package as users get it: a wheel, installed into an empty environment."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from server import Server

SDK = Path(__file__).parent.parent
PROGRAM = """
from kedge import AsyncKedge, Batch, Kedge, models, operations

def seats(client: Kedge, template: str) -> list[str]:
    made: models.ChangedObjectView = client.mint_object({"template_id": template, "properties": {"seat": "A1"}})
    answer = client.answer(operations.submit_batch(Batch().lock(made["id"]).body()))
    reveal_type(answer.body["receipt"])
    return [one["id"] for one in client.iter_objects(template_id=template, status="active")]

async def owner(client: AsyncKedge, id: str) -> str:
    return (await client.get_object(id))["owner_address"]
"""
WRONG = """
from kedge import Kedge

def wrong(client: Kedge) -> int:
    client.create_template({"nam": "ticket"})
    client.submit_action({"action_type": "transfer", "payload": {}})
    client.list_objects(status="gone")
    return client.get_version()["version"]
"""


def run(*command: object, cwd: Path) -> str:
    ended = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, SDK, cwd=folder)
    (wheel,) = folder.glob("kedge-*.whl")
    # The versions that are tested, as constraints; of a constraint pip takes no hash.
    pins = [line.split(" ")[0] for line in (SDK / "requirements.txt").read_text().splitlines() if "==" in line]
    (folder / "constraints.txt").write_text("\n".join(pins))
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    run(*pip, "--python", python, "install", "--constraint", folder / "constraints.txt", wheel, cwd=folder)
    yield python


def test_the_wheel_holds_the_package_alone(installed: Path) -> None:
    (wheel,) = installed.parents[2].glob("kedge-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"kedge"}
    assert {"kedge/py.typed", "kedge/generated/models.py", "kedge/verify/receipts.py"} <= set(names)


def test_the_tour_of_the_readme(installed: Path, tmp_path: Path) -> None:
    # A server of its own: the tour counts what the log holds.
    own = Server("rate_limits=off")
    try:
        shown = run(installed, "-I", SDK / "tests" / "tour.py", SDK / "README.md", own.url, cwd=tmp_path)
    finally:
        own.stop()
    assert "blocks" in shown


def test_a_program_is_checked_against_the_types(installed: Path, tmp_path: Path) -> None:
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed, "--cache-dir", tmp_path]
    (tmp_path / "program.py").write_text(PROGRAM)
    assert "kedge.generated.models.BatchReceipt" in run(*mypy, "program.py", cwd=tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    found = subprocess.run([*map(str, mypy), "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    for line in (5, 6, 7, 8):
        assert f"wrong.py:{line}: error" in found.stdout, found.stdout


def test_claims_without_their_extra_say_what_to_install(installed: Path, tmp_path: Path) -> None:
    # Packages that others need may bring it; here it is as if none had.
    program = (
        "import sys; from kedge.verify.groth16 import check_groth16; sys.modules['py_ecc'] = None; "
        "check_groth16(([], [], []), [], ())"
    )
    ended = subprocess.run([str(installed), "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "pip install 'kedge[claims]'" in ended.stderr


def test_notes_without_their_extra_say_what_to_install(installed: Path, tmp_path: Path) -> None:
    vectors = SDK.parents[1] / "crates" / "protocol" / "vectors" / "tlog.json"
    program = f"""
import json, sys
from kedge.verify import Trust, VerifierKey, verify_note
sys.modules["cryptography.hazmat.primitives.asymmetric"] = None
vectors = json.load(open({str(vectors)!r}))
keys = [(key["address"], key["from_batch"]) for key in vectors["sequencer_keys"]]
trust = Trust.of(vectors["domain"]["chainId"], vectors["domain"]["verifyingContract"], keys)
note, known = vectors["faults"]["alarm_without_our_line"]["notes"][0], VerifierKey.of(vectors["tlog_keys"]["ed25519"]["vkey"])
print(verify_note(note, trust).batches)
verify_note(note, trust, [known])
"""
    ended = subprocess.run([str(installed), "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "10\n"
    assert "pip install 'kedge[witnesses]'" in ended.stderr


def test_the_reference_shows_every_operation(tmp_path: Path) -> None:
    run(SDK.parents[1] / "scripts" / "python-sdk.sh", "docs", tmp_path, cwd=SDK)
    page = (tmp_path / "kedge.html").read_text(encoding="utf-8")
    for name in ("mint_object", "submit_batch", "follow_events", "verify_webhook"):
        assert name in page
    methods = (tmp_path / "kedge" / "generated" / "client.html").read_text(encoding="utf-8")
    assert "Makes an object of a template" in methods


def test_the_quickstart_of_the_reference(installed: Path, server: Server, tmp_path: Path) -> None:
    with urlopen(f"{server.url}/docs/reference.js") as answer:
        script = answer.read().decode()
    shown = re.findall(r"^    python: `(.*?)`,$", script, re.MULTILINE | re.DOTALL)
    assert len(shown) == 5, "the quickstart was not found"
    program = "\n\n".join(shown).replace("${origin}", server.url).replace("${PASSWORD}", "a long enough passphrase")
    assert "${" not in program
    (tmp_path / "quickstart.py").write_text(program, encoding="utf-8")
    printed = run(installed, "-I", "quickstart.py", cwd=tmp_path)
    assert re.fullmatch(r"registered wal_\w+\nminted obj_\w+ at sequence \d+\nproven: \{.*'seat': 1.*\}\n", printed), printed
