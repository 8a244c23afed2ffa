"""The types of bodies and answers.

Made by `scripts/python-sdk.sh generate` from the service's document. Do not edit.
"""
from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict, Union

from typing_extensions import NotRequired


class ActionData(TypedDict):
    """
    Details of every event of an action in the log.
    """

    action_type: str
    """
    The action's kind.
    """
    batch_number: int
    """
    The batch that holds it.
    """
    digest: NotRequired[str | None]
    """
    The digest of a file's bytes: `sha-256=:…:`.
    """
    name: NotRequired[str | None]
    """
    The name of a template, variation or file that was made.
    """
    owner_id: NotRequired[str | None]
    """
    The object's owner after it: for minted and transferred objects.
    """
    payload: NotRequired[Any]
    """
    The payload as signed, for actions on objects and for new templates, up to 4,096 bytes.
    """
    payload_bytes: NotRequired[int | None]
    """
    The payload's size if it is larger; the action itself contains it.
    """
    resource_id: str
    """
    The resource that it acted on, or made first.
    """
    signer: str
    """
    The signing address.
    """
    template_id: NotRequired[str | None]
    """
    The template of the object, or the template that was made or changed.
    """
    variation_id: NotRequired[str | None]
    """
    The variation that was made, or that an object was minted from.
    """
    version: int
    """
    That resource's version after it.
    """
    wallet_id: str
    """
    The wallet that made the request.
    """


ActionShownText: TypeAlias = Literal['inclusion']
"""
What was shown of an action.

- `inclusion`: The log holds it; not that its signer signed it.
"""


Address: TypeAlias = str


AddressInput: TypeAlias = str
"""
One case throughout, or mixed as EIP-55's checksum requires.
"""


class AnchorData(TypedDict):
    """
    Details of an anchor.
    """

    anchor_id: str
    """
    The anchor.
    """
    block_number: int | None
    """
    The block that holds it.
    """
    contract: str
    """
    The contract.
    """
    first_batch: int
    """
    The first batch that no earlier anchor covers.
    """
    head: str
    """
    The log's head at that point.
    """
    last_batch: int | None
    """
    The last batch that it covers.
    """
    last_sequence: int
    """
    The last action that it covers.
    """
    number: int
    """
    Its number.
    """
    root: str
    """
    The root of the log tree at that point.
    """
    status: str
    """
    The state of the batches: `anchored` or `finalized`.
    """
    tx_hash: str | None
    """
    The transaction.
    """


AnchorState: TypeAlias = Literal['pending', 'submitted', 'confirmed', 'finalized', 'failed']
"""
The status of an anchor.

- `pending`: Stored, not sent yet.
- `submitted`: Sent.
- `confirmed`: In a block.
- `finalized`: In a final block.
- `failed`: Given up; a later anchor covers its batches.
"""


class AnchoringView(TypedDict):
    """
    How far the chain lags behind the log. A lag does not make the server unready.
    """

    finalized_batches: int
    """
    Batches that a finalized anchor covers.
    """
    lag_batches: int
    """
    Batches that none covers yet.
    """
    lag_s: int
    """
    The age of the oldest of them, seconds; 0 if there is none.
    """


AnyValue: TypeAlias = Any
"""
Any JSON value, as it was sent.
"""


Area: TypeAlias = Literal['wallets', 'api_keys', 'objects', 'templates', 'actions', 'events', 'files', 'webhooks', 'batches']
"""
What an API key may be used for.

- `wallets`: The caller's wallet, its keys, the organization and its members.
- `api_keys`: API keys.
- `objects`: Objects, and actions on them.
- `templates`: Templates and variations.
- `actions`: The action bus.
- `events`: Events.
- `files`: Files.
- `webhooks`: Webhooks.
- `batches`: Batches, anchors, exports.
"""


class BatchData(TypedDict):
    """
    Details of a sealed batch.
    """

    action_count: int
    """
    How many actions it holds, of all organizations.
    """
    batch_id: str
    """
    The batch.
    """
    first_sequence: int
    """
    The sequence of its first action.
    """
    head: str
    """
    The log's head after it.
    """
    last_sequence: int
    """
    The sequence of its last action.
    """
    merkle_root: str
    """
    The root of the tree over its leaves.
    """
    number: int
    """
    Its number.
    """


BatchStatus: TypeAlias = Literal['sealed', 'anchoring', 'anchored', 'finalized']
"""
The status of a batch.

- `sealed`: Signed and durable.
- `anchoring`: An anchor that covers it is in progress.
- `anchored`: A block holds that anchor.
- `finalized`: A final block holds that anchor.
"""


BusKind: TypeAlias = str


class ClusterView(TypedDict):
    """
    What a node is among several that share a log. A follower is ready once it lags by less than a second.
    """

    frame: int
    """
    The last frame of the log that it holds.
    """
    lag_s: NotRequired[float | None]
    """
    Seconds since it held everything that the stream holds; absent before that was ever so.
    """
    leader: str | None
    """
    The name of the node that leads, as far as it knows.
    """
    node: str
    """
    This node's name.
    """
    problem: NotRequired[str | None]
    """
    Why it cannot continue, if so: the operator has to act.
    """
    role: str
    """
    `leader` or `follower`.
    """
    stalled: NotRequired[str | None]
    """
    Why it accepts no changes although it leads, if so; it continues by itself.
    """
    stream_frame: int
    """
    The last frame of the stream, when that was last seen.
    """
    term: int
    """
    The newest term it knows.
    """


Content: TypeAlias = Any
"""
The bytes, with the media type detected from them.
"""


class CountView(TypedDict):
    """
    How many objects match.
    """

    count: int
    """
    The exact number of matches that the caller sees.
    """


class Crud(TypedDict):
    """
    Which of the four operations are allowed.
    """

    create: bool
    """
    Create.
    """
    delete: bool
    """
    Delete.
    """
    read: bool
    """
    Read.
    """
    update: bool
    """
    Change.
    """


class DayUsage(TypedDict):
    """
    Requests counted on this UTC day.
    """

    requests: int
    """
    All requests that count.
    """


Decimal: TypeAlias = str


class DeleteAttributesPayload(TypedDict):
    """
    Attributes to delete.
    """

    attributes: list[str]
    """
    Their names.
    """


DisputeKindText: TypeAlias = Literal['fault', 'claim']
"""
The kind of dispute.

- `fault`: A fault of the sequencer.
- `claim`: A claim about an action.
"""


class Domain(TypedDict):
    """
    What a log is bound to for its whole life: a chain and the log's first anchor contract there.
    """

    chain_id: int
    """
    EIP-155 chain id.
    """
    verifying_contract: Address
    """
    The log's first anchor contract.
    """


EventStream: TypeAlias = str
"""
Server-sent events. In each, `id` is its position, `event` its type, `data` an Event. Lines that begin with a colon are heartbeats.
"""


class FailedData(TypedDict):
    """
    Details of a refused action.
    """

    action_hash: str
    """
    hashStruct of the action, which the signature covers.
    """
    action_type: str
    """
    The action's kind.
    """
    atomic: bool
    """
    True if the whole request was refused because of it.
    """
    code: str
    """
    The error's code, as in the answer.
    """
    index: int
    """
    Its index in the request.
    """
    message: str
    """
    The error's message, shortened to 300 characters.
    """
    pointer: NotRequired[str | None]
    """
    The first invalid place of the payload.
    """
    request_actions: int
    """
    How many actions the request held.
    """
    target: str
    """
    The target, as signed.
    """


FaultName: TypeAlias = Literal['conflicting_batches', 'conflicting_checkpoints', 'omitted_batch', 'false_checkpoint', 'false_history', 'false_checkpoint_history', 'broken_link', 'broken_header', 'broken_leaf', 'falling_time', 'broken_chain', 'replayed_content', 'forked_integrity']
"""
A fault by the name of its evidence.

- `conflicting_batches`: Two headers with one number.
- `conflicting_checkpoints`: Two checkpoints over equally many batches.
- `omitted_batch`: A signed header that the anchored history does not hold.
- `false_checkpoint`: A checkpoint whose head or sequence is not its last batch's.
- `false_history`: A header whose history is not the anchored log's beginning.
- `false_checkpoint_history`: A checkpoint whose history is not the anchored log's beginning.
- `broken_link`: Two consecutive headers that do not connect.
- `broken_header`: A header that no log can hold.
- `broken_leaf`: A leaf that does not fit its position.
- `falling_time`: A later action with an earlier time.
- `broken_chain`: Leaves that give a batch's root but not its head.
- `replayed_content`: One content at two sequences.
- `forked_integrity`: Two actions that extend one integrity.
"""


class FieldError(TypedDict):
    """
    What is wrong at one place of the body.
    """

    code: str
    """
    What is wrong, for programs.
    """
    message: str
    """
    What to do about it.
    """
    pointer: str
    """
    RFC 6901 pointer into the body; empty for the whole.
    """


