"""The operations as methods of the synchronous client.

Made by `scripts/python-sdk.sh generate` from the service's document. Do not edit.
"""
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

from ..calls import Call, FileSource
from . import models, operations

T = TypeVar("T")


class Operations(ABC):
    """Each operation of the service as a method, which returns the parsed body."""

    @abstractmethod
    def send(self, call: Call[T]) -> T:
        """Sends a request; returns the parsed body."""

    @abstractmethod
    def iterate(self, call: Call[Any]) -> Iterator[Any]:
        """The items of a list, page by page."""

    def get_domain(self, *, if_none_match: str | None = None, request_id: str | None = None) -> models.DomainView:
        """Read the domain of every signature.

        The EIP-712 domain under which everything is signed, with the types, in the shape of EIP-5267, and the address
        of the sequencer. A careful client compares it with the contract's.

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_domain(if_none_match=if_none_match, request_id=request_id))

    def get_token_keys(self, *, if_none_match: str | None = None, request_id: str | None = None) -> models.KeysView:
        """Read the public keys of access tokens.

        The public keys that access tokens are signed with, as a JWK set (RFC 7517).

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_token_keys(if_none_match=if_none_match, request_id=request_id))

    def list_anchors(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfAnchorView:
        """List anchors.

        The checkpoints that were sent to the chain, in order.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_anchors(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_anchors(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.AnchorView]:
        """List anchors: all items, page by page. `list_anchors` has the parameters."""
        return self.iterate(operations.list_anchors(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def get_anchor(
        self,
        id: str | int,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.AnchorView:
        """Read an anchor, by id or number.

        An anchor: what it commits to, its transaction, and the state of that transaction.

        Args:
            id: An identifier that begins with `anc_`, or the number.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_anchor(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_api_keys(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfApiKeyView:
        """List the organization's API keys.

        The API keys of the caller's organization that were not deleted, without their secrets.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_api_keys(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_api_keys(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.ApiKeyView]:
        """List the organization's API keys: all items, page by page. `list_api_keys` has the parameters."""
        return self.iterate(operations.list_api_keys(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def create_api_key(
        self,
        body: models.KeyBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedShownKey:
        """Make an API key.

        Makes an API key of the caller's organization, for its owners and admins. `key` is shown in this answer and its
        replays alone: send it as `x-api-key`, alone or together with an access token of the same organization; then the
        narrower right applies. What `permissions` does not grant is refused. A key signs nothing: changes still need a
        signature of one of the organization's wallets. A request with an API key grants only rights that this key has.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.create_api_key(body, idempotency_key=idempotency_key, request_id=request_id))

    def delete_api_key(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedApiKeyView:
        """Delete an API key.

        Deletes an API key: from now on it is refused. It stays in the log and leaves the list.

        Args:
            id: An identifier that begins with `key_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.delete_api_key(id, idempotency_key=idempotency_key, request_id=request_id))

    def get_api_key(
        self,
        id: str,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ApiKeyView:
        """Read an API key.

        An API key without its secret: what it may do, when it expires, and when it was last used.

        Args:
            id: An identifier that begins with `key_`.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_api_key(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def rotate_api_key(
        self,
        id: str,
        body: models.RotateBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedShownKey:
        """Replace an API key's secret.

        Gives an API key a new secret, which is shown in this answer and its replays alone. The old secret stays valid
        for `overlap_s` seconds, a day if that is absent, so that it can be replaced everywhere first.

        Args:
            body: what is sent.
            id: An identifier that begins with `key_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.rotate_api_key(id, body, idempotency_key=idempotency_key, request_id=request_id))

    def list_batches(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfBatchView:
        """List batches.

        The batches of the whole log, of all organizations: headers and signatures are public.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_batches(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_batches(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.BatchView]:
        """List batches: all items, page by page. `list_batches` has the parameters."""
        return self.iterate(operations.list_batches(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def get_batch(
        self,
        id: str | int,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.BatchView:
        """Read a batch, by id or number.

        A batch: its signed header, and the state of its anchor on the chain.

        Args:
            id: An identifier that begins with `bat_`, or the number.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_batch(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_batch_actions(
        self,
        id: str | int,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfBatchAction:
        """List a batch's actions.

        The actions of a batch. Those of the caller's organization in full, others only as sequence and leaf. An API key
        without the right actions.read sees only sequence and leaf of all.

        Args:
            id: An identifier that begins with `bat_`, or the number.
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_batch_actions(id, limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_batch_actions(
        self,
        id: str | int,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.BatchAction]:
        """List a batch's actions: all items, page by page. `list_batch_actions` has the parameters."""
        return self.iterate(operations.list_batch_actions(id, limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def get_batch_leaves(
        self,
        id: str | int,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.LeavesView:
        """Read a batch's leaves.

        The leaf hashes of a batch, in order. They show nothing about the actions, and give the root and the head that
        the header signs.

        Args:
            id: An identifier that begins with `bat_`, or the number.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_batch_leaves(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def get_checkpoint(
        self,
        *,
        at_least: int | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.CheckpointView:
        """Read the newest signed checkpoint.

        The newest checkpoint whose root of the state is made. Keep it: with the consistency proof, the next one shows
        that nothing before was rewritten. The newest head is that of the newest batch, whose header is signed too.

        Args:
            at_least: A sequence that the checkpoint must cover.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_checkpoint(at_least=at_least, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def get_consistency_proof(
        self,
        *,
        from_: int,
        to: int,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ConsistencyView:
        """Prove that the log only grew.

        Proves that the log of one size is a prefix of the log of another (RFC 9162, 2.1.4). Sizes are numbers of
        batches.

        Args:
            from_: The smaller size of the log, in batches; at least 1.
            to: The larger size; at most the log's size.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_consistency_proof(from_=from_, to=to, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_disputes(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfDisputeView:
        """List the organization's disputes.

        The disputes that the caller's organization submitted, in the order of their verdicts, without the evidence and
        the claim files.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_disputes(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_disputes(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.DisputeView]:
        """List the organization's disputes: all items, page by page. `list_disputes` has the parameters."""
        return self.iterate(operations.list_disputes(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def bring_dispute(
        self,
        body: models.DisputeBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.DisputeView:
        """Submit evidence of a fault, or a claim.

        Accepts an evidence file: records that the sequencer signed or anchored, and that contradict each other or the
        protocol. Evidence that shows its fault is recorded in the log with the verdict, an action `system.verdict` that
        the operator signs; the same evidence again gives the same dispute, so this request needs no signature and no
        `Idempotency-Key`. Evidence that shows no fault is 422 with the reason, and leaves no trace. `kedge verify
        evidence` comes to the same verdict without this server, and the contract's judge accepts the same evidence.
        Also accepts a claim file: a proof in zero knowledge of chosen words of one action. Only its claimant may submit
        it, with a token of the wallet that has the claimant's key, else 403. A claim that holds is also recorded, once
        for each context: the same file again gives the same dispute, another claim with the context is 409. A claim
        that does not hold is 400 and names the member that is wrong; a batch or an anchor that this log does not have
        is 422. `kedge verify claim` comes to the same verdict, and so does the contract `KedgeClaims`. A server without
        a key for claims answers 503.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.bring_dispute(body, idempotency_key=idempotency_key, request_id=request_id))

    def get_dispute(
        self,
        id: str,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.DisputeView:
        """Read a dispute.

        A dispute with its evidence or claim, which anyone can check again.

        Args:
            id: An identifier that begins with `dsp_`.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_dispute(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def get_reference(self, *, if_none_match: str | None = None, request_id: str | None = None) -> str:
        """Read the reference.

        The reference for people: a page that shows this document and loads nothing from elsewhere.

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_reference(if_none_match=if_none_match, request_id=request_id))

    def get_reference_style(self, *, if_none_match: str | None = None, request_id: str | None = None) -> str:
        """Read the reference's style sheet.

        The style sheet of the reference.

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_reference_style(if_none_match=if_none_match, request_id=request_id))

    def get_reference_script(self, *, if_none_match: str | None = None, request_id: str | None = None) -> str:
        """Read the reference's script.

        The script of the reference.

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_reference_script(if_none_match=if_none_match, request_id=request_id))

    def list_actions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfActionView:
        """List the organization's actions.

        The actions of the caller's organization, in the log's order.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_actions(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_actions(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.ActionView]:
        """List the organization's actions: all items, page by page. `list_actions` has the parameters."""
        return self.iterate(operations.list_actions(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def submit_action(
        self,
        body: models.ActionBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ActionView:
        """Submit one action.

        Does one action. The signed payload is the exact text of the member `payload`, from its first to its last byte,
        or `{}` if it is absent. The answer means that the action is durable, and its receipt can be checked at once and
        offline.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.submit_action(body, idempotency_key=idempotency_key, request_id=request_id))

    def submit_batch(
        self,
        body: models.BatchBody,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.BatchAnswer:
        """Submit up to 500 actions under one signature.

        Does up to 500 actions under one signature; the limits count one request. By default they are independent, and
        the answer has one result for each in order: the action, or why it was refused. With `atomic`, which is part of
        the signed text, all are done or none, and the error names the first that was refused. One receipt proves all
        that were done. `Prefer: return=minimal` leaves out what the sender can compute.

        Args:
            body: what is sent.
            prefer: `return=minimal` for an answer with as little about each action as possible (RFC 7240).
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.submit_batch(body, prefer=prefer, idempotency_key=idempotency_key, request_id=request_id))

    def preview_actions(self, body: models.PreviewRequest, *, request_id: str | None = None) -> models.PreviewAnswer:
        """Preview what actions would do.

        Shows what one action or a batch would do if it arrived now, and gives the typed data to sign with the headers
        to send, so that a wallet can show and sign it. Nothing is stored, no nonce is used, and nothing is promised:
        other requests may be placed first.

        Args:
            body: what is sent.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.preview_actions(body, request_id=request_id))

    def get_action(
        self,
        id: str | int,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ActionView:
        """Read an action, by id or sequence.

        An action with its receipt, by id or sequence: the organization's own, or one on an object visible to the
        caller.

        Args:
            id: An identifier that begins with `act_`, or the sequence.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_action(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def get_action_proof(
        self,
        id: str | int,
        *,
        form: Literal["inclusion", "authorship"] | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ProofFile:
        """Get an action's proof file.

        One self-contained file that proves the action without this server: the opened leaf, the path to the signed
        batch header, and, once the chain has finalized an anchor that covers it, the path to the anchored history with
        contract and transaction. `form=authorship` adds the signature and the signed text, for the organization that
        signed.

        Args:
            id: An identifier that begins with `act_`, or the sequence.
            form: inclusion (the default), or authorship: with the signature, for the caller's organization's actions.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_action_proof(id, form=form, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_events(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        type: str | None = None,
        object_id: str | None = None,
        template_id: str | None = None,
        after_sequence: int | None = None,
        before_sequence: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfEventView:
        """List events.

        What happened in the caller's organization, and the batches and anchors of the whole log, in the order of
        `position`. An API key sees the events of the areas that it may read, or all with `actions.read`; a `type` that
        it may not read is refused. Instead of polling, follow the stream, or have events sent by a webhook.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            type: Only events of these types: one or several, separated by commas; `object.*` means all that begin so.
            object_id: Only events of this object.
            template_id: Only events of this template and its objects.
            after_sequence: Only events after this sequence.
            before_sequence: Only events before this sequence.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_events(limit=limit, cursor=cursor, order=order, type=type, object_id=object_id, template_id=template_id, after_sequence=after_sequence, before_sequence=before_sequence, min_sequence=min_sequence, request_id=request_id))

    def iter_events(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        type: str | None = None,
        object_id: str | None = None,
        template_id: str | None = None,
        after_sequence: int | None = None,
        before_sequence: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.EventView]:
        """List events: all items, page by page. `list_events` has the parameters."""
        return self.iterate(operations.list_events(limit=limit, order=order, type=type, object_id=object_id, template_id=template_id, after_sequence=after_sequence, before_sequence=before_sequence, min_sequence=min_sequence, request_id=request_id))

    def export_log(
        self,
        *,
        from_: int | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> str:
        """Export the log.

        The log as lines of JSON that anyone can replay: `log` first, then each batch with its leaves, and `checkpoint`
        at the end. With credentials, each batch is followed by the organization's own requests in it, with their
        signatures.

        Args:
            from_: The number of the first batch; 0 if absent.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.export_log(from_=from_, wait=wait, min_sequence=min_sequence, request_id=request_id))

    def list_files(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfFileView:
        """List the organization's files.

        The files of the caller's organization, in the order of upload.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_files(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_files(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.FileView]:
        """List the organization's files: all items, page by page. `list_files` has the parameters."""
        return self.iterate(operations.list_files(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def upload_file(
        self,
        file: FileSource,
        *,
        name: str | None = None,
        content_digest: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedFileView:
        """Upload a file.

        Accepts a file as `multipart/form-data`, hashes it as it arrives, and puts its digest into the log. The
        signature covers that digest, `sha-256=:…:`, as the payload, and the name as the target: the part `name`, or
        else the filename of the part `file`. The media type is detected from the bytes, whatever was sent.

        Args:
            file: its bytes, a path, or an open binary file.
            name: its name; that of the path if it is absent.
            content_digest: The digest of the whole body (RFC 9530); a body with another digest is refused.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.upload_file(file, name=name, content_digest=content_digest, idempotency_key=idempotency_key, request_id=request_id))

    def get_file(
        self,
        id: str,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.FileView:
        """Read a file's description.

        A file's name, size, media type and digest.

        Args:
            id: An identifier that begins with `fil_`.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_file(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def get_file_content(
        self,
        id: str,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        range: str | None = None,
        if_range: str | None = None,
        request_id: str | None = None,
    ) -> bytes:
        """Download a file.

        The file's bytes with their detected media type, always as an attachment.

        Args:
            id: An identifier that begins with `fil_`.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            range: `bytes=` and one range (RFC 9110, 14.2). Several ranges, or an invalid one, give the whole file.
            if_range: The ETag for which `Range` is meant; if the file has another one, the whole file is sent.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_file_content(id, min_sequence=min_sequence, if_none_match=if_none_match, range=range, if_range=if_range, request_id=request_id))

    def get_health(self, *, request_id: str | None = None) -> models.HealthView:
        """Check that the process answers.

        Answers as long as the process runs.

        Args:
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_health(request_id=request_id))

    def list_objects(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        template_id: str | None = None,
        owner_id: str | None = None,
        status: Literal["active", "locked", "burned"] | None = None,
        created_after: str | None = None,
        created_before: str | None = None,
        updated_after: str | None = None,
        updated_before: str | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.ProvablePageOfObjectView:
        """List objects.

        The objects of the caller's organization; with `template_id` those of a template, with `owner_id` those that a
        wallet owns, both of any organization as far as the caller may see them. All given filters must hold; `POST
        /objects/search` accepts trees of them.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            template_id: Only objects of this template.
            owner_id: Only objects that this wallet owns.
            status: active, locked or burned.
            created_after: Made at or after this RFC 3339 time.
            created_before: Made before this RFC 3339 time.
            updated_after: Last changed at or after this RFC 3339 time.
            updated_before: Last changed before this RFC 3339 time.
            prove: With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a
                list then has at most 100 items.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_objects(limit=limit, cursor=cursor, order=order, template_id=template_id, owner_id=owner_id, status=status, created_after=created_after, created_before=created_before, updated_after=updated_after, updated_before=updated_before, prove=prove, wait=wait, min_sequence=min_sequence, request_id=request_id))

    def iter_objects(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        template_id: str | None = None,
        owner_id: str | None = None,
        status: Literal["active", "locked", "burned"] | None = None,
        created_after: str | None = None,
        created_before: str | None = None,
        updated_after: str | None = None,
        updated_before: str | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.ObjectView]:
        """List objects: all items, page by page. `list_objects` has the parameters."""
        return self.iterate(operations.list_objects(limit=limit, order=order, template_id=template_id, owner_id=owner_id, status=status, created_after=created_after, created_before=created_before, updated_after=updated_after, updated_before=updated_before, prove=prove, wait=wait, min_sequence=min_sequence, request_id=request_id))

    def mint_object(
        self,
        body: models.ObjectBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedObjectView:
        """Mint an object.

        Makes an object of a template, for callers that the template lets mint. The variation's properties override the
        template's, and the body's override both. The object belongs to the caller, or to the wallet that `to` names by
        id or address.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.mint_object(body, idempotency_key=idempotency_key, request_id=request_id))

    def count_objects(
        self,
        body: models.CountBody,
        *,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.CountView:
        """Count the objects that a filter finds.

        The exact number of objects visible to the caller that the filter finds. The bound on the rows read is that of
        the search.

        Args:
            body: what is sent.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.count_objects(body, min_sequence=min_sequence, request_id=request_id))

    def search_objects(
        self,
        body: models.SearchBody,
        *,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfObjectView:
        """Find objects by a filter.

        The objects visible to the caller that the filter finds: a tree of `and`, `or` and `not` over conditions on
        members and properties. It uses indexes and reads a bounded number of rows: past that it is refused, and a
        narrower filter helps.

        Args:
            body: what is sent.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.search_objects(body, min_sequence=min_sequence, request_id=request_id))

    def iter_objects_found(
        self,
        body: models.SearchBody,
        *,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.ObjectView]:
        """Find objects by a filter: all items, page by page. `search_objects` has the parameters."""
        return self.iterate(operations.search_objects(body, min_sequence=min_sequence, request_id=request_id))

    def get_object(
        self,
        id: str,
        *,
        at_sequence: int | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ObjectView:
        """Read an object.

        An object of the caller's organization, of the caller, or of a public template; with `at_sequence` as it was
        then, as far back as its listed history reaches.

        Args:
            id: An identifier that begins with `obj_`.
            at_sequence: The object as it was at this sequence of the log, as far back as its listed history reaches.
            prove: With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a
                list then has at most 100 items.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_object(id, at_sequence=at_sequence, prove=prove, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def update_object(
        self,
        id: str,
        body: models.ObjectPatch,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedObjectView:
        """Merge a patch into an object's properties.

        Merges a patch into an object's properties (RFC 7396): members that are null are removed, objects are merged,
        anything else is replaced. Numbers that the patch does not touch keep their spelling. The properties may have
        1,048,576 bytes of compact JSON in all. `If-Match` makes it a change of one known state.

        Args:
            body: what is sent.
            id: An identifier that begins with `obj_`.
            if_match: The ETag of the state that the change is meant for; 412 if the object has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.update_object(id, body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def list_object_history(
        self,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.HistoryPage:
        """List an object's last actions.

        The last 1,000 actions on an object, newest first whatever `order` is. Older ones leave this list and stay in
        the log; `pruned_before` gives the version from which on the list is complete.

        Args:
            id: An identifier that begins with `obj_`.
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc or desc (the default), by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_object_history(id, limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_object_history(
        self,
        id: str,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.ActionView]:
        """List an object's last actions: all items, page by page. `list_object_history` has the parameters."""
        return self.iterate(operations.list_object_history(id, limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def get_object_state_proof(
        self,
        id: str,
        *,
        checkpoint: int | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.StateProof:
        """Prove an object's state.

        The object's entry at a signed checkpoint, with a proof that the checkpoint's root holds it. An id that the log
        has not made gets a proof of absence. Verify it with `kedge verify state`, the SDKs, any Merkle-Patricia trie of
        Ethereum, or the anchor contract.

        Args:
            id: An identifier that begins with `obj_`.
            checkpoint: The batches of a kept checkpoint; the newest if absent.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_object_state_proof(id, checkpoint=checkpoint, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def transfer_object(
        self,
        id: str,
        body: models.TransferBody,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedObjectView:
        """Transfer an object to another wallet.

        Transfers an object to another wallet, named by its id or its address.

        Args:
            body: what is sent.
            id: An identifier that begins with `obj_`.
            if_match: The ETag of the state that the change is meant for; 412 if the object has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.transfer_object(id, body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def get_document(self, *, if_none_match: str | None = None, request_id: str | None = None) -> dict[str, Any]:
        """Read this document.

        This document, generated from the table that routes requests.

        Args:
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_document(if_none_match=if_none_match, request_id=request_id))

    def get_own_organization(
        self,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.OwnOrganization:
        """Read the caller's organization and its limits.

        The organization with its tier and price, how many requests each limit allows, how many were sent in the current
        window, and when each limit would run out at that pace. Only the operator sets the tier.

        Args:
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_own_organization(min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_invitations(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfInvitationView:
        """List the organization's invitations.

        The invitations of the caller's organization, including used, revoked and expired ones, without their codes.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_invitations(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_invitations(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.InvitationView]:
        """List the organization's invitations: all items, page by page. `list_invitations` has the parameters."""
        return self.iterate(operations.list_invitations(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def invite_member(
        self,
        body: models.InviteBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedShownInvitation:
        """Invite someone.

        Makes an invitation to the caller's organization. Its code is shown in this answer and never again; `POST
        /wallets/register` accepts it as `invitation`. It is valid for one wallet, only for its e-mail address if it
        names one, until it expires or is revoked, and only while the wallet that made it may still invite to that role.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.invite_member(body, idempotency_key=idempotency_key, request_id=request_id))

    def revoke_invitation(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedInvitationView:
        """Revoke an invitation.

        Revokes an unused invitation: nobody can register with its code any more. Owners and admins of the organization
        may revoke any invitation.

        Args:
            id: An identifier that begins with `act_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.revoke_invitation(id, idempotency_key=idempotency_key, request_id=request_id))

    def list_members(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfWalletView:
        """List the organization's wallets.

        The wallets of the caller's organization, in the order of registration.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_members(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_members(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.WalletView]:
        """List the organization's wallets: all items, page by page. `list_members` has the parameters."""
        return self.iterate(operations.list_members(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def remove_member(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWalletView:
        """Remove a member.

        Ends a wallet's membership. From then on none of its keys can sign; its logins, its access tokens and the API
        keys that it made are refused; its e-mail address is free again. It keeps what it owns. Owners and admins remove
        members; an owner cannot be removed, and nobody removes their own wallet.

        Args:
            id: An identifier that begins with `wal_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.remove_member(id, idempotency_key=idempotency_key, request_id=request_id))

    def set_member_role(
        self,
        id: str,
        body: models.RoleBody,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWalletView:
        """Set a member's role.

        Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set roles; only an owner makes or
        changes owners, and nobody changes their own role. `wallet_id` repeats the path's, because the body is signed.
        `If-Match` accepts the ETag of `GET /organizations/me`: every change of a role or a membership changes the
        organization.

        Args:
            body: what is sent.
            id: An identifier that begins with `wal_`.
            if_match: The ETag of the state that the change is meant for; 412 if that state has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.set_member_role(id, body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def get_readiness(self, *, request_id: str | None = None) -> models.ReadyView:
        """Check whether the server accepts changes.

        Whether the server accepts changes, with the log's head. 503 and the reason if it is read-only; reads continue
        then.

        Args:
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_readiness(request_id=request_id))

    def list_sequencer_keys(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfSequencerKeyView:
        """List the sequencer's keys.

        The keys that sign batches, each with the number of the first batch that it signs, in order. A header names no
        key: check it with the key of its number, and a checkpoint with the key of its last batch. The log names every
        key but its first by an action in an earlier batch; the action's proof file shows that to anyone who trusts the
        earlier keys. The contract keeps the same list.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_sequencer_keys(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_sequencer_keys(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.SequencerKeyView]:
        """List the sequencer's keys: all items, page by page. `list_sequencer_keys` has the parameters."""
        return self.iterate(operations.list_sequencer_keys(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def get_state_proof(
        self,
        id: str,
        *,
        checkpoint: int | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.StateProof:
        """Prove the state of any resource.

        The entry of any id of an object, template, variation, wallet, organization, API key, webhook, file or dispute,
        and of the action that named a sequencer key. Who may see the resource may have its proof. An API key needs the
        right to read actions, which show as much.

        Args:
            id: An identifier of any resource with an entry in the state.
            checkpoint: The batches of a kept checkpoint; the newest if absent.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_state_proof(id, checkpoint=checkpoint, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_templates(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.ProvablePageOfTemplateView:
        """List the organization's templates.

        The templates of the caller's organization, in the order of creation.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            prove: With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a
                list then has at most 100 items.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_templates(limit=limit, cursor=cursor, order=order, prove=prove, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def iter_templates(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.TemplateView]:
        """List the organization's templates: all items, page by page. `list_templates` has the parameters."""
        return self.iterate(operations.list_templates(limit=limit, order=order, prove=prove, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def create_template(
        self,
        body: models.TemplateBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedTemplateView:
        """Make a template.

        Makes a template in the caller's organization, for its owners and admins. Objects begin with the template's
        properties. `actions` sets who may do what with them, if the default does not fit: owners act, issuers mint.
        Custom kinds begin with `x.`. `max_supply` bounds how many are ever minted. The name is unique in the
        organization.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.create_template(body, idempotency_key=idempotency_key, request_id=request_id))

    def get_template(
        self,
        id: str,
        *,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.TemplateView:
        """Read a template.

        A template of the caller's organization, or a public one. Templates rarely change: keep the answer with its ETag
        and ask with `If-None-Match`.

        Args:
            id: An identifier that begins with `tpl_`.
            prove: With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a
                list then has at most 100 items.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_template(id, prove=prove, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def update_template(
        self,
        id: str,
        body: models.TemplatePatch,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedTemplateView:
        """Change a template.

        Replaces the named members, each as a whole, for owners and admins of the template's organization. A template
        with live objects cannot change: make a variation. When all of them are burned it can be changed again, except
        for the places that its schema marks with `x-index`. Its supply stays as it was created, and counts burned
        objects.

        Args:
            body: what is sent.
            id: An identifier that begins with `tpl_`.
            if_match: The ETag of the state that the change is meant for; 412 if that state has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.update_template(id, body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def get_template_state_proof(
        self,
        id: str,
        *,
        checkpoint: int | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.StateProof:
        """Prove a template's state.

        As for an object. The entry holds how many objects were minted and burned, so that supply is provable.

        Args:
            id: An identifier that begins with `tpl_`.
            checkpoint: The batches of a kept checkpoint; the newest if absent.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_template_state_proof(id, checkpoint=checkpoint, wait=wait, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def list_variations(
        self,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.ProvablePageOfVariationView:
        """List a template's variations.

        A template's variations, in the order of creation.

        Args:
            id: An identifier that begins with `tpl_`.
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            prove: With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a
                list then has at most 100 items.
            wait: Seconds to wait for a checkpoint that covers the sequence asked for, if the next one is due in that
                time.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_variations(id, limit=limit, cursor=cursor, order=order, prove=prove, wait=wait, min_sequence=min_sequence, request_id=request_id))

    def iter_variations(
        self,
        id: str,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        prove: bool | None = None,
        wait: int | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.VariationView]:
        """List a template's variations: all items, page by page. `list_variations` has the parameters."""
        return self.iterate(operations.list_variations(id, limit=limit, order=order, prove=prove, wait=wait, min_sequence=min_sequence, request_id=request_id))

    def create_variations(
        self,
        id: str,
        body: models.VariationsBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.VariationsMade:
        """Make variations, all or none.

        Makes up to 500 variations of a template, all or none: a name, and properties that are merged over the
        template's. One bare variation is accepted too.

        Args:
            body: what is sent.
            id: An identifier that begins with `tpl_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.create_variations(id, body, idempotency_key=idempotency_key, request_id=request_id))

    def get_version(self, *, request_id: str | None = None) -> models.VersionView:
        """Read name and version.

        The name and version of the running server.

        Args:
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_version(request_id=request_id))

    def login(self, body: models.LoginBody, *, request_id: str | None = None) -> models.LoggedIn:
        """Log in.

        Exchanges e-mail address and password for an access token and a refresh token. An unknown address takes as long
        as a wrong password and gets the same answer.

        Args:
            body: what is sent.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.login(body, request_id=request_id))

    def logout(self, body: models.RefreshBody, *, request_id: str | None = None) -> models.LoggedOut:
        """End a login.

        Ends the login that a refresh token comes from, with every token exchanged from it. Access tokens expire by
        themselves. An unknown token ends nothing and gets the same answer.

        Args:
            body: what is sent.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.logout(body, request_id=request_id))

    def get_own_wallet(
        self,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.OwnWallet:
        """Read the caller's wallet.

        The wallet that the access token belongs to, with the highest nonce that each of its keys has spent: continue
        from there.

        Args:
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_own_wallet(min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def update_own_wallet(
        self,
        body: models.WalletBody,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWalletView:
        """Change e-mail address, nickname or password.

        Changes the caller's wallet. A nickname of `null` removes it. A new password needs the current one and `blind`;
        then the body's digest is signed instead of the body, as when a wallet is registered. A wrong current password
        counts as a failed login. Only with an access token: an API key belongs to no wallet.

        Args:
            body: what is sent.
            if_match: The ETag of the state that the change is meant for; 412 if that state has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.update_own_wallet(body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def add_wallet_key(
        self,
        body: models.SignerBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWalletView:
        """Add a key that signs for the wallet.

        Adds a key that may sign for the caller's wallet, by its address. The request is signed by a key that the wallet
        already has, and `possession` is the new key's own signature: it consents to belong to this wallet for ever. The
        address must never have belonged to another wallet. A request without `possession`, or with a wrong one, is
        refused as STATE_VIOLATION with a pointer.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.add_wallet_key(body, idempotency_key=idempotency_key, request_id=request_id))

    def remove_wallet_key(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWalletView:
        """Remove a signing key from the wallet.

        Removes a key's right to sign for the caller's wallet. What it signed stays valid. The last key cannot be
        removed.

        Args:
            id: The key's address.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.remove_wallet_key(id, idempotency_key=idempotency_key, request_id=request_id))

    def register_wallet(
        self,
        body: models.RegisterBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedLoggedIn:
        """Register a wallet, and its organization.

        Makes a wallet and the organization that it owns, and logs it in. The key of `address` signs the request; that
        address is the wallet's for ever. The body holds a password, so its digest is signed (`sha-256=:…:`), and it
        needs `blind`, random bytes that protect the digest against guessing; neither is kept. With the code of an
        `invitation` the wallet joins the organization that invited it instead of making one.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.register_wallet(body, idempotency_key=idempotency_key, request_id=request_id))

    def refresh_token(self, body: models.RefreshBody, *, request_id: str | None = None) -> models.LoggedIn:
        """Exchange a refresh token for new tokens.

        Exchanges a refresh token for a new pair. Each is valid for one exchange: using one a second time revokes all
        tokens of that login.

        Args:
            body: what is sent.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.refresh_token(body, request_id=request_id))

    def list_webhooks(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfWebhookView:
        """List the organization's webhooks.

        The webhooks of the caller's organization that were not deleted, without their secrets.

        Args:
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc (the default) or desc, by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_webhooks(limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_webhooks(
        self,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.WebhookView]:
        """List the organization's webhooks: all items, page by page. `list_webhooks` has the parameters."""
        return self.iterate(operations.list_webhooks(limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def create_webhook(
        self,
        body: models.WebhookBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWebhookWithSecret:
        """Make a webhook.

        Makes a webhook of the caller's organization, for its owners and admins: events of the named types are sent to
        the URL, at least once each and in order for each object, signed as Standard Webhooks 1.0 specifies. `secret` is
        shown in this answer and its replays alone. The host must be on the public internet. An API key makes and
        changes only webhooks for events that it may read itself. Failed deliveries are retried for three days; 410
        switches the webhook off.

        Args:
            body: what is sent.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.create_webhook(body, idempotency_key=idempotency_key, request_id=request_id))

    def delete_webhook(
        self,
        id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWebhookView:
        """Delete a webhook.

        Deletes a webhook: nothing more is sent. The signed payload is empty. The webhook stays in the log and leaves
        the list.

        Args:
            id: An identifier that begins with `whk_`.
            if_match: The ETag of the state that the change is meant for; 412 if that state has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.delete_webhook(id, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def get_webhook(
        self,
        id: str,
        *,
        min_sequence: int | None = None,
        if_none_match: str | None = None,
        request_id: str | None = None,
    ) -> models.WebhookView:
        """Read a webhook.

        A webhook without its secret.

        Args:
            id: An identifier that begins with `whk_`.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            if_none_match: ETags that the caller has; 304 without a body if one of them is current.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.get_webhook(id, min_sequence=min_sequence, if_none_match=if_none_match, request_id=request_id))

    def update_webhook(
        self,
        id: str,
        body: models.WebhookPatch,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWebhookView:
        """Change a webhook.

        Changes the named members; absent ones stay. `active` switches it on again after a receiver's 410.

        Args:
            body: what is sent.
            id: An identifier that begins with `whk_`.
            if_match: The ETag of the state that the change is meant for; 412 if that state has changed.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.update_webhook(id, body, if_match=if_match, idempotency_key=idempotency_key, request_id=request_id))

    def list_webhook_deliveries(
        self,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> models.PageOfDeliveryView:
        """List a webhook's deliveries.

        What was sent, with what result, and when the next attempt is due.

        Args:
            id: An identifier that begins with `whk_`.
            limit: Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.
            cursor: The cursor of the previous page.
            order: asc or desc (the default), by creation.
            min_sequence: Waits up to 5 s until the answer reflects this sequence.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.list_webhook_deliveries(id, limit=limit, cursor=cursor, order=order, min_sequence=min_sequence, request_id=request_id))

    def iter_webhook_deliveries(
        self,
        id: str,
        *,
        limit: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        min_sequence: int | None = None,
        request_id: str | None = None,
    ) -> Iterator[models.DeliveryView]:
        """List a webhook's deliveries: all items, page by page. `list_webhook_deliveries` has the parameters."""
        return self.iterate(operations.list_webhook_deliveries(id, limit=limit, order=order, min_sequence=min_sequence, request_id=request_id))

    def redeliver(
        self,
        id: str,
        delivery_id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.DeliveryView:
        """Redeliver a message.

        Queues a delivery again, whatever its result was, with the same message and id. It is made in its turn among the
        object's other deliveries.

        Args:
            id: An identifier that begins with `whk_`.
            delivery_id: An identifier that begins with `dlv_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.redeliver(id, delivery_id, idempotency_key=idempotency_key, request_id=request_id))

    def rotate_webhook_secret(
        self,
        id: str,
        body: models.RotateBody,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.ChangedWebhookWithSecret:
        """Give a webhook a new secret.

        Gives a webhook a new secret, which is shown in this answer and its replays alone. For `overlap_s` seconds, a
        day if that is absent, messages carry signatures of both secrets.

        Args:
            body: what is sent.
            id: An identifier that begins with `whk_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.rotate_webhook_secret(id, body, idempotency_key=idempotency_key, request_id=request_id))

    def test_webhook(
        self,
        id: str,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> models.DeliveryView:
        """Send a test event.

        Sends an event of the type `webhook.test`, waits for the receiver's answer and returns it; it is not kept among
        the deliveries. It changes nothing and is not signed; only owners and admins may request it.

        Args:
            id: An identifier that begins with `whk_`.
            idempotency_key: A name for this request, chosen by the caller and kept for at least a day: sent again under
                it, the request gets the first answer and nothing is done twice.
            request_id: The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and `-`. The
                answer repeats it.
        """
        return self.send(operations.test_webhook(id, idempotency_key=idempotency_key, request_id=request_id))
