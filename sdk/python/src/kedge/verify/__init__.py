"""Offline checks of receipts, proof files, exports, claims and evidence, against a log that the caller trusts.

Each check takes the file's text, or the value that a JSON parser made of it, and a `Trust`. It raises `Refused` if the
file does not hold. Give the text where you have it: it is read strictly, so that nobody can read another file out of it.
"""

from .claims import ClaimShown, VerificationKey, check_claim
from .evidence import EvidenceTrust, check_evidence
from .exports import ExportChecked, check_export
from .followers import check_next_header
from .reading import read_json
from .receipts import ProofShown, check_batch_receipt, check_proof_file, check_receipt
from .trust import SequencerKey, Trust, follow_key

__all__ = [
    "ClaimShown",
    "EvidenceTrust",
    "ExportChecked",
    "ProofShown",
    "SequencerKey",
    "Trust",
    "VerificationKey",
    "check_batch_receipt",
    "check_claim",
    "check_evidence",
    "check_export",
    "check_next_header",
    "check_proof_file",
    "check_receipt",
    "follow_key",
    "read_json",
]
