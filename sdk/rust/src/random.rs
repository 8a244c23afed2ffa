//! Randomness of the operating system.

use kedge_protocol::Hash;

use crate::error::{ClientError, ClientResult};

/// Random bytes from the operating system.
pub fn bytes<const N: usize>() -> ClientResult<[u8; N]> {
    let mut out = [0; N];
    getrandom::fill(&mut out).map_err(|error| {
        ClientError::Usage(format!("the system returned no random bytes: {error}"))
    })?;
    Ok(out)
}

/// A seed for a request's salts.
pub fn seed() -> ClientResult<Hash> {
    bytes().map(Hash)
}

/// A random number from 0 to 1.
pub(crate) fn fraction() -> ClientResult<f64> {
    Ok(f64::from(u32::from_be_bytes(bytes()?)) / f64::from(u32::MAX))
}
