"""The bill of materials and the licences: valid, complete, and about the program that they are shipped with."""

import json
import re
import unittest

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import get_spdx_licensing

from harness import VERSION, unpacked


class Inventory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        doc = unpacked() / "share/doc/kedge"
        cls.text = (doc / "kedge.cdx.json").read_text()
        cls.bom = json.loads(cls.text)
        cls.crates = {f"{c['name']} {c['version']}" for c in cls.bom["components"]}
        cls.notices = (doc / "THIRD-PARTY.txt").read_text()

    # Holds invariant 175.
    def test_the_bill_of_materials_is_valid_cyclonedx(self):
        self.assertIsNone(JsonStrictValidator(SchemaVersion.V1_6).validate_str(self.text))
        self.assertEqual(self.bom["metadata"]["component"]["version"], VERSION)

    # Holds invariant 175.
    def test_every_crate_whose_code_is_in_the_program_is_listed(self):
        """A panic names its source file, so the program holds the paths of crates, with their versions."""
        program = (unpacked() / "bin/kedge").read_bytes()
        paths = re.findall(rb"/(?:registry/src/)?index\.crates\.io-[0-9a-f]+/([A-Za-z0-9_-]+?)-(\d+\.\d+\.\d+[A-Za-z0-9.+-]*)/", program)
        found = {f"{name.decode()} {version.decode()}" for name, version in paths}
        self.assertGreater(len(found), 100)
        self.assertEqual(found - self.crates, set())

    # Holds invariant 175.
    def test_every_crate_says_what_it_is(self):
        spdx = get_spdx_licensing()
        for component in self.bom["components"]:
            with self.subTest(component["name"]):
                self.assertEqual(component["purl"], f"pkg:cargo/{component['name']}@{component['version'].replace('+', '%2B')}")
                self.assertEqual(spdx.validate(component["licenses"][0]["expression"]).errors, [])
                self.assertRegex(component["hashes"][0]["content"], r"^[0-9a-f]{64}$")

    # Holds invariant 175.
    def test_everything_is_reached_from_the_program(self):
        edges = {d["ref"]: d.get("dependsOn", []) for d in self.bom["dependencies"]}
        reached, ahead = set(), ["kedge"]
        while ahead:
            ref = ahead.pop()
            if ref not in reached:
                reached.add(ref)
                ahead.extend(edges[ref])
        self.assertEqual({c["bom-ref"] for c in self.bom["components"]} - reached, set())

    # Holds invariant 175.
    def test_every_crate_has_its_licence(self):
        before_texts = self.notices.split("=" * 100)[0]
        listed = set(re.findall(r"^(\S+ \S+): ", before_texts, re.MULTILINE))
        self.assertEqual(listed, self.crates)
        headed = set()
        for names in re.findall(r"^={100}\n(.+)\n={100}$", self.notices, re.MULTILINE):
            headed.update(names.split(", "))
        self.assertEqual(headed, self.crates)
        # Third-party code that crates contain, under the licence chosen for it.
        for owner in ["Copyright (c) 2011 The LevelDB Authors", "Meta Platforms", "Yann Collet", "Microsoft Corporation"]:
            self.assertIn(owner, self.notices)
        self.assertNotIn("GNU AFFERO GENERAL PUBLIC LICENSE", self.notices)


if __name__ == "__main__":
    unittest.main()
