"""Requests of many actions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .calls import RawJson
from .generated import models

ACTIONS_MAX: Final = 500
"""Limit on the actions of a request."""


class Batch:
    """Up to 500 actions under one signature.

        batch = Batch(atomic=True).mint(template, {"seat": "A1"}).transfer(object_id, to=friend)
        answer = client.answer(operations.submit_batch(batch.body()))

    Each method adds an action and returns the batch. Results are in the same order.

    Args:
        atomic: whether one refused action refuses all. Otherwise each succeeds or fails on its own.
    """

    def __init__(self, atomic: bool = False) -> None:
        self.atomic = atomic
        self._actions: list[models.ActionBody] = []

    def __len__(self) -> int:
        return len(self._actions)

    def add(self, action: models.ActionBody) -> "Batch":
        """Adds an action in the form of the API document.

        Raises:
            ValueError: the batch has 500 actions.
        """
        if len(self._actions) == ACTIONS_MAX:
            raise ValueError(f"a request has at most {ACTIONS_MAX} actions: begin another batch")
        self._actions.append(action)
        return self

    def mint(
        self,
        template_id: str,
        properties: Mapping[str, Any] | None = None,
        *,
        variation_id: str | None = None,
        to: str | None = None,
    ) -> "Batch":
        """Mints an object from a template, for the signer or for `to` (a wallet's id or an address)."""
        payload: models.MintPayload = {}
        if properties is not None:
            payload["properties"] = dict(properties)
        if variation_id is not None:
            payload["variation_id"] = variation_id
        if to is not None:
            payload["to"] = to
        return self.add({"action_type": "mint", "template_id": template_id, "payload": payload})

    def update(self, object_id: str, properties: Mapping[str, Any]) -> "Batch":
        """Changes properties by a merge patch (RFC 7396): null removes one."""
        return self.add({"action_type": "update", "object_id": object_id, "payload": {"properties": dict(properties)}})

    def transfer(self, object_id: str, to: str) -> "Batch":
        """Transfers an object to a wallet's id or an address."""
        return self.add({"action_type": "transfer", "object_id": object_id, "payload": {"to": to}})

    def lock(self, object_id: str) -> "Batch":
        """Locks an object against changes."""
        return self.add({"action_type": "lock", "object_id": object_id})

    def unlock(self, object_id: str) -> "Batch":
        """Unlocks an object."""
        return self.add({"action_type": "unlock", "object_id": object_id})

    def burn(self, object_id: str) -> "Batch":
        """Burns an object permanently."""
        return self.add({"action_type": "burn", "object_id": object_id})

    def set_attributes(self, object_id: str, attributes: Mapping[str, Any]) -> "Batch":
        """Sets properties by name, replacing their values."""
        return self.add({"action_type": "set_attributes", "object_id": object_id, "payload": {"attributes": dict(attributes)}})

    def delete_attributes(self, object_id: str, names: Sequence[str]) -> "Batch":
        """Removes properties by name."""
        return self.add({"action_type": "delete_attributes", "object_id": object_id, "payload": {"attributes": list(names)}})

    def emit(self, object_id: str, payload: Any) -> "Batch":
        """Records any JSON value with an object, without changing it. `RawJson` is sent unchanged."""
        return self.add({"action_type": "emit", "object_id": object_id, "payload": payload})

    def custom(self, kind: str, object_id: str, payload: Any = RawJson("{}")) -> "Batch":
        """Adds an action of a template's custom kind, which begins with `x.`."""
        return self.add({"action_type": kind, "object_id": object_id, "payload": payload})

    def body(self) -> models.BatchBody:
        """The body for `submit_batch`."""
        return {"actions": list(self._actions), "atomic": self.atomic}
