"""Plants weaknesses in the predicates of the state's faults, and lists which test finds each.

Each comparison is turned, and each condition is left out, one at a time. All are compiled in one build: an expression
becomes a choice by the environment variable KEDGE_PLANTED, the number of a weakness. scripts/night/weaknesses.sh calls
this with a copy of the sources.

    weaknesses.py plant SOURCES           changes the predicates in Rust, and notes them in SOURCES/weaknesses.json
    weaknesses.py build SOURCES           builds the tests of kedge-protocol from them
    weaknesses.py run SOURCES             runs these tests for each weakness, and writes SOURCES/WEAKNESSES.md
    weaknesses.py plant-contracts SOURCES changes the contracts' predicates, and notes them there, too
    weaknesses.py run-contracts SOURCES   runs the contracts' tests for each, and writes SOURCES/CONTRACTS.md
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

STATE = "crates/protocol/src/state"
CONTRACTS = [f"contracts/src/{name}.sol" for name in ("StateFaults", "StateHistory", "StateSigners")]
FILES = [
    *(f"{STATE}/faults/{name}.rs" for name in ("changes", "entries", "hands", "leaves", "shown")),
    f"{STATE}/entry/decode.rs",
    f"{STATE}/trie/node.rs",
    f"{STATE}/trie/proof.rs",
]
# Nothing behind these lines is part of a fault.
ENDS = {f"{STATE}/trie/proof.rs": "\npub(crate) mod hex "}

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>b?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\])')
    |(?P<life>'\w+)
    |(?P<word>\w+!?(?!=))
    |(?P<sign>\.\.=|\.\.|::|->|=>|==|!=|<=|>=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
TURNS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
OPENS, CLOSES = "([{", ")]}"
# Methods that take a condition as a closure.
ASKING = {"is_some_and", "is_none_or", "filter", "any", "all", "find"}

# What the rules above do not see: a file, a place in it that occurs once, and the weak form of it.
SYSTEM = ["SystemTier", "SystemVerdict", "SystemWebhookOff", "SystemSequencerKey"]
CHANGES = ["Update", "SetAttributes", "DeleteAttributes"]


def kinds(names, join=", ", ends=""):
    return "[" + ends + join.join(f"Kind::{name}" for name in names) + ("," + ends[:-4] if ends else "") + "]"


def without(names, one):
    """The list with another one in the place of one, so that its type stays."""
    return [names[1] if name == one and name == names[0] else names[0] if name == one else name for name in names]


MORE = [
    *(("changes", kinds(CHANGES), kinds(without(CHANGES, one))) for one in CHANGES),
    *(("hands", kinds(SYSTEM, ",\n        ", "\n        "), kinds(without(SYSTEM, one))) for one in SYSTEM),
    ("changes", "(leads(&before.integrity, leaves) == Some(after.integrity))", "true"),
    ("changes", "!all_opened(leaves, |_| true)", "false"),
    ("changes", "before.version.checked_add(leaves.len() as u64)", "before.version.checked_add(1)"),
    ("entries", "high.sequence.saturating_sub(low.sequence)", "u64::MAX"),
    ("entries", "template.minted_count.min(most)", "template.minted_count"),
    ("entries", "template.minted_count.min(most)", "most"),
    ("entries", "(one, other) => one != other", "(_, _) => false"),
    ("entries", "_ => before != after", "_ => false"),
    ("hands", "KindAllowance::None => return true", "KindAllowance::None => return false"),
    ("hands", "KindAllowance::Unknown => return false", "KindAllowance::Unknown => return true"),
    ("hands", "Who::Owner => signs", "Who::Owner => false"),
    ("hands", "Who::Owner => signs", "Who::Owner => true"),
    ("hands", "Who::Anyone => false", "Who::Anyone => signs"),
    ("hands", "wallet\n        .keys\n        .contains(&words.signer)", "true"),
    ("hands", "rule(template, &Kind::Mint.hash()).unwrap_or(Who::Issuer)", "Who::Issuer"),
    ("hands", "rule(template, &Kind::Mint.hash()).unwrap_or(Who::Issuer)", "rule(template, &Kind::Mint.hash()).unwrap_or(Who::Anyone)"),
    ("hands", "EntryFields::Organization {} => shown.id", "EntryFields::Organization {} => return false"),
    ("leaves", "ObjectStatus::Burned => true", "ObjectStatus::Burned => false"),
    ("leaves", "EntryFields::Wallet(wallet) => wallet.keys.is_empty()", "EntryFields::Wallet(_) => false"),
    ("leaves", "EntryFields::ApiKey(key) => key.deleted", "EntryFields::ApiKey(_) => false"),
    ("leaves", "EntryFields::Webhook(webhook) => webhook.deleted", "EntryFields::Webhook(_) => false"),
    ("leaves", "!words.is_payload(&digest_text(&file.sha256))", "false"),
    ("leaves", "!words.is_target(&dispute.subject_id)", "false"),
    ("leaves", "(0..VARIATIONS_MAX as u32)", "(0..VARIATIONS_MAX as u32 - 1)"),
    ("leaves", "(0..VARIATIONS_MAX as u32)", "(0..VARIATIONS_MAX as u32 + 1)"),
    ("leaves", "first_integrity(content, index + 1)", "first_integrity(content, index)"),
    ("shown", "Id::made_by(prefix, content, 0)", "Id::made_by(prefix, content, 1)"),
    ("shown", "leaf.extends(&integrity)", "true"),
]

# Weaknesses that change no verdict, by predicate and words, and why.
NO_EFFECT = {
    ("rewritten_state", "`after.sequence < before.sequence` left out"): "no effect: a sequence that fell is at or below the "
    "first checkpoint's, where every change convicts",
    ("lone_step", "`one.version <= other.version` with `<`"): "no effect: equal versions have not grown, in either order",
    ("StateEntry::decode", "`sequence == 0` left out"): "no effect: every version but 0 is above it",
    ("ReadNode::read", "`bytes.len() < NODE_BYTES_MIN` with `<=`"): "no effect: no node of the one form has 32 bytes",
}

INTRODUCTION = """\
What `make night PART=weaknesses` made of the predicates of the state's faults: each comparison turned, each condition left
out, one at a time, and the tests that fail then. `scripts/night/weaknesses.py` writes this page. Tests below `state_` are
those of `crates/protocol/tests/protocol/`, those below `state::` stand next to the code; *honest logs* is `state_honesty`.
*Left out* is a condition that always holds where all must hold, and never where one suffices."""

# The weakness of a run, for functions that read nothing: a pointer to one that reads the block's receiver of fees, which
# forge sets.
SWITCH = """\
// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