class FilterCondition(TypedDict):
    field: str
    """
    id, template_id, variation_id, owner_id, owner_address, status, version, sequence, created_at, updated_at, or properties. and the keys that lead to a value, separated by dots; a dot or a backslash in a key has a backslash before it.
    """
    op: Literal['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'exists', 'prefix', 'contains']
    value: Any
    """
    For `in` an array of values, for `exists` true or false, otherwise a text, a number, true, false or null. `contains` finds part of a text, or an element of an array.
    """


Hash: TypeAlias = str


class HealthView(TypedDict):
    """
    The process answers.
    """

    status: str
    """
    Always `ok`.
    """


HexBytes: TypeAlias = str
"""
Bytes in hexadecimal, `0x` for none.
"""


Id: TypeAlias = str


class KeysView(TypedDict):
    """
    The public keys of access tokens (RFC 7517).
    """

    keys: list[dict[str, Any]]


class LeavesView(TypedDict):
    """
    The leaves of a batch.
    """

    batch_id: Id
    """
    The batch.
    """
    first_sequence: int
    """
    The sequence of the first leaf.
    """
    leaves: list[Hash]
    """
    The leaves, in order.
    """
    number: int
    """
    Its number.
    """


class LimitsView(TypedDict):
    """
    The limits of an organization.
    """

    action_batches_per_minute: int | None
    """
    POST /ebus/actions/batch, per minute; a batch is one request (`action-batches`).
    """
    file_uploads_per_minute: int | None
    """
    POST /files, per minute (`file-uploads`).
    """
    list_reads_per_minute: int | None
    """
    GET /objects, GET /templates and GET /batches together, per minute (`list-reads`).
    """
    log_bytes: int | None
    """
    Bytes that its requests may add to the log, with the objects and variations that they make
    (`log-bytes`). Beyond that, writes are refused with 403.
    """
    object_writes_per_minute: int | None
    """
    POST /objects and PATCH /objects/{id} together, per minute (`object-writes`).
    """
    requests_per_day: int | None
    """
    All requests, per UTC day (`tier-day`).
    """
    requests_per_minute: int | None
    """
    All requests, per minute (`tier-minute`).
    """
    template_writes_per_minute: int | None
    """
    POST /templates, per minute (`template-writes`).
    """


Lines: TypeAlias = str
"""
Lines of JSON: `log`, then for each batch `batch` and the caller's `request`s, then `checkpoint`.
"""


class LoggedOut(TypedDict):
    """
    The login has ended.
    """

    ended: bool
    """
    Always true: its refresh tokens no longer give new tokens.
    """


class LoginBody(TypedDict):
    """
    The body of a login.
    """

    email: str
    password: str


class MinimalAction(TypedDict):
    """
    What `Prefer: return=minimal` keeps of a done action: what its sender cannot compute.
    """

    leaf_index: int
    """
    Its index among the batch's leaves.
    """
    object_version: int
    """
    The resource's version after it.
    """
    sequence: int
    """
    Its position in the log.
    """


class MinuteUsage(TypedDict):
    """
    Requests counted in this minute.
    """

    action_batches: int
    """
    POST /ebus/actions/batch.
    """
    file_uploads: int
    """
    POST /files.
    """
    list_reads: int
    """
    GET /objects, GET /templates and GET /batches.
    """
    object_writes: int
    """
    POST /objects and PATCH /objects/{id}.
    """
    requests: int
    """
    All requests that count.
    """
    template_writes: int
    """
    POST /templates.
    """


NameInput: TypeAlias = str


NoPayload: TypeAlias = dict[str, Any]
"""
Nothing.
"""


class NodeView(TypedDict):
    """
    Whether the chain's node answers. The server stays ready if it does not.
    """

    reachable: bool
    """
    Whether it answers.
    """
    unreachable_s: NotRequired[int | None]
    """
    For how long it has not answered, seconds.
    """


class NonceView(TypedDict):
    """
    The nonces of one of a wallet's keys.
    """

    address: Address
    """
    The key's address.
    """
    highest: Decimal
    """
    Its highest spent nonce; "0" before the first.
    """


ObjectId: TypeAlias = str


class ObjectPatch(TypedDict):
    properties: NotRequired[dict[str, Any] | None]
    """
    RFC 7396 merge patch of the properties.
    """


ObjectStatus: TypeAlias = Literal['active', 'locked', 'burned']
"""
What may be done with an object now.

- `active`: Everything that its template allows.
- `locked`: Nothing except unlocking.
- `burned`: Nothing, permanently.
"""


class OpenedAction(TypedDict):
    """
    The opened action: the five words that its content is made of.
    """

    authority: Hash
    """
    keccak(keccak(signature) ‖ salt).
    """
    kind: str
    """
    The kind's text.
    """
    payload: str
    """
    The payload's exact text.
    """
    signer: Address
    """
    The address that signed.
    """
    target: str
    """
    The target's text; may be empty.
    """


OrganizationId: TypeAlias = str


Payload: TypeAlias = AnyValue | str
"""
A payload: JSON as it was sent, or the text of a digest.
"""


class Permission(TypedDict):
    """
    A right of an API key.
    """

    crud: Crud
    """
    Which operations.
    """
    resource: Area
    """
    On what.
    """


class PreviewCustom(TypedDict):
    action_type: str
    object_id: ObjectId
    payload: NotRequired[Any]
    """
    Any JSON value, kept as it is.
    """
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


class PreviewDeleteAttributes(TypedDict):
    action_type: Literal['delete_attributes']
    object_id: ObjectId
    payload: DeleteAttributesPayload
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


class PreviewStatus(TypedDict):
    action_type: Literal['lock', 'unlock', 'burn']
    object_id: ObjectId
    payload: NotRequired[NoPayload]
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


class PreviewUpdate(TypedDict):
    action_type: Literal['update']
    object_id: ObjectId
    payload: NotRequired[ObjectPatch]
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


Properties: TypeAlias = dict[str, Any]


class ReadyView(TypedDict):
    """
    Whether the server accepts changes.
    """

    anchoring: AnchoringView
    """
    How far the chain lags behind the log.
    """
    batches: int
    """
    How many batches there are.
    """
    cluster: NotRequired[ClusterView | None]
    """
    This node's part among several; absent on a single node.
    """
    head: Hash
    """
    The log's head.
    """
    mode: str
    """
    `read_write`, or `read_only` with the reason.
    """
    node: NotRequired[NodeView | None]
    """
    The chain's node; absent until it was asked.
    """
    reason: NotRequired[str | None]
    """
    Why it accepts no changes.
    """
    requests_max: int
    """
    The limit of such requests.
    """
    requests_under_way: int
    """
    Requests in flight that change something.
    """
    sequence: int
    """
    The last action's sequence.
    """
    status: str
    """
    `ready` or `not_ready`.
    """


class ReceiptAction(TypedDict):
    """
    What the sender of a request of many actions cannot know about one of them.
    """

    index: int
    """
    The action's index in the request; failed actions count too.
    """
    leaf_index: int
    """
    Its index among the batch's leaves.
    """
    previous_integrity: Hash
    """
    The resource's integrity before it.
    """
    sequence: int
    """
    Its place in the log.
    """
    timestamp_ms: int
    """
    When it was placed, milliseconds.
    """


class ReceiptLeaf(TypedDict):
    """
    What a leaf is made of, and the integrity before it.
    """

    content: Hash
    """
    The action's content.
    """
    integrity: Hash
    """
    The resource's integrity after it.
    """
    previous_integrity: Hash
    """
    The resource's integrity before it.
    """
    sequence: int
    """
    The action's place in the log.
    """
    timestamp_ms: int
    """
    When it was placed, milliseconds.
    """


class RefreshBody(TypedDict):
    """
    The body of a refresh.
    """

    refresh_token: str


class RegisterBody(TypedDict):
    """
    The body of a registration.
    """

    address: AddressInput
    """
    The address that signs this request, and signs for the wallet from now on.
    """
    blind: str
    """
    Base64 of at least 16 random bytes: keeps the signed digest from revealing the password.
    """
    email: str
    """
    The e-mail address for logging in.
    """
    invitation: NotRequired[str | None]
    """
    The code of an invitation, as shown to an admin of the organization.
    """
    nickname: NotRequired[NameInput | None]
    """
    A name to show.
    """
    organization_id: NotRequired[OrganizationId | None]
    """
    The organization to join; this needs the code of an invitation.
    """
    organization_name: NotRequired[NameInput | None]
    """
    The name of the organization that is created.
    """
    password: str
    """
    At least 15 characters, at most 1,024 bytes.
    """


Role: TypeAlias = Literal['owner', 'admin', 'member']
"""
What a wallet may do in its organization.

- `owner`: Created the organization; may do everything.
- `admin`: Everything except the owner's own rights.
- `member`: Acts on its own objects and as templates allow.
"""


class RotateBody(TypedDict):
    """
    The options of a new secret.
    """

    overlap_s: NotRequired[int | None]
    """
    How long the previous secret stays valid, seconds: a day if absent, at most a week.
    """


class SetAttributesPayload(TypedDict):
    """
    Attributes to set.
    """

    attributes: dict[str, Any]
    """
    Their names and values.
    """


Signature: TypeAlias = str


SignatureInput: TypeAlias = str
"""
65 bytes r ‖ s ‖ v. v may be 0, 1, 27 or 28; s must be low.
"""


SignedHeaders = TypedDict(
    'SignedHeaders',
    {
        'X-Signature-Address': Address,
        'X-Signature-Deadline': Decimal,
        'X-Signature-Nonce': Decimal,
        'X-Signature-Salt': Hash,
    },
)


class SignerBody(TypedDict):
    """
    A signing key to add.
    """

    address: AddressInput
    """
    Its address, which no other wallet may have, now or ever.
    """
    possession: SignatureInput
    """
    The new key's own signature over the EIP-712 type `KeyConsent(string wallet,address key)` in the log's domain, with
    the id of the caller's wallet and this address.
    """


class SortKey(TypedDict):
    field: str
    """
    created_at, updated_at, or a property that the template's schema marks with `x-index`; then the filter must fix the template_id with eq.
    """
    order: NotRequired[Literal['asc', 'desc']]


class StateTexts(TypedDict):
    """
    Texts whose hashes are in the entry; empty where the resource has none.
    """

    name: NotRequired[str | None]
    """
    The name of a variation.
    """
    properties: NotRequired[str | None]
    """
    The properties, as JSON text.
    """
    rules: NotRequired[list[str] | None]
    """
    The JSON Schemas of a template's rules, in their order.
    """
    schema: NotRequired[str | None]
    """
    The JSON Schema of a template's objects.
    """


class StatusAction(TypedDict):
    action_type: Literal['lock', 'unlock', 'burn']
    object_id: ObjectId
    payload: NotRequired[NoPayload]


TemplateId: TypeAlias = str


class TestData(TypedDict):
    webhook_id: Id
    """
    The tested webhook.
    """


Time: TypeAlias = str


class TypeMember(TypedDict):
    """
    A member of an EIP-712 type.
    """

    name: str
    """
    Its name.
    """
    type: str
    """
    Its type.
    """


class TypedAction(TypedDict):
    """
    One action in its signed form.
    """

    kind: str
    payload: str
    salt: Hash
    target: str


class TypedDomain(TypedDict):
    """
    The domain of the signature.
    """

    chainId: int
    name: str
    verifyingContract: Address
    version: str


class TypedRequest(TypedDict):
    """
    The message to sign.
    """

    actions: list[TypedAction]
    atomic: bool
    deadline: Decimal
    nonce: Decimal
    signer: Address


class Types(TypedDict):
    """
    The types of the signed data.
    """

    Action: list[TypeMember]
    """
    Those of an action.
    """
    ActionRequest: list[TypeMember]
    """
    Those of a request.
    """


class UpdateAction(TypedDict):
    action_type: Literal['update']
    object_id: ObjectId
    payload: NotRequired[ObjectPatch]


class UploadBody(TypedDict):
    """
    An upload: a multipart body.
    """

    file: str
    """
    The bytes. The signed payload is their digest, `sha-256=:<base64>:`.
    """
    name: str
    """
    The file's name, which is the signed target; the filename of the part `file` if absent.
    """


class UsageView(TypedDict):
    """
    Requests counted in the current windows.
    """

    day: DayUsage
    """
    On this UTC day.
    """
    log_bytes: int
    """
    Bytes that its requests have added to the log, with the objects and variations that they made.
    """
    minute: MinuteUsage
    """
    In this minute.
    """


class VariationBody(TypedDict):
    name: NameInput
    """
    Its name.
    """
    properties: NotRequired[dict[str, Any] | None]
    """
    Merged over the template's properties.
    """


VariationId: TypeAlias = str


class VariationView(TypedDict):
    """
    A variation of a template.
    """

    created_at: Time
    """
    When it was created.
    """
    id: Id
    """
    Its id.
    """
    index: int
    """
    Its number among the template's variations, from 0.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    The template's organization.
    """
    properties: Properties
    """
    Merged over the template's properties.
    """
    template_id: Id
    """
    Its template.
    """


class VersionView(TypedDict):
    """
    The running version.
    """

    name: str
    """
    Its name.
    """
    version: str
    """
    Its version.
    """


class WalletBody(TypedDict):
    """
    The body of `PATCH /wallets/me`.
    """

    blind: NotRequired[str | None]
    """
    Base64 of at least 16 random bytes; with `password`.
    """
    current_password: NotRequired[str | None]
    """
    The current password; with `password`.
    """
    email: NotRequired[str | None]
    """
    The new e-mail address for logging in.
    """
    nickname: NotRequired[NameInput | None]
    """
    The new name to show; `null` removes it.
    """
    password: NotRequired[str | None]
    """
    A new password: at least 15 characters, at most 1,024 bytes.
    """


WalletId: TypeAlias = str


class WalletView(TypedDict):
    """
    A wallet.
    """

    address: Address
    """
    The address that registered it.
    """
    created_at: Time
    """
    When it was registered.
    """
    email: str
    """
    The e-mail address for logging in.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    keys: list[Address]
    """
    The current signing keys.
    """
    nickname: str | None
    """
    A name to show.
    """
    organization_id: Id
    """
    Its organization.
    """
    role: Role
    """
    Its role there.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class WantedCrud(TypedDict):
    create: NotRequired[bool]
    """
    Create.
    """
    delete: NotRequired[bool]
    """
    Delete.
    """
    read: NotRequired[bool]
    """
    Read.
    """
    update: NotRequired[bool]
    """
    Update.
    """


WantedEvent: TypeAlias = Literal['object.created', 'object.updated', 'object.transferred', 'object.locked', 'object.unlocked', 'object.burned', 'template.created', 'variation.created', 'wallet.registered', 'file.created', 'action.executed', 'action.failed', 'batch.sealed', 'batch.anchored', 'anchor.confirmed', '*']


class WantedPermission(TypedDict):
    """
    What an API key may do with one kind of resource.
    """

    crud: WantedCrud
    """
    The kinds of access; each is false if absent.
    """
    resource: Area
    """
    The resource.
    """


class WebhookBody(TypedDict):
    """
    Where events are sent, and which.
    """

    active: NotRequired[bool]
    """
    Whether anything is sent.
    """
    description: NotRequired[str]
    """
    What it is for.
    """
    events: list[WantedEvent]
    """
    Types of events, each once; `*` is every type.
    """
    url: str
    """
    An https URL whose host is on the public internet.
    """


class WebhookPatch(TypedDict):
    """
    The changes to a webhook.
    """

    active: NotRequired[bool | None]
    """
    Whether anything is sent.
    """
    description: NotRequired[str | None]
    """
    What it is for.
    """
    events: NotRequired[list[WantedEvent] | None]
    """
    Types of events, each once; `*` is every type.
    """
    url: NotRequired[str | None]
    """
    An https URL whose host is on the public internet.
    """


class WebhookView(TypedDict):
    """
    A webhook.
    """

    active: bool
    """
    While false, nothing is sent.
    """
    created_at: Time
    """
    When it was created.
    """
    description: str
    """
    What it is for.
    """
    events: list[str]
    """
    Types of events; `*` is every type.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    organization_id: Id
    """
    The organization whose events are sent.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    url: str
    """
    The URL that receives the messages.
    """
    version: int
    """
    How many actions have created and changed it.
    """


Who: TypeAlias = Literal['owner', 'issuer', 'anyone']
"""
Who may do something with a template's objects.

- `owner`: The object's owner.
- `issuer`: Owners and admins of the template's organization.
- `anyone`: Any wallet.
"""


WholeInput: TypeAlias = int | str


class AnchorView(TypedDict):
    """
    An anchor.
    """

    attempts: int
    """
    How often it was sent.
    """
    batches: int
    """
    How many batches the log held.
    """
    block_number: int | None
    """
    The block that holds it.
    """
    contract: Address
    """
    The contract.
    """
    first_batch: int
    """
    The first batch that no earlier anchor covers.
    """
    head: Hash
    """
    The log's head.
    """
    id: Id
    """
    Its id.
    """
    issued_at: Time
    """
    When the checkpoint was issued.
    """
    issued_at_ms: int
    """
    The same in milliseconds, as signed.
    """
    last_batch: int | None
    """
    The last batch that it covers.
    """
    number: int
    """
    Its number, from 0.
    """
    proof: list[Hash]
    """
    The consistency proof from the last anchored history.
    """
    root: Hash
    """
    The root of the log tree that it anchors.
    """
    sequence: int
    """
    The last action's sequence.
    """
    signature: Signature
    """
    The sequencer's signature over the checkpoint.
    """
    state: Hash
    """
    Zero for now.
    """
    status: AnchorState
    """
    Its status.
    """
    tx_hash: Hash | None
    """
    The newest transaction.
    """


class ApiKeyView(TypedDict):
    """
    An API key; never its secret.
    """

    created_at: Time
    """
    When it was created.
    """
    expires_at: Time | None
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    last_used_at: Time | None
    """
    When it was last used, to the minute.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    The organization that it acts for.
    """
    permissions: list[Permission]
    """
    What it may do.
    """
    rotations: int
    """
    How often its secret has been replaced.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """
    wallet_id: Id
    """
    The wallet that created it.
    """


class Authorship(TypedDict):
    """
    Proves that the signer signed. Not part of the default form, because a signature and the neighbours' hashes
    are for those who hold the request.
    """

    action_hashes: list[Hash]
    """
    The action hashes of all the request's actions, in order.
    """
    atomic: bool
    """
    Whether the request was all or none.
    """
    deadline: int
    """
    The request's deadline, Unix seconds.
    """
    index: int
    """
    The action's index in the request.
    """
    nonce: Decimal
    """
    The request's nonce, a decimal string.
    """
    salt: Hash
    """
    The action's salt.
    """
    signature: Signature
    """
    The request's signature.
    """


class BatchHeader(TypedDict):
    """
    The header of a batch.
    """

    count: int
    """
    How many actions it holds: 1 to 500.
    """
    first_sequence: int
    """
    The sequence of its first action.
    """
    head: Hash
    """
    The log's head after its last action.
    """
    history: Hash
    """
    The root of the log tree over all batches before it.
    """
    number: int
    """
    The batch's number, from 0.
    """
    previous_head: Hash
    """
    The log's head before its first action.
    """
    root: Hash
    """
    The root of the tree over its leaves.
    """
    sealed_at_ms: int
    """
    When it was sealed, milliseconds; never decreases, and no leaf's time is later.
    """
    state: Hash
    """
    Always zero: the root of the state stands in checkpoints.
    """


class BatchPath(TypedDict):
    """
    The leaf's position in its batch.
    """

    leaf_index: int
    """
    The leaf's index among the batch's leaves.
    """
    path: list[Hash]
    """
    From the leaf to the batch root, bottom up.
    """


class BatchView(TypedDict):
    """
    A batch.
    """

    action_count: int
    """
    How many actions it holds.
    """
    anchor_id: Id | None
    """
    The anchor that covers it.
    """
    first_sequence: int
    """
    The sequence of its first action.
    """
    head: Hash
    """
    The log's head after it.
    """
    history: Hash
    """
    The root of the log tree over all batches before it.
    """
    id: Id
    """
    Its id.
    """
    last_sequence: int
    """
    The sequence of its last action.
    """
    merkle_root: Hash
    """
    The root of the tree over its leaves.
    """
    number: int
    """
    Its number, from 0.
    """
    previous_head: Hash
    """
    The log's head before it.
    """
    sealed_at: Time
    """
    When it was sealed.
    """
    sealed_at_ms: int
    """
    The same in milliseconds, as signed.
    """
    signature: Signature
    """
    The sequencer's signature over the header.
    """
    state: Hash
    """
    Zero for now.
    """
    status: BatchStatus
    """
    Its status.
    """


class Checkpoint(TypedDict):
    """
    The state of the log after some number of batches.
    """

    batches: int
    """
    How many batches the log holds.
    """
    head: Hash
    """
    The hash chain's head.
    """
    history: Hash
    """
    The root of the log tree over all the batches.
    """
    issued_at_ms: int
    """
    When it was issued, milliseconds.
    """
    sequence: int
    """
    The sequence of the last action.
    """
    state: Hash
    """
    The root of the state after `sequence`; zero where the checkpoint has none.
    """


class CheckpointView(TypedDict):
    """
    The newest signed head.
    """

    checkpoint: Checkpoint
    """
    The signed data.
    """
    domain: Domain
    """
    The log's domain.
    """
    sequencer: Address
    """
    The key that signed it: the key of its last batch.
    """
    signature: Signature
    """
    The sequencer's signature.
    """


class ClaimBodyBinding(TypedDict):
    claimant: Address
    purpose: Hash
    resolver: Address


class ClaimBodyDisclosedKind(TypedDict):
    hash: Hash
    text: NotRequired[str | None]


class ClaimBodyDisclosedPayload(TypedDict):
    hash: Hash
    text: NotRequired[str | None]


class ClaimBodyDisclosedTarget(TypedDict):
    hash: Hash
    text: NotRequired[str | None]


class ClaimBodyDisclosed(TypedDict):
    kind: NotRequired[ClaimBodyDisclosedKind]
    payload: NotRequired[ClaimBodyDisclosedPayload]
    signer: NotRequired[Address]
    target: NotRequired[ClaimBodyDisclosedTarget]


class ClaimBodyLeaf(TypedDict):
    content: Hash
    integrity: Hash
    sequence: int
    timestamp_ms: int


class ClaimBodyProof(TypedDict):
    a: list[Hash]
    b: list[Hash]
    c: list[Hash]


ConsistencyView = TypedDict(
    'ConsistencyView',
    {
        'first_root': Hash,
        'from': int,
        'proof': list[Hash],
        'second_root': Hash,
        'to': int,
    },
)


class CustomAction(TypedDict):
    action_type: str
    object_id: ObjectId
    payload: NotRequired[Any]
    """
    Any JSON value, kept as it is.
    """


class DeleteAttributesAction(TypedDict):
    action_type: Literal['delete_attributes']
    object_id: ObjectId
    payload: DeleteAttributesPayload


class DeliveryView(TypedDict):
    """
    The delivery of an event to a webhook.
    """

    attempts: int
    """
    How many attempts were made.
    """
    created_at: Time
    """
    When it was queued.
    """
    error: str | None
    """
    Why the last attempt failed.
    """
    event_id: Id
    """
    The event.
    """
    event_type: str
    """
    The type of the event.
    """
    id: Id
    """
    Its id: `webhook-id` of the message, the same for every attempt.
    """
    last_attempt_at: Time | None
    """
    When the last attempt began.
    """
    next_attempt_at: Time | None
    """
    When the next one is due.
    """
    object_id: Id | None
    """
    The object of the event.
    """
    response_status: int | None
    """
    The HTTP status of the last answer.
    """
    status: str
    """
    `pending`: another attempt will be made; `delivered`; `failed`: given up.
    """
    webhook_id: Id
    """
    The webhook.
    """


class DisclosedTextView(TypedDict):
    """
    A disclosed text.
    """

    hash: Hash
    """
    keccak256 of the text, as shown by the proof.
    """
    text: NotRequired[str | None]
    """
    The text, if the claimant discloses it.
    """


class DisclosedView(TypedDict):
    """
    What a claim discloses of an action; the rest stays hidden.
    """

    kind: NotRequired[DisclosedTextView | None]
    """
    The kind of action.
    """
    payload: NotRequired[DisclosedTextView | None]
    """
    Its payload.
    """
    signer: NotRequired[Address | None]
    """
    Its signer.
    """
    target: NotRequired[DisclosedTextView | None]
    """
    Its target.
    """


class DomainView(TypedDict):
    """
    The domain of every signature, in the shape of EIP-5267's `eip712Domain()`.
    """

    chainId: int
    """
    The chain.
    """
    extensions: list[int]
    """
    None.
    """
    fields: str
    """
    The members of the domain that are used: name, version, chainId, verifyingContract.
    """
    name: str
    """
    Its name.
    """
    primaryType: str
    """
    The type that is signed.
    """
    salt: Hash
    """
    Zero: it is not used.
    """
    sequencer: Address
    """
    The address that signs the next batch. `GET /sequencer-keys` lists the keys of all batches.
    """
    types: Types
    """
    The types of the signed data.
    """
    verifyingContract: Address
    """
    The contract.
    """
    version: str
    """
    Its version.
    """


EventData: TypeAlias = FailedData | ActionData | BatchData | AnchorData
"""
Details of an event.
"""


class EventView(TypedDict):
    """
    An event.
    """

    action_id: str | None
    """
    The action in the log; null if there is none.
    """
    data: EventData
    """
    Details, by type.
    """
    id: str
    """
    Its id: the same at every reading, so that duplicates can be recognised.
    """
    object_id: str | None
    """
    The object that it acted on or made.
    """
    organization_id: str | None
    """
    The organization that acted; null for batches and anchors.
    """
    position: str
    """
    Its position among all events; pass it to the stream as `last_event_id`.
    """
    sequence: int
    """
    The log's sequence: the action's own; for a batch its last; for an event outside the log,
    the log's last sequence at that time.
    """
    timestamp: str
    """
    When it happened.
    """
    type: str
    """
    What happened: `object.created`, `object.updated`, `object.transferred`, `object.locked`,
    `object.unlocked`, `object.burned`, `template.created`, `variation.created`,
    `wallet.registered`, `file.created`, `action.executed` (any other action), `action.failed`
    (refused, not in the log), `batch.sealed`, `batch.anchored` (a block holds the anchor),
    `anchor.confirmed` (that block is final: proof files hold the anchor).
    """


class EvidenceBodyEvidence(TypedDict):
    """
    The fault, and the records that show it; the members differ for each fault.
    """

    action: NotRequired[dict[str, Any]]
    anchored_batches: NotRequired[int]
    batch: NotRequired[dict[str, Any]]
    before: NotRequired[dict[str, Any]]
    beginning: NotRequired[str]
    earlier: NotRequired[dict[str, Any]]
    fault: FaultName
    first: NotRequired[dict[str, Any]]
    held: NotRequired[str]
    last: NotRequired[dict[str, Any]]
    later: NotRequired[dict[str, Any]]
    leaves: NotRequired[list[str]]
    left: NotRequired[dict[str, Any]]
    next: NotRequired[dict[str, Any]]
    path: NotRequired[list[str]]
    previous: NotRequired[str]
    proof: NotRequired[list[str]]
    second: NotRequired[dict[str, Any]]
    signed: NotRequired[dict[str, Any]]


class EvidenceBody(TypedDict):
    """
    An evidence file.
    """

    domain: Domain
    evidence: EvidenceBodyEvidence
    """
    The fault, and the records that show it; the members differ for each fault.
    """
    format: Literal['kedge.evidence']
    version: Literal[1]


class FileView(TypedDict):
    """
    A file's description.
    """

    content_path: str
    """
    The path of the bytes on this service.
    """
    created_at: Time
    """
    When it was uploaded.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    media_type: str
    """
    The media type detected from the bytes.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    Its organization.
    """
    sequence: int
    """
    The last one's sequence.
    """
    sha256: Hash
    """
    SHA-256 of its bytes.
    """
    size_bytes: int
    """
    Its size in bytes.
    """
    version: int
    """
    How many actions have created and changed it.
    """
    wallet_id: Id
    """
    The wallet that uploaded it.
    """


class Forecast(TypedDict):
    """
    The forecast of a limit.
    """

    exhausted_at: Time | None
    """
    When nothing will be left, if requests continue at the rate since the window began; null if
    the window ends first.
    """
    policy: str
    """
    The limit's name, as in `policy` of a refusal.
    """
    remaining: int
    """
    Requests left in this window.
    """
    resets_at: Time
    """
    When the next window begins.
    """


class ForeignAction(TypedDict):
    """
    An action of a batch, for a caller that may not see it in full.
    """

    leaf: Hash
    """
    Its leaf.
    """
    leaf_index: int
    """
    Its index among the batch's leaves.
    """
    sequence: int
    """
    Its position in the log.
    """


class InvitationView(TypedDict):
    """
    An invitation; never its code.
    """

    created_at: Time
    """
    When it was created.
    """
    email: str | None
    """
    The only e-mail address that may use it; `null` for any.
    """
    expires_at: Time
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    invited_by: Id
    """
    The wallet that invites: the invitation is valid only while that wallet may invite.
    """
    organization_id: Id
    """
    The organization.
    """
    revoked: bool
    """
    It was revoked.
    """
    role: Role
    """
    The role of the wallet that joins.
    """
    used_by: Id | None
    """
    The wallet that used it.
    """


class InviteBody(TypedDict):
    """
    An invitation to create.
    """

    email: NotRequired[str | None]
    """
    The only e-mail address that may use it; any if absent.
    """
    expires_in_s: NotRequired[int | None]
    """
    How long the invitation is valid, seconds; a week if absent.
    """
    role: NotRequired[Role | None]
    """
    The role of the wallet that joins; member if absent.
    """


class KeyBody(TypedDict):
    """
    An API key to create.
    """

    expires_at: NotRequired[str | None]
    """
    When the key expires, RFC 3339; it must be in the future.
    """
    name: NameInput
    """
    A name to recognise it by; not unique.
    """
    permissions: list[WantedPermission]
    """
    Each resource at most once; anything not granted is refused.
    """


class LogForecast(TypedDict):
    """
    When the log's quota is used up.
    """

    exhausted_at: Time | None
    """
    When nothing will be left, if bytes continue to be added at the average rate since the
    organization was created; null if that is too far away to tell.
    """
    policy: str
    """
    The quota's name, as in `policy` of a refusal.
    """
    remaining: int
    """
    Bytes left.
    """


class LoggedIn(TypedDict):
    """
    A wallet and the tokens to act for it.
    """

    access_token: str
    """
    Shown with each request: `Authorization: Bearer <access_token>`.
    """
    expires_in: int
    """
    Seconds that the access token is good for.
    """
    refresh_token: str
    """
    Exchanged for new tokens, once.
    """
    token_type: str
    """
    Always `Bearer`.
    """
    wallet: WalletView
    """
    The wallet.
    """


class ManyVariations(TypedDict):
    variations: list[VariationBody]


class OwnWallet(TypedDict):
    """
    The caller's own wallet.
    """

    address: Address
    """
    The address that registered it.
    """
    created_at: Time
    """
    When it was registered.
    """
    email: str
    """
    The e-mail address for logging in.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    keys: list[Address]
    """
    The current signing keys.
    """
    nickname: str | None
    """
    A name to show.
    """
    nonces: list[NonceView]
    """
    The nonces of each key.
    """
    organization_id: Id
    """
    Its organization.
    """
    role: Role
    """
    Its role there.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class PageOfAnchorView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[AnchorView]
    """
    The records.
    """


class PageOfApiKeyView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[ApiKeyView]
    """
    The records.
    """


class PageOfBatchView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[BatchView]
    """
    The records.
    """


class PageOfDeliveryView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[DeliveryView]
    """
    The records.
    """


class PageOfEventView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[EventView]
    """
    The records.
    """


class PageOfFileView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[FileView]
    """
    The records.
    """


class PageOfInvitationView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[InvitationView]
    """
    The records.
    """


class PageOfWalletView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[WalletView]
    """
    The records.
    """


class PageOfWebhookView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[WebhookView]
    """
    The records.
    """


class PreviewObject(TypedDict):
    """
    An object as it would be. Some members are not known before the signature: the id of a new
    object, times, sequence and integrity.
    """

    id: Id | None
    """
    Its id; null for a new one.
    """
    organization_id: Id
    """
    The organization that issued it.
    """
    owner_address: Address
    """
    That wallet's address.
    """
    owner_id: Id
    """
    The wallet that would own it.
    """
    properties: Properties
    """
    Its properties.
    """
    status: ObjectStatus
    """
    Which actions it allows.
    """
    template_id: Id
    """
    The template that it was made from.
    """
    variation_id: Id | None
    """
    The variation, if one was named.
    """
    version: int
    """
    How many actions would have created and changed it.
    """


class PreviewSetAttributes(TypedDict):
    action_type: Literal['set_attributes']
    object_id: ObjectId
    payload: SetAttributesPayload
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


Recipient: TypeAlias = WalletId | AddressInput
"""
A wallet, by id or by address.
"""


class RoleBody(TypedDict):
    """
    A member's new role.
    """

    role: Role
    """
    The new role.
    """
    wallet_id: WalletId
    """
    The member, as in the path: the signed body must name them.
    """


class RuleBody(TypedDict):
    """
    Who may do a kind of action.
    """

    kind: BusKind
    """
    A kind of the action bus, or one of the template's own that begins with `x.`.
    """
    schema: NotRequired[dict[str, Any] | None]
    """
    JSON Schema of its payload; only for custom kinds.
    """
    who: Who
    """
    Who may do it.
    """


class RuleView(TypedDict):
    """
    A rule of a template.
    """

    kind: str
    """
    The kind of action.
    """
    schema: NotRequired[Properties | None]
    """
    JSON Schema of its payload; only custom kinds have one.
    """
    who: Who
    """
    Who may do it.
    """


class SetAttributesAction(TypedDict):
    action_type: Literal['set_attributes']
    object_id: ObjectId
    payload: SetAttributesPayload


class SignedBatch(TypedDict):
    """
    A header and the sequencer's signature over its EIP-712 digest.
    """

    header: BatchHeader
    """
    What is signed.
    """
    signature: Signature
    """
    The sequencer's signature.
    """


class SignedCheckpoint(TypedDict):
    """
    A checkpoint and the sequencer's signature over its EIP-712 digest.
    """

    checkpoint: Checkpoint
    """
    What is signed.
    """
    signature: Signature
    """
    The sequencer's signature.
    """


class StateEntryRulesItem(TypedDict):
    kind: str
    schema_hash: Hash
    who: Who


class StateEntry(TypedDict):
    """
    The entry, read for people: the first three members, and those of the resource's type.
    """

    active: NotRequired[bool]
    address: NotRequired[Address]
    burned_count: NotRequired[int]
    deleted: NotRequired[bool]
    from_batch: NotRequired[int]
    index: NotRequired[int]
    integrity: str
    """
    The hash over those actions.
    """
    keys: NotRequired[list[Address]]
    max_supply: NotRequired[Decimal | None]
    minted_count: NotRequired[int]
    name_hash: NotRequired[Hash]
    organization_id: NotRequired[Id]
    owner_address: NotRequired[Address]
    owner_id: NotRequired[Id]
    properties_hash: NotRequired[Hash]
    public_access: NotRequired[bool]
    role: NotRequired[Role]
    rules: NotRequired[list[StateEntryRulesItem]]
    schema_hash: NotRequired[Hash]
    sequence: int
    """
    The last one's sequence.
    """
    serial: NotRequired[int]
    sha256: NotRequired[Hash]
    size_bytes: NotRequired[int]
    status: NotRequired[ObjectStatus]
    subject_id: NotRequired[Id]
    template_id: NotRequired[Id]
    variation_count: NotRequired[int]
    variation_id: NotRequired[Id | None]
    version: int
    """
    How many actions have made and changed it.
    """
    wallet_id: NotRequired[Id]


class TemplateBody(TypedDict):
    """
    A template with its properties and rules.
    """

    actions: NotRequired[list[RuleBody]]
    """
    Who may do what, if the default does not fit; each kind at most once.
    """
    description: NotRequired[str]
    """
    What it is for.
    """
    max_supply: NotRequired[WholeInput | None]
    """
    How many objects may ever be minted; no limit if absent. A number, or a decimal text as in answers.
    """
    name: NameInput
    """
    Unique in the organization.
    """
    properties: NotRequired[dict[str, Any] | None]
    """
    The initial properties of its objects.
    """
    public_access: NotRequired[bool]
    """
    Every organization can read it and its objects.
    """
    schema: NotRequired[dict[str, Any] | None]
    """
    JSON Schema 2020-12 that its objects' properties must satisfy: at most 64 KiB, `$ref` only within itself and
    without cycles, patterns without look-around. `format` is an annotation and checks nothing.
    """


class TemplatePatch(TypedDict):
    """
    The changes to a template; the members are those of a new one, each replaced as a whole.
    """

    actions: NotRequired[list[RuleBody] | None]
    """
    Who may do what; each kind at most once.
    """
    description: NotRequired[str | None]
    """
    What it is for.
    """
    name: NotRequired[NameInput | None]
    """
    Unique in the organization.
    """
    properties: NotRequired[dict[str, Any] | None]
    """
    The initial properties of its objects.
    """
    public_access: NotRequired[bool | None]
    """
    Every organization can read it and its objects.
    """
    schema: NotRequired[dict[str, Any] | None]
    """
    JSON Schema 2020-12 that its objects' properties must satisfy.
    """


class TransferBody(TypedDict):
    to: Recipient
    """
    The new owner.
    """


class TypedData(TypedDict):
    """
    EIP-712 typed data for `eth_signTypedData_v4`.
    """

    domain: TypedDomain
    message: TypedRequest
    primaryType: str
    types: dict[str, Any]
    """
    The members of each type.
    """


VariationsBody: TypeAlias = ManyVariations | VariationBody
"""
Variations; a single variation without a list is accepted too.
"""


class WouldBeDone(TypedDict):
    """
    An action that would be done.
    """

    object: PreviewObject
    """
    The object after it.
    """


class AnchorProof(TypedDict):
    """
    The anchor that covers the batch. Absent from a file until the chain has finalized it.
    """

    block_number: int | None
    """
    The block of that transaction.
    """
    checkpoint: SignedCheckpoint
    """
    The signed checkpoint.
    """
    contract: Address
    """
    The contract that holds the checkpoint.
    """
    path: list[Hash]
    """
    From the batch's leaf of the log tree to the checkpoint's history, bottom up.
    """
    transaction_hash: Hash | None
    """
    The transaction that anchored it; null if the chain held it already.
    """


class BatchReceipt(TypedDict):
    """
    The receipt for all the actions of a request that were done.
    """

    actions: list[ReceiptAction]
    """
    The actions, in request order.
    """
    batch: SignedBatch
    """
    The signed header.
    """
    domain: Domain
    """
    The log's domain.
    """
    proof: list[Hash]
    """
    The hashes that lead from their leaves to the batch root: bottom layer first, left to right within a
    layer; empty if the actions are the whole batch.
    """
    version: int
    """
    The format's version.
    """


class ClaimBodyAnchor(TypedDict):
    block_number: int | None
    checkpoint: SignedCheckpoint
    contract: Address
    path: list[Hash]
    transaction_hash: Hash | None


class ClaimBody(TypedDict):
    """
    A claim file.
    """

    anchor: ClaimBodyAnchor | None
    batch: SignedBatch
    binding: ClaimBodyBinding
    disclosed: ClaimBodyDisclosed
    domain: Domain
    format: Literal['kedge.claim']
    inclusion: BatchPath
    key_hash: Hash
    leaf: ClaimBodyLeaf
    proof: ClaimBodyProof
    public_inputs: list[Hash]
    sequencer: Address
    version: Literal[1]


class ClaimShownView(TypedDict):
    """
    What a valid claim shows.
    """

    anchored: bool
    """
    Whether it leads to a checkpoint that the chain had finalized when it was submitted.
    """
    claimant: Address
    """
    The claimant.
    """
    context: Hash
    """
    The hash of these three and the log's domain; the log accepts each only once.
    """
    disclosed: DisclosedView
    """
    What it discloses.
    """
    purpose: Hash
    """
    What the claim is for.
    """
    resolver: Address
    """
    The contract that it is for.
    """
    sequence: int
    """
    The sequence of the action.
    """
    shown: ActionShownText
    """
    What it shows of the action.
    """
    timestamp: Time
    """
    When the action was placed.
    """


DisputeBody: TypeAlias = EvidenceBody | ClaimBody


class DisputeView(TypedDict):
    """
    A decided dispute.
    """

    action: NotRequired[ClaimShownView | None]
    """
    What the claim shows; only for claims.
    """
    batch: int
    """
    The number of that batch, of the checkpoint's last one, or of the batch that holds the action.
    """
    claim: NotRequired[Properties | None]
    """
    The claim file, in its normal form; only for claims, and not in lists.
    """
    claim_digest: NotRequired[Hash | None]
    """
    SHA-256 of the claim file in its normal form; only for claims.
    """
    created_at: Time
    """
    When the verdict was recorded.
    """
    evidence: NotRequired[Properties | None]
    """
    The evidence file, in its normal form; only for faults, and not in lists.
    """
    evidence_digest: NotRequired[Hash | None]
    """
    SHA-256 of the evidence in its normal form; only for faults.
    """
    fault: NotRequired[FaultName | None]
    """
    The proven fault; only for faults.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    kind: DisputeKindText
    """
    The kind of dispute.
    """
    organization_id: Id
    """
    The organization that submitted it.
    """
    sequence: int
    """
    The sequence of the verdict's action.
    """
    subject_id: Id
    """
    Its subject. For a fault a batch, by its header, or an anchor, by its checkpoint. The log may not hold it,
    because that may be the fault. For a claim the action.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class ForecastView(TypedDict):
    """
    When each limit will be used up.
    """

    action_batches_per_minute: Forecast | None
    """
    POST /ebus/actions/batch, per minute; a batch is one request (`action-batches`).
    """
    file_uploads_per_minute: Forecast | None
    """
    POST /files, per minute (`file-uploads`).
    """
    list_reads_per_minute: Forecast | None
    """
    GET /objects, GET /templates and GET /batches together, per minute (`list-reads`).
    """
    log_bytes: LogForecast | None
    """
    The bytes in the log.
    """
    object_writes_per_minute: Forecast | None
    """
    POST /objects and PATCH /objects/{id} together, per minute (`object-writes`).
    """
    requests_per_day: Forecast | None
    """
    All requests, per UTC day (`tier-day`).
    """
    requests_per_minute: Forecast | None
    """
    All requests, per minute (`tier-minute`).
    """
    template_writes_per_minute: Forecast | None
    """
    POST /templates, per minute (`template-writes`).
    """


class MintPayload(TypedDict):
    """
    What a mint makes.
    """

    properties: NotRequired[dict[str, Any] | None]
    """
    Merged over the properties of template and variation.
    """
    to: NotRequired[Recipient | None]
    """
    The new object's owner; the signer's wallet if absent.
    """
    variation_id: NotRequired[VariationId | None]
    """
    One of the template's variations.
    """


class ObjectBody(TypedDict):
    properties: NotRequired[dict[str, Any] | None]
    """
    Merged over the properties of template and variation.
    """
    template_id: TemplateId
    """
    The template that the object is made from.
    """
    to: NotRequired[Recipient | None]
    """
    The new object's owner; the caller if absent.
    """
    variation_id: NotRequired[VariationId | None]
    """
    One of the template's variations.
    """


class OwnOrganization(TypedDict):
    """
    An organization, as its members see it.
    """

    forecast: ForecastView
    """
    When each limit will be reached; null if there is no limit.
    """
    id: Id
    limits: LimitsView
    """
    How many requests it may send, and how many bytes it may have in the log; null is no limit.
    """
    name: str
    price: str
    """
    The price of the tier.
    """
    tier: str
    """
    `free`, `developer`, `enterprise`, or `custom` for what was agreed with the operator.
    """
    usage: UsageView
    """
    How many requests it has sent, including this one.
    """


class PageOfDisputeView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[DisputeView]
    """
    The records.
    """


class PreviewMint(TypedDict):
    action_type: Literal['mint']
    payload: NotRequired[MintPayload]
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """
    template_id: TemplateId


class PreviewTransfer(TypedDict):
    action_type: Literal['transfer']
    object_id: ObjectId
    payload: TransferBody
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


class ProofFile(TypedDict):
    """
    A proof file: docs/PROTOCOL.md explains how to check it.
    """

    action: OpenedAction
    """
    The opened action.
    """
    anchor: AnchorProof | None
    """
    The anchor; null until the chain has finalized one that covers the batch.
    """
    authorship: NotRequired[Authorship | None]
    """
    Present only in the authorship form.
    """
    batch: SignedBatch
    """
    The signed header.
    """
    domain: Domain
    """
    The log's domain.
    """
    inclusion: BatchPath
    """
    The leaf's position in the batch.
    """
    leaf: ReceiptLeaf
    """
    The leaf.
    """
    sequencer: Address
    """
    The key that signed the batch, by its address.
    """
    version: int
    """
    The format's version.
    """


class Receipt(TypedDict):
    """
    The receipt of one action.
    """

    batch: SignedBatch
    """
    The signed header.
    """
    domain: Domain
    """
    The log's domain.
    """
    leaf: ReceiptLeaf
    """
    The opened leaf.
    """
    leaf_index: int
    """
    Its index among the batch's leaves.
    """
    path: list[Hash]
    """
    The path from the leaf to the batch root, bottom up.
    """
    version: int
    """
    The format's version.
    """


class SequencerKeyView(TypedDict):
    """
    A key of the sequencer, and the places that name it.
    """

    action_id: Id | None
    """
    That action.
    """
    contract: Address | None
    """
    The contract, if it names the key too; null if it does not, or was not read yet.
    """
    from_batch: int
    """
    The number of the first batch that it signs; the next key's first batch ends it.
    """
    key: Address
    """
    The key's address.
    """
    named_at: Time | None
    """
    When it was placed.
    """
    proof: ProofFile | None
    """
    The proof file of that action, without an anchor: with trust in the earlier keys, this alone is enough to trust
    this one.
    """
    sequence: int | None
    """
    The sequence of the action that names it. Null for the log's first key, which no action names, and for a key
    that only the contract names.
    """


class SharedStateProof(TypedDict):
    """
    What a shared proof says about one id.
    """

    entry: HexBytes
    """
    The entry in RLP.
    """
    fields: StateEntry | None
    """
    The entry, read for people.
    """
    key: Id
    """
    The id.
    """
    nodes: list[int]
    """
    Places of its nodes among the common ones, from 0.
    """
    present: bool
    """
    Whether the log had made it at the checkpoint.
    """
    texts: StateTexts
    """
    Texts whose hashes are in the entry.
    """


class StateProof(TypedDict):
    """
    What a state proof says about one id.
    """

    anchor: AnchorProof | None
    """
    The anchor of this very checkpoint; null until the chain has finalized one.
    """
    checkpoint: SignedCheckpoint
    """
    The signed checkpoint, whose `state` is the root.
    """
    entry: HexBytes
    """
    The entry in RLP; its hash is the value in the trie.
    """
    fields: StateEntry | None
    """
    The entry, read for people.
    """
    key: Id
    """
    The id.
    """
    nodes: list[HexBytes]
    """
    The trie's nodes from the root to where the id's path ends.
    """
    present: bool
    """
    Whether the log had made it at the checkpoint.
    """
    texts: StateTexts
    """
    Texts whose hashes are in the entry.
    """


class StateProofs(TypedDict):
    """
    The state proofs of a list's items, in their order.
    """

    anchor: AnchorProof | None
    """
    The anchor of this very checkpoint.
    """
    checkpoint: SignedCheckpoint
    """
    The signed checkpoint, whose `state` is the root.
    """
    nodes: list[HexBytes]
    """
    The nodes of all proofs, each once.
    """
    proofs: list[SharedStateProof]
    """
    One proof an item.
    """


class TemplateView(TypedDict):
    """
    A template.
    """

    actions: list[RuleView]
    """
    Who may do what, if the default does not fit.
    """
    burned_count: NotRequired[int | None]
    """
    How many of these have been burned. Answers to changes do not say it.
    """
    created_at: Time
    """
    When it was created.
    """
    description: str
    """
    What it is for.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    max_supply: Decimal | None
    """
    How many objects may ever be minted.
    """
    minted_count: int
    """
    How many have been minted.
    """
    name: str
    """
    Its name, unique in the organization.
    """
    organization_id: Id
    """
    The organization that issues its objects.
    """
    properties: Properties
    """
    The initial properties of its objects.
    """
    public_access: bool
    """
    Every organization can read it and its objects.
    """
    schema: Properties | None
    """
    JSON Schema that its objects' properties must satisfy.
    """
    sequence: int
    """
    The last one's sequence.
    """
    state_proof: NotRequired[StateProof]
    """
    The proof of this state, if it was asked for.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    variation_count: int
    """
    How many variations it has.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class TestMessage(TypedDict):
    """
    A test message to a webhook.
    """

    action_id: Id | None
    """
    Always null.
    """
    data: TestData
    id: Id
    object_id: Id | None
    """
    Always null.
    """
    organization_id: Id
    position: str
    receipt: Receipt | None
    """
    Always null.
    """
    sequence: int
    """
    The log's last sequence.
    """
    timestamp: Time
    type: str
    """
    `webhook.test`.
    """


class TransferAction(TypedDict):
    action_type: Literal['transfer']
    object_id: ObjectId
    payload: TransferBody


class VariationsMade(TypedDict):
    """
    Newly made variations, and their template after that.
    """

    action_id: Id
    """
    The action that did so.
    """
    items: list[VariationView]
    """
    The new variations, in request order.
    """
    receipt: Receipt
    """
    Proof that the log holds the action.
    """
    template: TemplateView
    """
    The template afterwards.
    """


class WebhookMessage(TypedDict):
    """
    A message to a webhook: the event, with the receipt of its action.
    """

    action_id: str | None
    """
    The action in the log; null if there is none.
    """
    data: EventData
    """
    Details, by type.
    """
    id: str
    """
    Its id: the same at every reading, so that duplicates can be recognised.
    """
    object_id: str | None
    """
    The object that it acted on or made.
    """
    organization_id: str | None
    """
    The organization that acted; null for batches and anchors.
    """
    position: str
    """
    Its position among all events; pass it to the stream as `last_event_id`.
    """
    receipt: Receipt | None
    """
    Proof that the log holds the action; null if there is none.
    """
    sequence: int
    """
    The log's sequence: the action's own; for a batch its last; for an event outside the log,
    the log's last sequence at that time.
    """
    timestamp: str
    """
    When it happened.
    """
    type: str
    """
    What happened: `object.created`, `object.updated`, `object.transferred`, `object.locked`,
    `object.unlocked`, `object.burned`, `template.created`, `variation.created`,
    `wallet.registered`, `file.created`, `action.executed` (any other action), `action.failed`
    (refused, not in the log), `batch.sealed`, `batch.anchored` (a block holds the anchor),
    `anchor.confirmed` (that block is final: proof files hold the anchor).
    """


class ActionView(TypedDict):
    """
    An action.
    """

    action_type: str
    """
    Its kind.
    """
    batch_id: Id
    """
    Its batch.
    """
    batch_number: int
    """
    That batch's number.
    """
    content: Hash
    """
    Its content.
    """
    head: Hash
    """
    The log's head after it.
    """
    id: Id
    """
    Its id.
    """
    leaf: Hash
    """
    Its leaf.
    """
    leaf_index: int
    """
    Its index among the batch's leaves.
    """
    nonce: Decimal
    """
    The request's nonce.
    """
    object_id: Id | None
    """
    The object that it acted on or made.
    """
    object_version: int
    """
    The resource's version after it.
    """
    payload: Payload
    """
    The payload, as signed.
    """
    previous_integrity: Hash
    """
    The resource's integrity before it.
    """
    receipt: NotRequired[Receipt | None]
    """
    Proof that the log holds it; not in lists and answers to batches.
    """
    resource_id: Id
    """
    The resource that it acted on, or made first.
    """
    sequence: int
    """
    Its position in the log.
    """
    signer: Address
    """
    The signing address.
    """
    status: str
    """
    Always `committed`: the log contains nothing else.
    """
    target: str
    """
    The target, as signed.
    """
    timestamp: Time
    """
    When it was placed.
    """


BatchAction: TypeAlias = ActionView | ForeignAction
"""
An action of a batch.
"""


class ChangedApiKeyView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    created_at: Time
    """
    When it was created.
    """
    expires_at: Time | None
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    last_used_at: Time | None
    """
    When it was last used, to the minute.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    The organization that it acts for.
    """
    permissions: list[Permission]
    """
    What it may do.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    rotations: int
    """
    How often its secret has been replaced.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """
    wallet_id: Id
    """
    The wallet that created it.
    """


class ChangedFileView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    content_path: str
    """
    The path of the bytes on this service.
    """
    created_at: Time
    """
    When it was uploaded.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    media_type: str
    """
    The media type detected from the bytes.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    Its organization.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    sequence: int
    """
    The last one's sequence.
    """
    sha256: Hash
    """
    SHA-256 of its bytes.
    """
    size_bytes: int
    """
    Its size in bytes.
    """
    version: int
    """
    How many actions have created and changed it.
    """
    wallet_id: Id
    """
    The wallet that uploaded it.
    """


class ChangedInvitationView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    created_at: Time
    """
    When it was created.
    """
    email: str | None
    """
    The only e-mail address that may use it; `null` for any.
    """
    expires_at: Time
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    invited_by: Id
    """
    The wallet that invites: the invitation is valid only while that wallet may invite.
    """
    organization_id: Id
    """
    The organization.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    revoked: bool
    """
    It was revoked.
    """
    role: Role
    """
    The role of the wallet that joins.
    """
    used_by: Id | None
    """
    The wallet that used it.
    """


class ChangedLoggedIn(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    access_token: str
    """
    Shown with each request: `Authorization: Bearer <access_token>`.
    """
    action_id: Id
    """
    The action that did so.
    """
    expires_in: int
    """
    Seconds that the access token is good for.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    refresh_token: str
    """
    Exchanged for new tokens, once.
    """
    token_type: str
    """
    Always `Bearer`.
    """
    wallet: WalletView
    """
    The wallet.
    """


class ChangedObjectView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    created_at: Time
    """
    When it was minted.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    organization_id: Id
    """
    The organization that issued it.
    """
    owner_address: Address
    """
    That wallet's address.
    """
    owner_id: Id
    """
    The wallet that owns it.
    """
    properties: Properties
    """
    Its properties.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    sequence: int
    """
    The last one's sequence.
    """
    serial: int
    """
    Its number among the objects of its template, from 1, in the order in which they were minted.
    """
    state_proof: NotRequired[StateProof]
    """
    The proof of this state, if it was asked for.
    """
    status: ObjectStatus
    """
    Which actions it allows.
    """
    template_id: Id
    """
    The template that it was made from.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    variation_id: Id | None
    """
    The variation, if one was named.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class ChangedShownInvitation(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    code: str
    """
    The code for registering: shown only in this answer, and in a replay.
    """
    created_at: Time
    """
    When it was created.
    """
    email: str | None
    """
    The only e-mail address that may use it; `null` for any.
    """
    expires_at: Time
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    invited_by: Id
    """
    The wallet that invites: the invitation is valid only while that wallet may invite.
    """
    organization_id: Id
    """
    The organization.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    revoked: bool
    """
    It was revoked.
    """
    role: Role
    """
    The role of the wallet that joins.
    """
    used_by: Id | None
    """
    The wallet that used it.
    """


class ChangedShownKey(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    created_at: Time
    """
    When it was created.
    """
    expires_at: Time | None
    """
    When it expires.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    key: str
    """
    The key for the header `x-api-key`: shown only in this answer, and in a replay to the same signer.
    """
    last_used_at: Time | None
    """
    When it was last used, to the minute.
    """
    name: str
    """
    Its name.
    """
    organization_id: Id
    """
    The organization that it acts for.
    """
    permissions: list[Permission]
    """
    What it may do.
    """
    previous_until: NotRequired[Time | None]
    """
    Until when the previous secret is still valid; absent if it is not.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    rotations: int
    """
    How often its secret has been replaced.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """
    wallet_id: Id
    """
    The wallet that created it.
    """


class ChangedTemplateView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    actions: list[RuleView]
    """
    Who may do what, if the default does not fit.
    """
    burned_count: NotRequired[int | None]
    """
    How many of these have been burned. Answers to changes do not say it.
    """
    created_at: Time
    """
    When it was created.
    """
    description: str
    """
    What it is for.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    max_supply: Decimal | None
    """
    How many objects may ever be minted.
    """
    minted_count: int
    """
    How many have been minted.
    """
    name: str
    """
    Its name, unique in the organization.
    """
    organization_id: Id
    """
    The organization that issues its objects.
    """
    properties: Properties
    """
    The initial properties of its objects.
    """
    public_access: bool
    """
    Every organization can read it and its objects.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    schema: Properties | None
    """
    JSON Schema that its objects' properties must satisfy.
    """
    sequence: int
    """
    The last one's sequence.
    """
    state_proof: NotRequired[StateProof]
    """
    The proof of this state, if it was asked for.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    variation_count: int
    """
    How many variations it has.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class ChangedWalletView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    address: Address
    """
    The address that registered it.
    """
    created_at: Time
    """
    When it was registered.
    """
    email: str
    """
    The e-mail address for logging in.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    keys: list[Address]
    """
    The current signing keys.
    """
    nickname: str | None
    """
    A name to show.
    """
    organization_id: Id
    """
    Its organization.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    role: Role
    """
    Its role there.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class ChangedWebhookView(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    active: bool
    """
    While false, nothing is sent.
    """
    created_at: Time
    """
    When it was created.
    """
    description: str
    """
    What it is for.
    """
    events: list[str]
    """
    Types of events; `*` is every type.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    organization_id: Id
    """
    The organization whose events are sent.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    url: str
    """
    The URL that receives the messages.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class ChangedWebhookWithSecret(TypedDict):
    """
    A resource that a request made or changed, with its proof.
    """

    action_id: Id
    """
    The action that did so.
    """
    active: bool
    """
    While false, nothing is sent.
    """
    created_at: Time
    """
    When it was created.
    """
    description: str
    """
    What it is for.
    """
    events: list[str]
    """
    Types of events; `*` is every type.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    organization_id: Id
    """
    The organization whose events are sent.
    """
    receipt: Receipt
    """
    Proof that the log holds the action; it can be checked offline at once.
    """
    secret: str
    """
    The secret that signs from now on, `whsec_…` (Standard Webhooks). Shown only in this answer, and in a
    replay to the same signer.
    """
    sequence: int
    """
    The last one's sequence.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    url: str
    """
    The URL that receives the messages.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class HistoryPage(TypedDict):
    """
    The actions of an object.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[ActionView]
    """
    The actions, newest first.
    """
    pruned_before: int | None
    """
    Actions with a lower version are no longer in this list; the log keeps them. Null if there
    are none.
    """


class MintAction(TypedDict):
    action_type: Literal['mint']
    payload: NotRequired[MintPayload]
    template_id: TemplateId


class ObjectView(TypedDict):
    """
    An object.
    """

    created_at: Time
    """
    When it was minted.
    """
    id: Id
    """
    Its id.
    """
    integrity_hash: Hash
    """
    The hash over those actions.
    """
    organization_id: Id
    """
    The organization that issued it.
    """
    owner_address: Address
    """
    That wallet's address.
    """
    owner_id: Id
    """
    The wallet that owns it.
    """
    properties: Properties
    """
    Its properties.
    """
    sequence: int
    """
    The last one's sequence.
    """
    serial: int
    """
    Its number among the objects of its template, from 1, in the order in which they were minted.
    """
    state_proof: NotRequired[StateProof]
    """
    The proof of this state, if it was asked for.
    """
    status: ObjectStatus
    """
    Which actions it allows.
    """
    template_id: Id
    """
    The template that it was made from.
    """
    updated_at: Time
    """
    When it was last changed.
    """
    variation_id: Id | None
    """
    The variation, if one was named.
    """
    version: int
    """
    How many actions have created and changed it.
    """


class PageOfActionView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[ActionView]
    """
    The records.
    """


class PageOfBatchAction(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[BatchAction]
    """
    The records.
    """


class PageOfObjectView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[ObjectView]
    """
    The records.
    """


class PageOfSequencerKeyView(TypedDict):
    """
    One page of a list.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[SequencerKeyView]
    """
    The records.
    """


class ProvablePageOfObjectView(TypedDict):
    """
    A page of a list whose items can come with their proofs.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[ObjectView]
    """
    The records.
    """
    state_proofs: NotRequired[StateProofs]
    """
    The items' proofs, if they were asked for: one an item, in their order.
    """


class ProvablePageOfTemplateView(TypedDict):
    """
    A page of a list whose items can come with their proofs.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[TemplateView]
    """
    The records.
    """
    state_proofs: NotRequired[StateProofs]
    """
    The items' proofs, if they were asked for: one an item, in their order.
    """


class ProvablePageOfVariationView(TypedDict):
    """
    A page of a list whose items can come with their proofs.
    """

    cursor: str | None
    """
    Pass it to get the next page; null on the last one.
    """
    has_more: bool
    """
    True when more records follow.
    """
    items: list[VariationView]
    """
    The records.
    """
    state_proofs: NotRequired[StateProofs]
    """
    The items' proofs, if they were asked for: one an item, in their order.
    """


ReceivedMessage: TypeAlias = WebhookMessage | TestMessage
"""
What a webhook's URL receives.
"""


ActionBody: TypeAlias = MintAction | UpdateAction | TransferAction | StatusAction | SetAttributesAction | DeleteAttributesAction | CustomAction


class BatchBody(TypedDict):
    """
    Actions under one signature.
    """

    actions: list[ActionBody]
    """
    The actions, done in this order.
    """
    atomic: NotRequired[bool]
    """
    All or none; part of what is signed.
    """


class PreviewActions(TypedDict):
    actions: list[ActionBody]
    atomic: NotRequired[bool]
    """
    All or none.
    """
    salt: NotRequired[str]
    """
    The seed of the salts, 32 random bytes; a fresh one if absent.
    """
    signer: NotRequired[AddressInput]
    """
    The key that will sign; the wallet's own address if absent. Required with an API key alone.
    """


PreviewRequest: TypeAlias = PreviewMint | PreviewUpdate | PreviewTransfer | PreviewStatus | PreviewSetAttributes | PreviewDeleteAttributes | PreviewCustom | PreviewActions


class ApiErrorBody(TypedDict):
    """
    The context; members that do not apply are absent.
    """

    error: NotRequired[ApiError]
    """
    That action's error, in the service's envelope.
    """
    errors: NotRequired[list[FieldError]]
    """
    With VALIDATION_ERROR: what is wrong, and where.
    """
    id: NotRequired[str]
    """
    The identifier that was not found.
    """
    index: NotRequired[int]
    """
    The first refused action of an atomic batch.
    """
    message: str
    """
    What went wrong and what to do.
    """
    minimum_batch: NotRequired[int]
    """
    With GONE, if older parts of the log are archived: the first batch that is still here. An export can begin there.
    """
    minimum_sequence: NotRequired[int]
    """
    With GONE, if older parts of the log are archived: the first sequence that is still here.
    """
    nearest_checkpoint: NotRequired[int]
    """
    With GONE, if the checkpoint that was asked for cannot be proven: the batches of the nearest one that can be.
    """
    nonce: NotRequired[str]
    """
    Its nonce, which is spent at most once.
    """
    outcome: NotRequired[Literal['nothing_done', 'unknown']]
    """
    With UNAVAILABLE: `nothing_done` means that nothing was done and nothing will be; `unknown` that the request may be done, now or later: send exactly the same signed request again, never a new one.
    """
    policy: NotRequired[str]
    """
    With RATE_LIMITED: the limit that is used up.
    """
    reason: NotRequired[Literal['done', 'refused']]
    """
    With NONCE_REUSED: `done` if something of the request that spent the nonce was done, `refused` if nothing was and a new request is needed. Absent while this is unknown.
    """
    recovered: NotRequired[str]
    """
    With SIGNATURE_INVALID: the address whose key made the signature.
    """
    request_id: str
    """
    The request's id, as in `X-Request-Id`.
    """
    resource: NotRequired[str]
    """
    The kind of resource that was not found.
    """
    sequence: NotRequired[int]
    """
    With NONCE_REUSED and `done`: the first sequence of the request that spent the nonce, shown only to the signer's own organization.
    """
    signer: NotRequired[str]
    """
    Of a signed request with an unknown outcome: its signer.
    """


class ApiError(TypedDict):
    body: ApiErrorBody
    """
    The context; members that do not apply are absent.
    """
    code: Literal['VALIDATION_ERROR', 'MALFORMED_JSON', 'CURSOR_INVALID', 'UNAUTHENTICATED', 'TOKEN_EXPIRED', 'CREDENTIALS_INVALID', 'SIGNATURE_REQUIRED', 'SIGNATURE_INVALID', 'DEADLINE_EXPIRED', 'NONCE_REUSED', 'FORBIDDEN', 'RESOURCE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'CONFLICT', 'EMAIL_TAKEN', 'IDEMPOTENCY_IN_PROGRESS', 'SEQUENCE_NOT_REACHED', 'GONE', 'PRECONDITION_FAILED', 'HEADERS_TOO_LARGE', 'PAYLOAD_TOO_LARGE', 'OBJECT_TOO_LARGE', 'BATCH_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'STATE_VIOLATION', 'IDEMPOTENCY_MISMATCH', 'INTERNAL', 'UNAVAILABLE', 'RANGE_NOT_SATISFIABLE']
    """
    What went wrong, for programs.
    """
    status: int
    """
    The HTTP status.
    """


class BatchAnswer(TypedDict):
    """
    The answer to a batch.
    """

    receipt: BatchReceipt | None
    """
    Proof for all actions that were done; null if none was.
    """
    results: list[BatchResult]
    """
    One result for each action, in request order.
    """


BatchResult: TypeAlias = Union[ActionView, MinimalAction, "RefusedAction"]
"""
The outcome of one action of a batch.
"""


class CountBody(TypedDict):
    """
    The request of a count of objects.
    """

    filter: Filter
    """
    The condition for matches.
    """


Filter: TypeAlias = Union["FilterAnd", "FilterOr", "FilterNot", FilterCondition]
"""
A tree of `and`, `or` and `not` over conditions. Values of different JSON types are never equal and have no order; numbers are compared exactly, texts by code point. A condition on a missing value is false; `ne` is the negation of `eq`.
"""


FilterAnd = TypedDict(
    'FilterAnd',
    {
        'and': list[Filter]
    },
)


FilterNot = TypedDict(
    'FilterNot',
    {
        'not': Filter
    },
)


FilterOr = TypedDict(
    'FilterOr',
    {
        'or': list[Filter]
    },
)


class PreviewAnswer(TypedDict):
    """
    What a request would do, and what to sign for it.
    """

    headers: SignedHeaders
    """
    The headers to send with the signature.
    """
    results: list[PreviewResult]
    """
    One result for each action, in request order.
    """
    typed_data: TypedData
    """
    The data to sign.
    """
    would_commit: bool
    """
    True when at least one action would be done; for an atomic request, when all would.
    """


PreviewResult: TypeAlias = Union[WouldBeDone, "RefusedAction"]
"""
The expected outcome of one action.
"""


class Problem(TypedDict):
    code: Literal['VALIDATION_ERROR', 'MALFORMED_JSON', 'CURSOR_INVALID', 'UNAUTHENTICATED', 'TOKEN_EXPIRED', 'CREDENTIALS_INVALID', 'SIGNATURE_REQUIRED', 'SIGNATURE_INVALID', 'DEADLINE_EXPIRED', 'NONCE_REUSED', 'FORBIDDEN', 'RESOURCE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'CONFLICT', 'EMAIL_TAKEN', 'IDEMPOTENCY_IN_PROGRESS', 'SEQUENCE_NOT_REACHED', 'GONE', 'PRECONDITION_FAILED', 'HEADERS_TOO_LARGE', 'PAYLOAD_TOO_LARGE', 'OBJECT_TOO_LARGE', 'BATCH_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'STATE_VIOLATION', 'IDEMPOTENCY_MISMATCH', 'INTERNAL', 'UNAVAILABLE', 'RANGE_NOT_SATISFIABLE']
    """
    What went wrong, for programs.
    """
    detail: str
    """
    What went wrong and what to do.
    """
    error: NotRequired[ApiError]
    """
    That action's error, in the service's envelope.
    """
    errors: NotRequired[list[FieldError]]
    """
    With VALIDATION_ERROR: what is wrong, and where.
    """
    id: NotRequired[str]
    """
    The identifier that was not found.
    """
    index: NotRequired[int]
    """
    The first refused action of an atomic batch.
    """
    minimum_batch: NotRequired[int]
    """
    With GONE, if older parts of the log are archived: the first batch that is still here. An export can begin there.
    """
    minimum_sequence: NotRequired[int]
    """
    With GONE, if older parts of the log are archived: the first sequence that is still here.
    """
    nearest_checkpoint: NotRequired[int]
    """
    With GONE, if the checkpoint that was asked for cannot be proven: the batches of the nearest one that can be.
    """
    nonce: NotRequired[str]
    """
    Its nonce, which is spent at most once.
    """
    outcome: NotRequired[Literal['nothing_done', 'unknown']]
    """
    With UNAVAILABLE: `nothing_done` means that nothing was done and nothing will be; `unknown` that the request may be done, now or later: send exactly the same signed request again, never a new one.
    """
    policy: NotRequired[str]
    """
    With RATE_LIMITED: the limit that is used up.
    """
    reason: NotRequired[Literal['done', 'refused']]
    """
    With NONCE_REUSED: `done` if something of the request that spent the nonce was done, `refused` if nothing was and a new request is needed. Absent while this is unknown.
    """
    recovered: NotRequired[str]
    """
    With SIGNATURE_INVALID: the address whose key made the signature.
    """
    request_id: str
    """
    The request's id, as in `X-Request-Id`.
    """
    resource: NotRequired[str]
    """
    The kind of resource that was not found.
    """
    sequence: NotRequired[int]
    """
    With NONCE_REUSED and `done`: the first sequence of the request that spent the nonce, shown only to the signer's own organization.
    """
    signer: NotRequired[str]
    """
    Of a signed request with an unknown outcome: its signer.
    """
    status: int
    """
    The HTTP status.
    """
    title: str
    """
    The status' name.
    """
    type: str
    """
    `about:blank`: the code identifies the error.
    """


class RefusedAction(TypedDict):
    """
    A refused action of a batch.
    """

    error: ApiError
    """
    The reason.
    """


class SearchBody(TypedDict):
    """
    The request of a search for objects.
    """

    cursor: NotRequired[str | None]
    """
    The cursor from the previous page.
    """
    filter: Filter
    """
    The condition for matches.
    """
    limit: NotRequired[int | None]
    """
    Records per page: 1 to 1,000, 100 if absent.
    """
    sort: NotRequired[list[SortKey] | None]
    """
    The order: by creation if absent.
    """