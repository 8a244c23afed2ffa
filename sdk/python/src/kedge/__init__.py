"""Client of Kedge, the server for digital objects with proofs.

`Kedge` and `AsyncKedge` sign requests, send them until their outcome is known, and verify the receipt of every answer.
`kedge.verify` verifies receipts, proof files, exports, claims and evidence offline. `kedge.operations` builds requests
as data, `kedge.models` has the types of bodies and answers. Both are generated from the API document.
"""

from . import verify
from .answers import Answer, RateLimit
from .async_client import AsyncKedge
from .batch import Batch
from .calls import Call, RawJson
from .client import Kedge
from .errors import (
    AlreadyDone,
    ApiError,
    BrokenTrie,
    ConnectionFailed,
    ItemDiffers,
    KedgeError,
    MalformedEntry,
    NotModified,
    OutcomeUnknown,
    ProofMissing,
    Refused,
    WrongSigner,
)
from .generated import models, operations
from .protocol.ids import made_id
from .retry import RetryPolicy
from .session import Tokens
from .signing import Consent, KeySigner, Signer, Unsigned, key_addition
from .verify.trust import SequencerKey, Trust
from .version import VERSION as __version__
from .webhooks import verify_webhook

__all__ = [
    "AlreadyDone",
    "Answer",
    "ApiError",
    "AsyncKedge",
    "Batch",
    "BrokenTrie",
    "Call",
    "ConnectionFailed",
    "Consent",
    "ItemDiffers",
    "Kedge",
    "KedgeError",
    "KeySigner",
    "MalformedEntry",
    "NotModified",
    "OutcomeUnknown",
    "ProofMissing",
    "RateLimit",
    "RawJson",
    "Refused",
    "RetryPolicy",
    "SequencerKey",
    "Signer",
    "Tokens",
    "Trust",
    "Unsigned",
    "WrongSigner",
    "__version__",
    "key_addition",
    "made_id",
    "models",
    "operations",
    "verify",
    "verify_webhook",
]
