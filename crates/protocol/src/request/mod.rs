//! Layer 1, requests: actions and what stands for their payloads, the nonces of a signer, and what the log keeps of a
//! request.

pub mod action;
pub mod nonce;
pub mod payload;
pub mod possession;
pub mod record;
