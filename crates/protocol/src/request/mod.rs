//! Layer 1, requests: actions and digests in place of payloads, the nonces of a signer, and the log's record of a
//! request.

pub mod action;
pub mod nonce;
pub mod payload;
pub mod possession;
pub mod record;
