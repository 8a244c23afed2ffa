//! Single actions in the contracts' form: challenges, and proofs that the signer requested an action.

use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{LogLeaf, content};
use kedge_protocol::eip712;
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::signature::{Signature, SignatureError};
use kedge_protocol::{Address, Hash};

use super::contract::{RevertBytes, address_word, error, word};

/// Limit on the actions of a request.
const ACTIONS_MAX: usize = 500;

/// An opened action from a call's data, not verified yet.
#[derive(Clone, Debug)]
pub(super) struct UntrustedOpening {
    pub(super) words: ActionWords,
    pub(super) salt: Hash,
    pub(super) head: RequestHead,
    pub(super) index: u64,
    pub(super) action_hashes: Vec<Hash>,
    pub(super) signature: Vec<u8>,
}

/// A challenged action: a leaf under a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct ChallengedAction {
    pub(super) anchored: u64,
    pub(super) header: BatchHeader,
    pub(super) leaf: LogLeaf,
    pub(super) leaf_path: Vec<Hash>,
    pub(super) batch_path: Vec<Hash>,
}

impl UntrustedOpening {
    /// Checks that the signer requested the leaf, before the deadline.
    pub(super) fn authorises(&self, leaf: &LogLeaf, domain: &Hash) -> Result<(), RevertBytes> {
        let authority = keccak_parts(&[&keccak(&self.signature).0, &self.salt.0]);
        let listed = usize::try_from(self.index).ok();
        let listed = listed.and_then(|index| self.action_hashes.get(index));
        let is_it = content(&self.words, &self.head.signer, &authority) == leaf.content
            && self.action_hashes.len() <= ACTIONS_MAX
            && listed == Some(&self.words.action_hash(&self.salt));
        if !is_it {
            return Err(error("AnotherAction()", &[]));
        }
        let asked = self.head.struct_hash(&self.action_hashes);
        let signer = recovered(&self.signature, &eip712::digest(domain, &asked))?;
        if signer != self.head.signer {
            let words = [signer, self.head.signer].map(address_word);
            return Err(error("NotTheSigner(address,address)", &words));
        }
        let (placed_ms, deadline_s) = (leaf.timestamp_ms, self.head.deadline_s);
        if u128::from(placed_ms) > 1_000 * u128::from(deadline_s) {
            let words = [placed_ms, deadline_s].map(word);
            return Err(error("PastDeadline(uint64,uint64)", &words));
        }
        Ok(())
    }
}

/// Address of the signer, or the library's error for an invalid signature.
fn recovered(signature: &[u8], digest: &Hash) -> Result<Address, RevertBytes> {
    let Ok(bytes) = <[u8; 65]>::try_from(signature) else {
        let length = [word(signature.len() as u64)];
        return Err(error("ECDSAInvalidSignatureLength(uint256)", &length));
    };
    let invalid = |_| error("ECDSAInvalidSignature()", &[]);
    match Signature::from_bytes(bytes) {
        Err(SignatureError::HighS) => {
            let mut s = [0; 32];
            s.copy_from_slice(&bytes[32..64]);
            Err(error("ECDSAInvalidSignatureS(bytes32)", &[s]))
        }
        // The contract accepts no other forms of the last byte.
        _ => Signature(bytes).recover(digest).map_err(invalid),
    }
}
