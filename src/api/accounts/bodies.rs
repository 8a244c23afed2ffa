//! Bodies of requests that change a wallet.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_http::scalars::{AddressInput, SignatureInput};
use schemars::JsonSchema;

/// A signing key to add.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SignerBody {
    /// Its address, which no other wallet may have, now or ever.
    address: AddressInput,
    /// The new key's own signature over the EIP-712 type `KeyConsent(string wallet,address key)` in the log's domain, with
    /// the id of the caller's wallet and this address.
    possession: SignatureInput,
}
