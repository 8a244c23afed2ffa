"""What the program is made of: a CycloneDX bill of materials, and the licences of everything that is linked into it.

    inventory.py --sbom FILE --notices FILE [--processor NAME]

Reads the dependency tree from cargo, without the network: the sources must be in cargo's registry, as they are after a
build. SOURCE_DATE_EPOCH is the time that the bill of materials states. The same tree gives the same bytes.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import uuid
from collections import defaultdict
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[3]
OWN_TEXTS = Path(__file__).resolve().parent / "licences"
PROGRAM = "kedge"

# Crates that compile C, C++ or assembly of others: the licences of that code. Where it is offered under several, the
# permissive one is chosen, as deny.toml demands. prettyplease and rayon-core only reserve a name for the linker.
FOREIGN_CODE = {
    "aws-lc-rs": [],
    "aws-lc-sys": ["aws-lc/LICENSE", "aws-lc/third_party/fiat/LICENSE"],
    "libmimalloc-sys": ["c_src/mimalloc/v2/LICENSE", "c_src/mimalloc/v3/LICENSE"],
    "librocksdb-sys": [
        "rocksdb/LICENSE.Apache",
        "rocksdb/LICENSE.leveldb",
        "rocksdb/utilities/transactions/lock/range/range_tree/lib/COPYING.APACHEv2",
    ],
    "lz4-sys": ["liblz4/lib/LICENSE"],
    "prettyplease": [],
    "rayon-core": [],
    "zstd-sys": ["zstd/LICENSE"],
}

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def cargo(*arguments):
    command = ["cargo", *arguments, "--offline", "--locked"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def expression(declared):
    """The SPDX expression: crates may still write a slash for OR."""
    return re.sub(r"\s*/\s*", " OR ", declared)


class Tree:
    """The crates that are compiled into the program, for one processor."""

    def __init__(self, processor):
        target = f"{processor}-unknown-linux-gnu"
        metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
        # The tree knows which features are on; the metadata also has crates that no feature asks for.
        tree = cargo("tree", "--package", PROGRAM, "--edges", "normal", "--target", target, "--prefix", "none",
                     "--format", "{p}")
        compiled = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
        packages = [p for p in metadata["packages"] if (p["name"], f"v{p['version']}") in compiled]
        self.by_id = {p["id"]: p for p in packages}
        self.foreign = sorted((p for p in packages if p["source"]), key=lambda p: (p["name"], p["version"]))
        self.own = {p["id"] for p in packages if not p["source"]}
        self.program = next(p for p in packages if p["name"] == PROGRAM)
        self.edges = {node["id"]: self.needed(node) for node in metadata["resolve"]["nodes"]}
        self.checksums = self.locked()

    def needed(self, node):
        """What a crate is linked with."""
        normal = (d["pkg"] for d in node["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"]))
        return sorted(id for id in normal if id in self.by_id)

    @staticmethod
    def locked():
        """The SHA-256 of each crate's archive, from Cargo.lock."""
        pattern = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
        lock = (ROOT / "Cargo.lock").read_text()
        return {(name, version): checksum for name, version, checksum in re.findall(pattern, lock)}


def component(package, checksums):
    purl = PackageURL("cargo", name=package["name"], version=package["version"])
    found = Component(
        type=ComponentType.LIBRARY,
        name=package["name"],
        version=package["version"],
        description=" ".join((package["description"] or "").split()) or None,
        purl=purl,
        bom_ref=str(purl),
        licenses=[LicenseExpression(expression(package["license"]))],
    )
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        found.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=checksum))
    if package["repository"]:
        found.external_references.add(
            ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(package["repository"])))
    return found


def write_sbom(tree, file):
    version = tree.program["version"]
    program = Component(type=ComponentType.APPLICATION, name=PROGRAM, version=version, bom_ref=PROGRAM,
                        licenses=[LicenseExpression(tree.program["license"])])
    components = {p["id"]: component(p, tree.checksums) for p in tree.foreign}
    bom = Bom(components=components.values())
    bom.metadata.component = program
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(sorted(c.bom_ref.value for c in components.values())))
    # Kedge's own crates are one component.
    direct = {id for own in tree.own for id in tree.edges[own] if id in components}
    bom.register_dependency(program, [components[id] for id in sorted(direct)])
    for id, one in components.items():
        bom.register_dependency(one, [components[other] for other in tree.edges[id] if other in components])
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=1) + "\n")


def licence_texts(package):
    """The texts of a crate's licences: its own files or, where it ships none, the licence that it names."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and LICENCE_FILE.match(f.name))
    if package["name"] in FOREIGN_CODE:
        files += [folder / name for name in FOREIGN_CODE[package["name"]]]
    elif package["links"]:
        raise SystemExit(f"{package['name']} links {package['links']}: name its licences in FOREIGN_CODE")
    texts = [f.read_text(errors="replace") for f in files]
    if any(f.parent == folder for f in files):
        return texts
    named = re.split(r"\s+(?:OR|AND|WITH)\s+|[()]", expression(package["license"]))
    if "Apache-2.0" in named:
        return [(ROOT / "LICENSE").read_text(), *texts]
    for name in named:
        text = OWN_TEXTS / f"{name}.txt"
        if text.exists():
            authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
            return [f"Copyright (c) {authors}\n\n{text.read_text()}", *texts]
    raise SystemExit(f"{package['name']} ships no licence: add {package['license']} to {OWN_TEXTS}")


def write_notices(tree, file):
    users = defaultdict(list)
    lines = []
    for package in tree.foreign:
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {expression(package['license'])}")
        for text in licence_texts(package):
            # One text, however its lines are broken and indented.
            users[" ".join(text.split())].append((name, text))
    parts = [
        f"{PROGRAM} {tree.program['version']} is licensed under Apache-2.0. It contains the crates below, the C and C++ code\n"
        "that some of them bring, the Rust standard library (MIT OR Apache-2.0) and libstdc++ (GPL-3.0-or-later WITH\n"
        "GCC-exception-3.1, which allows this). Each licence follows, after the names of the crates that it is for.\n",
        "\n".join(lines) + "\n",
    ]
    for found in sorted(users.values(), key=lambda found: (-len(found), found[0][0])):
        names = sorted({name for name, _ in found})
        parts.append(f"{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n\n{found[0][1].strip()}\n")
    file.write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sbom", type=Path, required=True)
    parser.add_argument("--notices", type=Path, required=True)
    parser.add_argument("--processor", default=os.uname().machine, help="as uname -m names it; this machine's by default")
    arguments = parser.parse_args()
    tree = Tree(arguments.processor)
    write_sbom(tree, arguments.sbom)
    write_notices(tree, arguments.notices)


if __name__ == "__main__":
    main()
