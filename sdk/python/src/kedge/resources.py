"""`client.objects`, `client.templates` and `client.state`: reads that the client verifies against the log's state."""

from typing import Protocol, TypeVar

from .calls import Call
from .exchange import Steps, checked, perform, send_plain
from .generated import models, operations
from .session import Session
from .state_reads import check_asked_proof
from .verify.state_proofs import StateShown

T = TypeVar("T")


class StepRunner(Protocol):
    """Performs steps with the synchronous client."""

    def __call__(self, steps: Steps[T]) -> T: ...


class AsyncStepRunner(Protocol):
    """Performs steps with the asynchronous client."""

    async def __call__(self, steps: Steps[T]) -> T: ...


def _item(session: Session, call: Call[T]) -> Steps[T]:
    answer = yield from perform(session, call)
    return answer.body


def _proof(session: Session, call: Call[models.StateProof]) -> Steps[StateShown]:
    reply = yield from send_plain(session, call)
    shown = yield from checked(session, lambda trust: check_asked_proof(call, reply.body, trust))
    return shown[0]


class StateReads:
    """`client.state`: what the log's state holds under an id of any type with entries."""

    _PROOF = staticmethod(operations.get_state_proof)

    def __init__(self, session: Session, run: StepRunner) -> None:
        self._session = session
        self._run = run

    def proof(
        self, id: str, *, checkpoint: int | None = None, min_sequence: int | None = None, wait: int | None = None
    ) -> StateShown:
        """Reads and verifies a proof of an id's entry, or that the log had made nothing.

        Args:
            id: the id.
            checkpoint: the number of batches of an older checkpoint that the server keeps; by default the newest one.
            min_sequence: a checkpoint at or after this sequence.
            wait: limit on the server's wait for it, in seconds.

        Raises:
            ApiError: the server refused the request: 409 before there is such a checkpoint, 410 if it keeps it no more.
            Refused: the proof is invalid; `MalformedEntry` and `BrokenTrie` are evidence of a fault.
        """
        return self._run(_proof(self._session, self._PROOF(id, checkpoint=checkpoint, min_sequence=min_sequence, wait=wait)))


class ObjectReads(StateReads):
    """`client.objects`: objects, and proofs of them."""

    _PROOF = staticmethod(operations.get_object_state_proof)

    def get(
        self, id: str, *, prove: bool = False, min_sequence: int | None = None, wait: int | None = None
    ) -> models.ObjectView:
        """Reads an object. With `prove` it is that of the newest checkpoint, and comes with a proof in `state_proof`,
        which is verified and compared with it.

        Args:
            id: the object's id.
            prove: whether it comes with a state proof.
            min_sequence: an answer that reflects this sequence.
            wait: with `prove`, limit on the server's wait for a checkpoint that covers it, in seconds.

        Raises:
            ApiError: the server refused the request.
            ProofMissing: the server answered without a proof.
            ItemDiffers: the object differs from its proven entry.
            Refused: the proof is invalid.
        """
        call = operations.get_object(id, prove=prove or None, wait=wait, min_sequence=min_sequence)
        return self._run(_item(self._session, call))

    state_proof = StateReads.proof


class TemplateReads(StateReads):
    """`client.templates`: templates, and proofs of them."""

    _PROOF = staticmethod(operations.get_template_state_proof)

    def get(
        self, id: str, *, prove: bool = False, min_sequence: int | None = None, wait: int | None = None
    ) -> models.TemplateView:
        """Reads a template, with `prove` verified as `ObjectReads.get` does.

        A template's name and description are not in the state, so no proof shows them.

        Raises:
            ApiError: the server refused the request.
            ProofMissing: the server answered without a proof.
            ItemDiffers: the template differs from its proven entry.
            Refused: the proof is invalid.
        """
        call = operations.get_template(id, prove=prove or None, wait=wait, min_sequence=min_sequence)
        return self._run(_item(self._session, call))

    state_proof = StateReads.proof


class AsyncStateReads:
    """`client.state` of the asynchronous client."""

    _PROOF = staticmethod(operations.get_state_proof)

    def __init__(self, session: Session, run: AsyncStepRunner) -> None:
        self._session = session
        self._run = run

    async def proof(
        self, id: str, *, checkpoint: int | None = None, min_sequence: int | None = None, wait: int | None = None
    ) -> StateShown:
        """Reads and verifies a state proof, as `StateReads.proof` does."""
        return await self._run(_proof(self._session, self._PROOF(id, checkpoint=checkpoint, min_sequence=min_sequence, wait=wait)))


class AsyncObjectReads(AsyncStateReads):
    """`client.objects` of the asynchronous client."""

    _PROOF = staticmethod(operations.get_object_state_proof)

    async def get(
        self, id: str, *, prove: bool = False, min_sequence: int | None = None, wait: int | None = None
    ) -> models.ObjectView:
        """Reads an object, with `prove` verified as `ObjectReads.get` does."""
        call = operations.get_object(id, prove=prove or None, wait=wait, min_sequence=min_sequence)
        return await self._run(_item(self._session, call))

    state_proof = AsyncStateReads.proof


class AsyncTemplateReads(AsyncStateReads):
    """`client.templates` of the asynchronous client."""

    _PROOF = staticmethod(operations.get_template_state_proof)

    async def get(
        self, id: str, *, prove: bool = False, min_sequence: int | None = None, wait: int | None = None
    ) -> models.TemplateView:
        """Reads a template, with `prove` verified as `TemplateReads.get` does."""
        call = operations.get_template(id, prove=prove or None, wait=wait, min_sequence=min_sequence)
        return await self._run(_item(self._session, call))

    state_proof = AsyncStateReads.proof
