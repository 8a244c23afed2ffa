//! The funded accounts of the embedded chain.

use kedge_protocol::signature::SigningKey;

/// Private keys of the first accounts of the development nodes' common mnemonic, so that wallets and tools work without
/// set-up. INSECURE: these keys are public. Anything sent to them on a public chain is stolen within seconds.
const INSECURE_KEYS: [&str; 4] = [
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
];

/// The balance of each account in the genesis block, in ether.
pub(super) const GENESIS_BALANCE_ETHER: u64 = 10_000;

/// The publicly known keys of the funded accounts: only for the embedded chain and for tests.
pub fn insecure_development_keys() -> Vec<SigningKey> {
    INSECURE_KEYS
        .iter()
        .map(|text| {
            let bytes = kedge_protocol::hash::from_hex(text).expect("the constant is 32 bytes");
            SigningKey::from_bytes(&bytes).expect("the constant is a key")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_account_is_the_one_everybody_knows() {
        assert_eq!(
            insecure_development_keys()[0].address().to_string(),
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
        );
    }
}
