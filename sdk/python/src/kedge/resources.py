"""`client.objects`, `client.templates` and `client.state`: reads that the client verifies against the log's state."""

from typing import Any, Literal, Protocol, TypeVar, overload

from .calls import Call
from .exchange import Steps, checked, perform, send_plain
from .generated import models, operations
from .session import Session
from .state_models import ProvenObjectView, ProvenTemplateView
from .state_reads import check_state_answer, state_proof, with_proof
from .verify.state_proofs import StateShown

T = TypeVar("T")


class StepRunner(Protocol):
    """Performs steps with the synchronous client."""

    def __call__(self, steps: Steps[T]) -> T: ...


class AsyncStepRunner(Protocol):
    """Performs steps with the asynchronous client."""

    async def __call__(self, steps: Steps[T]) -> T: ...


def _item(session: Session, call: Call[Any], prove: bool) -> Steps[Any]:
    answer = yield from perform(session, with_proof(call) if prove else call)
    return answer.body


def _proof(
    session: Session, place: str, id: str, checkpoint: int | None, min_sequence: int | None, wait: int | None
) -> Steps[StateShown]:
    call = state_proof(place, id, checkpoint=checkpoint, min_sequence=min_sequence, wait=wait)
    reply = yield from send_plain(session, call)
    return (yield from checked(session, lambda trust: check_state_answer(reply.body, trust, id, checkpoint, min_sequence)))


class StateReads:
    """`client.state`: what the log's state holds under an id of any type with entries."""

    _PLACE = "state"

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
        return self._run(_proof(self._session, self._PLACE, id, checkpoint, min_sequence, wait))


class ObjectReads(StateReads):
    """`client.objects`: objects, and proofs of them."""

    _PLACE = "objects"

    @overload
    def get(self, id: str, *, prove: Literal[True], min_sequence: int | None = None) -> ProvenObjectView: ...
    @overload
    def get(self, id: str, *, prove: Literal[False] = False, min_sequence: int | None = None) -> models.ObjectView: ...
    def get(self, id: str, *, prove: bool = False, min_sequence: int | None = None) -> models.ObjectView:
        """Reads an object. With `prove`, it comes with a state proof, which is verified and compared with it.

        Raises:
            ApiError: the server refused the request.
            ProofMissing: the server answered without a proof.
            ItemDiffers: the object differs from its proven entry.
            Refused: the proof is invalid.
        """
        item: models.ObjectView = self._run(_item(self._session, operations.get_object(id, min_sequence=min_sequence), prove))
        return item

    state_proof = StateReads.proof


class TemplateReads(StateReads):
    """`client.templates`: templates, and proofs of them."""

    _PLACE = "templates"

    @overload
    def get(self, id: str, *, prove: Literal[True], min_sequence: int | None = None) -> ProvenTemplateView: ...
    @overload
    def get(self, id: str, *, prove: Literal[False] = False, min_sequence: int | None = None) -> models.TemplateView: ...
    def get(self, id: str, *, prove: bool = False, min_sequence: int | None = None) -> models.TemplateView:
        """Reads a template. With `prove`, it comes with a state proof, which is verified and compared with it.

        A template's name and description are not in the state, so no proof shows them.

        Raises:
            ApiError: the server refused the request.
            ProofMissing: the server answered without a proof.
            ItemDiffers: the template differs from its proven entry.
            Refused: the proof is invalid.
        """
        item: models.TemplateView = self._run(_item(self._session, operations.get_template(id, min_sequence=min_sequence), prove))
        return item

    state_proof = StateReads.proof


class AsyncStateReads:
    """`client.state` of the asynchronous client."""

    _PLACE = "state"

    def __init__(self, session: Session, run: AsyncStepRunner) -> None:
        self._session = session
        self._run = run

    async def proof(
        self, id: str, *, checkpoint: int | None = None, min_sequence: int | None = None, wait: int | None = None
    ) -> StateShown:
        """Reads and verifies a state proof, as `StateReads.proof` does."""
        return await self._run(_proof(self._session, self._PLACE, id, checkpoint, min_sequence, wait))


class AsyncObjectReads(AsyncStateReads):
    """`client.objects` of the asynchronous client."""

    _PLACE = "objects"

    @overload
    async def get(self, id: str, *, prove: Literal[True], min_sequence: int | None = None) -> ProvenObjectView: ...
    @overload
    async def get(self, id: str, *, prove: Literal[False] = False, min_sequence: int | None = None) -> models.ObjectView: ...
    async def get(self, id: str, *, prove: bool = False, min_sequence: int | None = None) -> models.ObjectView:
        """Reads an object, with `prove` verified as `ObjectReads.get` does."""
        item: models.ObjectView = await self._run(_item(self._session, operations.get_object(id, min_sequence=min_sequence), prove))
        return item

    state_proof = AsyncStateReads.proof


class AsyncTemplateReads(AsyncStateReads):
    """`client.templates` of the asynchronous client."""

    _PLACE = "templates"

    @overload
    async def get(self, id: str, *, prove: Literal[True], min_sequence: int | None = None) -> ProvenTemplateView: ...
    @overload
    async def get(self, id: str, *, prove: Literal[False] = False, min_sequence: int | None = None) -> models.TemplateView: ...
    async def get(self, id: str, *, prove: bool = False, min_sequence: int | None = None) -> models.TemplateView:
        """Reads a template, with `prove` verified as `TemplateReads.get` does."""
        item: models.TemplateView = await self._run(_item(self._session, operations.get_template(id, min_sequence=min_sequence), prove))
        return item

    state_proof = AsyncStateReads.proof