library Planted {
    function has(uint160 number) internal pure returns (bool) {
        function(uint160) internal view returns (bool) reads = _has;
        function(uint160) internal pure returns (bool) asks;
        assembly {
            asks := reads
        }
        return asks(number);
    }

    function _has(uint160 number) private view returns (bool) {
        return block.coinbase == address(number);
    }
}
"""


class Token:
    def __init__(self, kind, text, start, depth):
        self.kind, self.text, self.start, self.end, self.depth = kind, text, start, start + len(text), depth


def tokens_of(source, end):
    """The tokens, each with the depth of brackets around it. An opening bracket has the depth outside."""
    tokens, depth, at = [], 0, 0
    while at < end:
        match = TOKEN.match(source, at)
        at = match.end()
        if match.lastgroup == "skip":
            continue
        text = match.group()
        if text in CLOSES and match.lastgroup == "sign":
            depth -= 1
        tokens.append(Token(match.lastgroup, text, match.start(), depth))
        if text in OPENS and match.lastgroup == "sign":
            depth += 1
    return tokens


def is_spaced(source, token):
    return source[token.start - 1].isspace() and source[token.end].isspace()


def is_joint(source, token):
    """Whether a token joins conditions."""
    return token.text in ("&&", "||") and is_spaced(source, token)


LEFT_ENDS = {",", ";", ":", "=", "=>", "|", "return", "if", "match", "{", "}", "in", "else"}
RIGHT_ENDS = {",", ";", "=", "=>", "{"}
# A contract's choice ends expressions, too; in Rust, this sign belongs to them.
CHOICE_ENDS = {"?", ":"}


def span(source, tokens, index, joints, further=frozenset()):
    """The first and the last token of the expression around one, at its depth. `joints` and `further` signs end it, too."""
    depth = tokens[index].depth

    def ends(token, words):
        if token.depth < depth:
            return True
        return token.depth == depth and (token.text in words or (token.text in joints and is_joint(source, token)))

    first = index
    while first > 0 and not ends(tokens[first - 1], LEFT_ENDS | further):
        # A closing bracket has the depth outside, as its opening one: braces end a statement.
        first -= 1
    last = index
    while last + 1 < len(tokens) and not ends(tokens[last + 1], RIGHT_ENDS | further):
        last += 1
    return first, last


class Weaknesses:
    """The changes of one file, by the places that they replace."""

    def __init__(self, path, source, end):
        self.path, self.source = path, source
        self.tokens = tokens_of(source, end)
        self.places = {}
        self.is_contract = path.endswith(".sol")
        self.further = CHOICE_ENDS if self.is_contract else frozenset()

    def span(self, index, joints):
        return span(self.source, self.tokens, index, joints, self.further)

    def is_in_loop(self, index):
        """Whether a token stands in the head of a contract's loop."""
        depth = self.tokens[index].depth
        place = index
        while place > 0 and not (self.tokens[place].text == "(" and self.tokens[place].depth == depth - 1):
            place -= 1
        return place > 0 and self.tokens[place - 1].text == "for"

    def add(self, start, end, weak, what):
        changes = self.places.setdefault((start, end), [])
        if all(weak != other for other, _ in changes) and weak != self.source[start:end]:
            changes.append((weak, what))

    def text(self, first, last):
        return self.source[self.tokens[first].start : self.tokens[last].end]

    def leave_out(self, first, last, value):
        start, end = self.tokens[first].start, self.tokens[last].end
        text = self.source[start:end]
        if text.startswith("let ") or text in ("true", "false"):
            return
        self.add(start, end, value, f"`{flat(text)}` left out")

    def collect(self):
        for index, token in enumerate(self.tokens):
            if token.text in TURNS and is_spaced(self.source, token):
                self.turn(index)
            if is_joint(self.source, token):
                self.join(index)
            if token.text == "if":
                self.condition(index)
            if token.text in ASKING and self.tokens[index + 1].text == "(":
                self.closure(index)
            if token.text == "!" and self.tokens[index + 1].text not in ("[", "="):
                self.negation(index)
        return self.places

    def turn(self, index):
        if self.is_contract and self.is_in_loop(index):
            return
        first, last = self.span(index, ("&&", "||"))
        token, start = self.tokens[index], self.tokens[first].start
        text = self.text(first, last)
        if "match " in text:
            return
        for other in TURNS[token.text]:
            weak = text[: token.start - start] + other + text[token.end - start :]
            self.add(start, start + len(text), weak, f"`{flat(text)}` with `{other}`")

    def join(self, index):
        for side in (index - 1, index + 1):
            # The side's own depth: a closing bracket has the depth outside.
            if self.tokens[side].depth != self.tokens[index].depth:
                side = index
            first, last = self.operand(index, side)
            is_of_all = any(
                0 <= place < len(self.tokens)
                and self.tokens[place].text == "&&"
                and is_joint(self.source, self.tokens[place])
                for place in (first - 1, last + 1)
            )
            self.leave_out(first, last, "true" if is_of_all else "false")
            if self.tokens[index].text == "||":
                self.leave_out(*self.operand(index, side, ("||",)), "false")

    def operand(self, index, side, joints=("&&", "||")):
        """The operand of a joint: before it if `side` is before."""
        if side < index:
            first, _ = self.span(index - 1, joints)
            return first, index - 1
        _, last = self.span(index + 1, joints)
        return index + 1, last

    def condition(self, index):
        first, last = index + 1, index + 1
        depth = self.tokens[index].depth
        if self.is_contract:
            last = next(
                place
                for place in range(first + 1, len(self.tokens))
                if self.tokens[place].text == ")" and self.tokens[place].depth == depth
            )
            if not self.has_joint(first + 1, last - 1, depth + 1):
                self.leave_out(first + 1, last - 1, "false")
            return
        while self.tokens[last + 1].depth >= depth and not (
            self.tokens[last + 1].depth == depth and self.tokens[last + 1].text in ("{", "=>")
        ):
            last += 1
        if self.tokens[first].text != "let" and not self.has_joint(first, last, depth):
            is_guard = self.tokens[last + 1].text != "{"
            self.leave_out(first, last, "true" if is_guard else "false")

    def has_joint(self, first, last, depth):
        inner = self.tokens[first : last + 1]
        return any(token.depth == depth and is_joint(self.source, token) for token in inner)

    def closure(self, index):
        bars = [place for place in range(index + 2, len(self.tokens)) if self.tokens[place].text == "|"][:2]
        if len(bars) < 2 or bars[0] != index + 2 or self.tokens[bars[1] + 1].text == "{":
            return
        first, depth = bars[1] + 1, self.tokens[index + 2].depth
        last = first
        while self.tokens[last + 1].depth >= depth and not (
            self.tokens[last + 1].depth == depth and self.tokens[last + 1].text == ","
        ):
            last += 1
        if not self.has_joint(first, last, depth):
            self.leave_out(first, last, "true")

    def negation(self, index):
        first, last = self.span(index, ("&&", "||"))
        if first == index:
            text = self.text(first, last)
            start = self.tokens[first].start
            self.add(start, start + len(text), text[1:], f"`{flat(text)}` without `!`")


