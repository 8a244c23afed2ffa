//! The log as C2SP tiles: a second tree over the batch headers, with SHA-256 (RFC 6962), so that programs that know
//! nothing of Kedge check the log, and witnesses cosign it. Nothing in layers 1 to 4 depends on it.
//!
//! An entry is the 320 bytes of a header's EIP-712 encoding
//! ([`BatchHeader::encoding`](crate::batch::BatchHeader::encoding)): keccak256 of it is the batch's hash, and
//! SHA-256(0x00 ‖ entry) is the tree's leaf. The formats are C2SP's at commit 5ba5ee8. `vectors/tlog.json` outranks
//! every word here.
//!
//! - [`origin`]: the name under which witnesses know the log;
//! - [`tile`]: paths and bytes of tiles and entry bundles, and proofs from tiles;
//! - [`checkpoint`]: what the sequencer signs, so that a false root is evidence;
//! - [`note`]: the text of a signed note, and its lines;
//! - [`key`]: verifier keys, and what each signs;
//! - [`signer`]: private keys;
//! - [`trust`]: checking a note;
//! - [`policy`]: which witnesses suffice;
//! - [`proof`]: `.tlog-proof` files;
//! - [`submission`]: what a witness is sent.

pub mod checkpoint;
pub mod key;
pub mod note;
pub mod origin;
pub mod policy;
pub mod proof;
pub mod signer;
pub mod submission;
pub mod tile;
pub mod trust;

pub use checkpoint::{SignedTlogCheckpoint, TlogCheckpoint};
pub use key::{NoteAlgorithm, NoteVerifier, SequencerVerifier, VerifierError};
pub use note::{NoteBody, NoteError, NoteLine, SignedNote};
pub use origin::{TlogOrigin, TlogOriginError};
pub use policy::{PolicyError, TlogPolicy};
pub use proof::{TlogProof, TlogProofError};
pub use signer::{LogSigner, NoteSigner};
pub use submission::{CheckpointSubmission, CheckpointSubmissionError};
pub use tile::{TilePath, TileReader, TileRow, TiledTree};
pub use trust::{NoteCosignature, NoteRefusal, NoteTrust, OpenedNote};
