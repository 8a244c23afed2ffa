"""`python -m generate <openapi.json or the server's origin> [folder]`: writes the generated package."""

import json
import sys
from pathlib import Path
from urllib.request import urlopen

from .operations import write_operations
from .models import write_types

FOLDER = Path(__file__).parent.parent / "src" / "kedge" / "generated"
HEAD = '"""{about}\n\nMade by `scripts/python-sdk.sh generate` from the service\'s document. Do not edit.\n"""\n'


def main() -> None:
    """Reads the document and writes the package's files."""
    source = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    if source.startswith("http"):
        with urlopen(f"{source.rstrip('/')}/openapi.json") as answer:
            document = json.load(answer)
    else:
        document = json.loads(Path(source).read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "__init__.py": ("What follows from the service's document.", ""),
        "models.py": ("The types of bodies and answers.", write_types(document)),
        **write_operations(document),
    }
    for name, (about, text) in files.items():
        (folder / name).write_text(HEAD.format(about=about) + text, encoding="utf-8")


main()