def flat(text):
    return " ".join(text.split()).replace("|", "\\|")


def choice_in_rust(weak, own):
    arms = "".join(f"{number} => {text}, " for number, text in weak)
    return f"(match crate::state::faults::planted() {{ {arms}_ => {own} }})"


def choice_in_contracts(weak, own):
    return "(" + "".join(f"Planted.has({number}) ? {text} : " for number, text in weak) + own + ")"


def rendered(source, places, start, end, numbers, choice=choice_in_rust):
    """The source between two places, with each change as a choice."""
    inner = sorted(span for span in places if start <= span[0] and span[1] <= end and span != (start, end))
    outermost = [one for one in inner if not any(o != one and o[0] <= one[0] and one[1] <= o[1] for o in inner)]
    text, at = "", start
    for one in outermost:
        within = {place: changes for place, changes in places.items() if one[0] <= place[0] and place[1] <= one[1]}
        own = rendered(source, within, *one, numbers, choice)
        weak = [(numbers[(one, text)], text) for text, _ in places[one]]
        text += source[at : one[0]] + choice(weak, own)
        at = one[1]
    return text + source[at:end]


def function_at(source, place):
    """The predicate around a place: the last function that begins before it."""
    functions = re.findall(r"\n    function (\w+)", source[:place])
    if functions:
        return functions[-1]
    names = re.findall(r"\n( *)(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)", source[:place])
    indent, name = names[-1]
    if not indent:
        return name
    owner = re.findall(r"\nimpl(?:<[^>]*>)? (\w+)", source[:place])[-1]
    return f"{owner}::{name}"


