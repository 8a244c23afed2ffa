"""Types of answers with state proofs, as the server sends them."""

from __future__ import annotations

from typing import Any, TypedDict

from typing_extensions import NotRequired

from .generated import models


class StateAnchorView(TypedDict):
    """Where a proof's checkpoint is anchored."""

    contract: str
    transaction_hash: str | None
    block_number: int | None
    checkpoint: NotRequired[StateCheckpointView]
    path: NotRequired[list[str]]


class StateCheckpointView(TypedDict):
    """A checkpoint whose `state` is the root, and the sequencer's signature."""

    checkpoint: models.Checkpoint
    signature: str


class StateTextsView(TypedDict, total=False):
    """Texts whose hashes an entry holds. JSON is a string here, so that its spelling survives."""

    properties: str
    schema: str | None
    name: str
    rules: list[str | None]


class StateEntryView(TypedDict):
    """An entry: its bytes in hexadecimal digits, the same for people, and its texts. `present` is false and the rest
    empty where the log had made nothing under the key."""

    key: str
    present: bool
    entry: NotRequired[str | None]
    fields: NotRequired[dict[str, Any] | None]
    texts: NotRequired[StateTextsView | None]


class StateProofView(StateEntryView):
    """The answer of `GET /objects/{id}/state-proof`, and the member `state_proof` of an item."""

    nodes: list[str]
    checkpoint: StateCheckpointView
    anchor: StateAnchorView | None


class ListedProofView(StateEntryView):
    """The proof of one item of a list. `nodes` are indices into the common nodes."""

    nodes: list[int]


class StateProofsView(TypedDict):
    """The member `state_proofs` of a list: one checkpoint, the nodes that its proofs have in common, and the proofs."""

    checkpoint: StateCheckpointView
    anchor: StateAnchorView | None
    nodes: list[str]
    proofs: list[ListedProofView]


class ProvenObjectView(models.ObjectView):
    """An object with its proof."""

    state_proof: StateProofView


class ProvenTemplateView(models.TemplateView):
    """A template with its proof."""

    state_proof: StateProofView


class ProvenObjectPage(models.PageOfObjectView):
    """A page of objects with their proofs."""

    state_proofs: StateProofsView


class ProvenTemplatePage(models.PageOfTemplateView):
    """A page of templates with their proofs."""

    state_proofs: StateProofsView
