"""The generated code follows from the document: a fresh run gives the same bytes."""

import inspect
import subprocess
import sys
from pathlib import Path

from kedge import AsyncKedge, Kedge, operations
from kedge.generated.async_client import AsyncOperations
from kedge.generated.client import Operations

from server import Server

SDK = Path(__file__).parent.parent
GENERATED = SDK / "src" / "kedge" / "generated"


def test_a_fresh_run_gives_the_same_bytes(server: Server, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "generate", server.url, str(tmp_path)], cwd=SDK, check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in GENERATED.glob("*.py")}
    assert made.keys() == kept.keys()
    for name in made:
        assert made[name] == kept[name], f"{name} does not follow from the document: scripts/python-sdk.sh generate"


def test_every_operation_is_a_method_of_both_clients() -> None:
    made = {name for name, one in inspect.getmembers(operations, inspect.isfunction) if one.__module__ == operations.__name__}
    for kind in (Operations, AsyncOperations):
        assert made - set(vars(kind)) == {"stream_events"}, "which `follow_events` opens"


def test_everything_public_has_a_docstring() -> None:
    for kind in (Kedge, AsyncKedge):
        for name, one in inspect.getmembers(kind, callable):
            assert name.startswith("_") or inspect.getdoc(one), f"{kind.__name__}.{name}"


def test_the_types_hold_without_an_exception() -> None:
    run = subprocess.run([sys.executable, "-m", "mypy"], cwd=SDK, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
