"""The story that chain.json tells: who asks for what, what fails, and which batch takes it.

Targets are written as names ("ticket", "seat 3") and become ids once their makers are in the chain.
"""

from dataclasses import dataclass, field

DIGEST = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"


@dataclass
class Step:
    """One action: what is asked, what it makes, and which resource's integrity it extends."""

    kind: str
    target: str
    payload: str
    makes: list[tuple[str, int, str]] = field(default_factory=list)  # prefix, index, name
    extends: str = ""  # a name; the target when empty
    fails: bool = False


@dataclass
class Ask:
    """One signed request; `batch` is the number of the batch that takes it."""

    signer: str
    batch: int
    steps: list[Step]
    atomic: bool = False


def register(who: str, organization: str) -> Step:
    made = [("wal", 0, f"wallet of {who}"), ("org", 1, organization)]
    return Step("wallet.register", "", DIGEST, made, extends=f"wallet of {who}")


def mint(name: str, payload: str) -> Step:
    return Step("mint", "ticket", payload, [("obj", 0, name), ("evt", 0, f"event of {name}")], extends=name)


def opening() -> list[Ask]:
    variations = '{"variations":[{"name":"red"},{"name":"green"},{"name":"blue"}]}'
    return [
        Ask("alice", 0, [register("alice", "Alice's organization")]),
        Ask("bob", 1, [register("bob", "Bob's organization")]),
        Ask("alice", 1, [Step("template.create", "", '{"name":"ticket"}', [("tpl", 0, "ticket")], extends="ticket")]),
        Ask("carol", 2, [Step("system.tier", "Alice's organization", '{"tier":"developer"}')]),
        Ask("alice", 2, [Step("template.variations", "ticket", variations,
                              [("var", i, f"variation {i}") for i in range(3)])]),
        Ask("alice", 2, [Step("file.create", "plan – 平面図.pdf", DIGEST, [("fil", 0, "plan")], extends="plan")]),
    ]


def life_of_an_object() -> list[Ask]:
    to_bob = '{"to":"0x75E0De31eCa89159a26b09cc3b5eF4736A4f8969"}'
    return [
        Ask("alice", 3, [mint("seat 0", '{"properties":{"seat":"Ä0","price":12.50}}')]),
        Ask("alice", 4, [Step("update", "seat 0", '{"properties":{"price":null}}'),
                         Step("lock", "seat 0", "{}"),
                         Step("update", "seat 0", '{"properties":{"x":1}}', fails=True),
                         Step("unlock", "seat 0", "{}")]),
        Ask("alice", 4, [Step("x.check_in", "seat 0", '{"gate":4}'), Step("transfer", "seat 0", to_bob)], atomic=True),
        Ask("bob", 5, [Step("burn", "seat 0", "")]),
    ]


def crowd() -> list[Ask]:
    """Many objects in few requests; several requests a batch, failures at either end and inside."""
    minted = [mint(f"seat {i}", f'{{"properties":{{"seat":{i}}}}}') for i in range(1, 38)]
    emits = [Step("emit", f"seat {1 + i % 37}", str(i), fails=i % 7 == 0 or i == 59) for i in range(60)]
    return [
        Ask("alice", 6, minted, atomic=True),
        Ask("alice", 7, emits[:20]),
        Ask("bob", 7, [Step("lock", "seat 5", "{}", fails=True), Step("emit", "seat 5", "{}")]),
        Ask("alice", 7, emits[20:]),
        Ask("alice", 8, [Step("emit", "seat 1", "{}")] * 8),
        Ask("bob", 9, [Step("emit", "seat 2", '"one"')]),
        Ask("bob", 10, [Step("emit", "seat 2", '"two"')]),
    ]


def story() -> list[Ask]:
    return opening() + life_of_an_object() + crowd()
