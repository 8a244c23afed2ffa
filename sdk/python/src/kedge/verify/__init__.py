"""Offline verification of receipts, proof files, state proofs, exports, claims, notes and evidence, for a trusted log.

Each check takes the file's text, or its parsed JSON, and a `Trust`. It raises `Refused` if the file is invalid. Prefer
the text: it is parsed strictly, so that all readers see the same file.
"""

from .claims import ClaimShown, VerificationKey, check_claim
from .evidence import EvidenceTrust, check_evidence
from .exports import ExportChecked, check_export
from .followers import check_next_header
from .notes import NoteShown, VerifierKey, verify_note
from .policies import Policy
from .reading import read_json
from .receipts import ProofShown, check_batch_receipt, check_proof_file, check_receipt
from .state_proofs import StateShown, verify_state_proof, verify_state_proofs
from .tlog_files import TlogProofShown, verify_tlog_proof
from .trust import SequencerKey, Trust, follow_key

__all__ = [
    "ClaimShown",
    "EvidenceTrust",
    "ExportChecked",
    "NoteShown",
    "Policy",
    "ProofShown",
    "SequencerKey",
    "StateShown",
    "TlogProofShown",
    "Trust",
    "VerificationKey",
    "VerifierKey",
    "check_batch_receipt",
    "check_claim",
    "check_evidence",
    "check_export",
    "check_next_header",
    "check_proof_file",
    "check_receipt",
    "follow_key",
    "read_json",
    "verify_note",
    "verify_state_proof",
    "verify_state_proofs",
    "verify_tlog_proof",
]