def more_of(path, source, places):
    for name, text, weak in MORE:
        if Path(path).stem != name:
            continue
        if source.count(text) != 1:
            sys.exit(f"{path} has {source.count(text)} times: {text}")
        start = source.index(text)
        what = f"`{flat(text)}` as `{flat(weak)}`"
        if "=>" in text:
            # An arm: its pattern stays.
            pattern, _, value = text.partition(" => ")
            weak = weak.partition(" => ")[2]
            start, text = start + len(pattern) + 4, value
            if value.startswith("return "):
                start, text, weak = start + 7, value[7:], weak.removeprefix("return ")
        changes = places.setdefault((start, start + len(text)), [])
        if all(weak != other for other, _ in changes):
            changes.append((weak, what))


def planted(sources, files, root, choice):
    """Plants all weaknesses of some files, and returns their list."""
    listed = []
    for path in files:
        file = sources / path
        source = file.read_text()
        end = source.find(ENDS[path]) if path in ENDS else len(source)
        tests = source.find("#[cfg(test)]")
        end = tests if 0 <= tests < end else end
        places = Weaknesses(path, source, end).collect()
        more_of(path, source, places)
        numbers = {}
        for place in sorted(places):
            for weak, what in places[place]:
                numbers[(place, weak)] = len(listed) + 1
                listed.append(
                    {
                        "number": len(listed) + 1,
                        "file": path.removeprefix(f"{root}/"),
                        "line": source.count("\n", 0, place[0]) + 1,
                        "predicate": function_at(source, place[0]),
                        "what": what,
                    }
                )
        file.write_text(rendered(source, places, 0, len(source), numbers, choice))
    (sources / "weaknesses.json").write_text(json.dumps(listed, indent=1))
    print(f"{len(listed)} weaknesses planted")


