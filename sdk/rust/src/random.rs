//! Randomness of the operating system.

use kedge_protocol::Hash;

use crate::error::{Error, Result};

/// Random bytes from the operating system.
pub fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut out = [0; N];
    getrandom::fill(&mut out)
        .map_err(|error| Error::Usage(format!("the system returned no random bytes: {error}")))?;
    Ok(out)
}

/// A seed for a request's salts.
pub fn seed() -> Result<Hash> {
    bytes().map(Hash)
}

/// A random number from 0 to 1.
pub(crate) fn fraction() -> Result<f64> {
    Ok(f64::from(u32::from_be_bytes(bytes()?)) / f64::from(u32::MAX))
}