def plant(sources):
    planted(sources, FILES, STATE, choice_in_rust)
    switch = """
/// The weakness that this run has, by its number; 0 for none.
pub(crate) fn planted() -> u16 {
    static PLANTED: std::sync::LazyLock<u16> =
        std::sync::LazyLock::new(|| std::env::var("KEDGE_PLANTED").map_or(0, |text| text.parse().expect("a number")));
    *PLANTED
}
"""
    switches = sources / STATE / "faults/mod.rs"
    switches.write_text(switches.read_text() + switch)
    root = sources / "crates/protocol/src/lib.rs"
    root.write_text(re.sub(r"\A((?://!.*\n)+)", r"\1\n#![allow(warnings)]\n", root.read_text()))


def plant_contracts(sources):
    planted(sources, CONTRACTS, "contracts/src", choice_in_contracts)
    for path in CONTRACTS:
        file = sources / path
        file.write_text(file.read_text().replace(";\n", ';\n\nimport {Planted} from "./Planted.sol";\n', 1))
    (sources / "contracts/src/Planted.sol").write_text(SWITCH)


def build(sources):
    """Builds the tests, and notes where the programs are."""
    command = [os.environ.get("CARGO", "cargo"), "test", "--release", "--locked", "--package", "kedge-protocol", "--lib", "--test", "protocol"]
    command += ["--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=sources, stdout=subprocess.PIPE, text=True, check=True)
    programs = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable"):
            programs[message["target"]["kind"][0]] = message["executable"]
    (sources / "programs.json").write_text(json.dumps(programs))


# The tests of what judges the state, by the kind of their program.
TESTS = {"lib": "state::", "test": "state_"}
HONESTY = "state_honesty::honest_logs_are_never_convicted"


def failed(programs, number, histories, tests):
    """The tests that fail with a weakness."""
    environment = os.environ | {"KEDGE_PLANTED": str(number), "KEDGE_HONESTY_HISTORIES": str(histories)}
    names = []
    for kind, test in tests.items():
        command = [programs[kind], test]
        try:
            run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
        except subprocess.TimeoutExpired:
            names.append("a time-out")
            continue
        found = re.findall(r"^test (\S+) \.\.\. FAILED", run.stdout, re.MULTILINE)
        names += found if found or run.returncode == 0 else ["a crash"]
    return sorted(names)


def failed_contracts(sources, number, contracts):
    """The tests of these contracts that fail with a weakness."""
    command = [sources / "contracts/node_modules/.bin/forge", "test", "--block-coinbase", f"0x{number:040x}"]
    command += ["--match-contract", f"^State({contracts})Test$"]
    run = subprocess.run(command, cwd=sources / "contracts", capture_output=True, text=True, timeout=900, check=False)
    names = re.findall(r"^\[FAIL.*\] (\w+)\(", run.stdout, re.MULTILINE)
    if run.returncode != 0 and not names:
        sys.exit(f"forge failed: {run.stdout}{run.stderr}")
    return sorted(set(names))


def run_contracts(sources):
    listed = json.loads((sources / "weaknesses.json").read_text())
    fails = failed_contracts(sources, 0, "Predicates|Judges|Verdicts")
    if fails:
        sys.exit(f"without a weakness, these fail: {', '.join(fails)}")
    for one in listed:
        one["reason"] = NO_EFFECT.get((one["predicate"], one["what"]))
        one["found"] = failed_contracts(sources, one["number"], "Predicates|Judges")
        # The table of verdicts takes half a minute.
        if not one["found"]:
            one["found"] = failed_contracts(sources, one["number"], "Verdicts")
        note(one)
    conclude(listed, sources / "CONTRACTS.md")


def note(one):
    state = ", ".join(one["found"]) or one["reason"] or "MISSED"
    print(f"{one['number']} {one['file']}:{one['line']} {one['what']}: {state}", flush=True)


def run(sources):
    listed = json.loads((sources / "weaknesses.json").read_text())
    programs = json.loads((sources / "programs.json").read_text())
    fails = failed(programs, 0, 2000, TESTS)
    if fails:
        sys.exit(f"without a weakness, these fail: {', '.join(fails)}")
    for one in listed:
        one["reason"] = NO_EFFECT.get((one["predicate"], one["what"]))
        one["found"] = failed(programs, one["number"], 2000, TESTS)
        if not one["found"] and not one["reason"]:
            one["found"] = failed(programs, one["number"], 20_000, {"test": HONESTY})
        note(one)
    conclude(listed, sources / "WEAKNESSES.md")


def conclude(listed, page):
    page.write_text(report(listed))
    missed = sum(not one["found"] and not one["reason"] for one in listed)
    found = sum(bool(one["found"]) for one in listed)
    print(f"{found} of {len(listed)} weaknesses found, {len(listed) - found - missed} without an effect, {missed} missed")
    sys.exit(2 if missed else 0)


def finders(names):
    """The tests that find a weakness, in short: honest logs, and the first two others."""
    others = [f"`{name}`" for name in names if name != HONESTY]
    shown = ["honest logs"] if HONESTY in names else []
    shown += others[:2]
    return ", ".join(shown) + (f" and {len(others) - 2} more" if len(others) > 2 else "")


def report(listed):
    """A summary by predicate, and each weakness with the tests that find it."""
    lines = ["# Planted weaknesses", "", INTRODUCTION, ""]
    lines += ["| predicate | weaknesses | found by honest logs | found otherwise | no effect | missed |"]
    lines += ["|---|---|---|---|---|---|"]
    counts = {}
    for one in listed:
        by = (
            "honesty" if HONESTY in one["found"]
            else "other" if one["found"]
            else "none" if one["reason"]
            else "missed"
        )
        counts.setdefault((one["file"], one["predicate"]), Counter())[by] += 1
    for (file, predicate), count in counts.items():
        ways = " | ".join(str(count[by]) for by in ("honesty", "other", "none", "missed"))
        lines.append(f"| `{predicate}` (`{file}`) | {count.total()} | {ways} |")
    total = sum(counts.values(), Counter())
    ways = " | ".join(str(total[by]) for by in ("honesty", "other", "none", "missed"))
    lines.append(f"| all | {total.total()} | {ways} |")
    for file, predicate in counts:
        lines += ["", f"## `{predicate}`", "", "| weakness | found by |", "|---|---|"]
        for one in listed:
            if (one["file"], one["predicate"]) == (file, predicate):
                lines.append(f"| {one['what']} | {finders(one['found']) or one['reason'] or '**nothing**'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["plant", folder]:
            plant(Path(folder))
        case ["build", folder]:
            build(Path(folder))
        case ["run", folder]:
            run(Path(folder))
        case ["plant-contracts", folder]:
            plant_contracts(Path(folder))
        case ["run-contracts", folder]:
            run_contracts(Path(folder))
        case _:
            sys.exit(__doc__)
