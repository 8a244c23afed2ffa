//! Actions and the signed requests that carry them (layer 1).

use std::sync::LazyLock;

use crate::address::Address;
use crate::chain;
use crate::eip712::{self, word};
use crate::hash::{Hash, keccak, keccak_parts};
use crate::lanes::{keccak_each, sha256_each};

pub use crate::registry::Kind;

/// The EIP-712 type of an action.
pub const ACTION_TYPE: &str = "Action(string kind,string target,string payload,bytes32 salt)";
/// The EIP-712 type of a request: the single primary type of every state change.
pub const REQUEST_TYPE: &str = "ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)Action(string kind,string target,string payload,bytes32 salt)";

static ACTION_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(ACTION_TYPE.as_bytes()));
static REQUEST_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(REQUEST_TYPE.as_bytes()));

/// The salt of the `index`-th action of a request: keccak(seed ‖ u16 index).
pub fn salt(seed: &Hash, index: u16) -> Hash {
    keccak(&salt_preimage(seed, index))
}

fn salt_preimage(seed: &Hash, index: u16) -> [u8; 34] {
    let mut preimage = [0; 34];
    preimage[..32].copy_from_slice(&seed.0);
    preimage[32..].copy_from_slice(&index.to_be_bytes());
    preimage
}

/// The salts of a request's actions at these indexes, hashed in parallel.
pub fn salts(seed: &Hash, indexes: impl IntoIterator<Item = u16>) -> Vec<Hash> {
    let preimages: Vec<_> = indexes
        .into_iter()
        .map(|index| salt_preimage(seed, index))
        .collect();
    hash_each(&preimages)
}

/// hashStruct(Action) of each action, hashed in parallel.
pub fn action_hashes(words: &[ActionWords], salts: &[Hash]) -> Vec<Hash> {
    let preimages: Vec<_> = words
        .iter()
        .zip(salts)
        .map(|(words, salt)| words.preimage(salt))
        .collect();
    hash_each(&preimages)
}

/// The texts of one action of a request.
#[derive(Clone, Copy, Debug)]
pub struct ActionTexts<'a> {
    /// Index of the action in the request.
    pub index: u16,
    /// Kind of the action.
    pub kind: &'a Kind,
    /// The target, as signed.
    pub target: &'a str,
    /// The payload, as signed.
    pub payload: &'a str,
}

/// The hashes of one action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActionHashes {
    /// hashStruct(Action).
    pub action: Hash,
    /// Its content (layer 2).
    pub content: Hash,
}

/// Values that the contents of one request's actions share.
#[derive(Clone, Copy, Debug)]
pub struct RequestWords<'a> {
    /// The seed of their salts.
    pub seed: &'a Hash,
    /// The request's signer.
    pub signer: &'a Address,
    /// keccak of the request's signature.
    pub signature_hash: &'a Hash,
}

/// Actions of a request that are hashed together, so that intermediate results stay in the processor's nearest cache.
const HASHED_TOGETHER: usize = 64;

/// Hashes the actions of a request in parallel; the result keeps their order. `signature_hash` is keccak of the
/// request's signature.
pub fn hash_actions(
    actions: &[ActionTexts<'_>],
    seed: &Hash,
    signer: &Address,
    signature_hash: &Hash,
) -> Vec<ActionHashes> {
    let mut hashed = Vec::with_capacity(actions.len());
    for actions in actions.chunks(HASHED_TOGETHER) {
        let salts = salts(seed, actions.iter().map(|action| action.index));
        let words = words_of(actions.iter());
        let authorities = salts.iter().map(|salt| chain::joined(signature_hash, salt));
        let authorities = hash_each(&authorities.collect::<Vec<_>>());
        let contents = words
            .iter()
            .zip(&authorities)
            .map(|(words, authority)| chain::content_preimage(words, signer, authority));
        let contents = sha256_each(&contents.collect::<Vec<_>>());
        let of_actions = action_hashes(&words, &salts);
        let both = of_actions.into_iter().zip(contents);
        hashed.extend(both.map(|(action, content)| ActionHashes { action, content }));
    }
    hashed
}

/// Hashes only the contents of actions, of one request or of many, in parallel. Leaves need the contents; only
/// signatures of requests need action hashes.
pub fn hash_contents(actions: &[(RequestWords<'_>, ActionTexts<'_>)]) -> Vec<Hash> {
    let salts = actions
        .iter()
        .map(|(request, action)| salt_preimage(request.seed, action.index));
    let salts = hash_each(&salts.collect::<Vec<_>>());
    let words = words_of(actions.iter().map(|(_, action)| action));
    let requests = actions.iter().map(|(request, _)| request);
    let authorities = requests
        .clone()
        .zip(&salts)
        .map(|(request, salt)| chain::joined(request.signature_hash, salt));
    let authorities = hash_each(&authorities.collect::<Vec<_>>());
    let preimages =
        requests
            .zip(words.iter().zip(&authorities))
            .map(|(request, (words, authority))| {
                chain::content_preimage(words, request.signer, authority)
            });
    sha256_each(&preimages.collect::<Vec<_>>())
}

fn hash_each<M: AsRef<[u8]>>(messages: &[M]) -> Vec<Hash> {
    let mut hashes = Vec::with_capacity(messages.len());
    keccak_each(messages, &mut hashes);
    hashes
}

fn words_of<'t>(
    actions: impl ExactSizeIterator<Item = &'t ActionTexts<'t>> + Clone,
) -> Vec<ActionWords> {
    let count = actions.len();
    let mut hashes = Vec::with_capacity(count * 2);
    let mut texts: Vec<&str> = Vec::with_capacity(count);
    texts.extend(actions.clone().map(|action| action.target));
    keccak_each(&texts, &mut hashes);
    texts.clear();
    texts.extend(actions.clone().map(|action| action.payload));
    keccak_each(&texts, &mut hashes);
    let (targets, payloads) = hashes.split_at(count);
    actions
        .zip(targets.iter().zip(payloads))
        .map(|(action, (&target, &payload))| ActionWords {
            kind: action.kind.hash(),
            target,
            payload,
        })
        .collect()
}

/// The three text words of an action, hashed once and used for its action hash and its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActionWords {
    /// keccak of the kind's text.
    pub kind: Hash,
    /// keccak of the target's text.
    pub target: Hash,
    /// keccak of the payload's exact text.
    pub payload: Hash,
}

impl ActionWords {
    /// Hashes an action's texts.
    pub fn of(kind: &Kind, target: &str, payload: &[u8]) -> Self {
        Self {
            kind: kind.hash(),
            target: keccak(target.as_bytes()),
            payload: keccak(payload),
        }
    }

    /// hashStruct(Action).
    pub fn action_hash(&self, salt: &Hash) -> Hash {
        keccak(&self.preimage(salt))
    }

    fn preimage(&self, salt: &Hash) -> [u8; 160] {
        let mut preimage = [0; 160];
        preimage[..32].copy_from_slice(&ACTION_TYPEHASH.0);
        preimage[32..64].copy_from_slice(&self.kind.0);
        preimage[64..96].copy_from_slice(&self.target.0);
        preimage[96..128].copy_from_slice(&self.payload.0);
        preimage[128..].copy_from_slice(&salt.0);
        preimage
    }
}

/// A request without its actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHead {
    /// The address that signs.
    pub signer: Address,
    /// A number that the signer uses once.
    pub nonce: u64,
    /// Unix seconds; no action of the request is placed after it.
    pub deadline_s: u64,
    /// All actions or none.
    pub atomic: bool,
}

impl RequestHead {
    /// hashStruct(ActionRequest) over the hashes of its actions, in order.
    pub fn struct_hash(&self, action_hashes: &[Hash]) -> Hash {
        let mut joined = Vec::with_capacity(action_hashes.len() * 32);
        for hash in action_hashes {
            joined.extend_from_slice(&hash.0);
        }
        keccak_parts(&[
            &REQUEST_TYPEHASH.0,
            &self.signer.to_word(),
            &word(self.nonce),
            &word(self.deadline_s),
            &word(u64::from(self.atomic)),
            &keccak(&joined).0,
        ])
    }

    /// The digest that the signer signs.
    pub fn digest(&self, domain_separator: &Hash, action_hashes: &[Hash]) -> Hash {
        eip712::digest(domain_separator, &self.struct_hash(action_hashes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_side_by_side_hash_as_each_alone() {
        let payloads: Vec<String> = (0..21).map(|n| "x".repeat(n * 17)).collect();
        let kinds = [Kind::Update, Kind::Lock, Kind::of_text("x.redeem").unwrap()];
        let texts: Vec<ActionTexts<'_>> = (0..)
            .zip(&payloads)
            .map(|(index, payload)| ActionTexts {
                index: 3 * index,
                kind: &kinds[usize::from(index) % 3],
                target: &payload[..payload.len() / 2],
                payload,
            })
            .collect();
        let (seed, signer, signature) = (Hash([7; 32]), Address([9; 20]), Hash([3; 32]));
        for count in [0, 1, 2, 8, 21] {
            let hashes = hash_actions(&texts[..count], &seed, &signer, &signature);
            assert_eq!(hashes.len(), count);
            let contents: Vec<Hash> = hashes.iter().map(|hashes| hashes.content).collect();
            let request = RequestWords {
                seed: &seed,
                signer: &signer,
                signature_hash: &signature,
            };
            let alone: Vec<_> = texts[..count].iter().map(|text| (request, *text)).collect();
            assert_eq!(hash_contents(&alone), contents);
            for (text, hashes) in texts.iter().zip(hashes) {
                let words = ActionWords::of(text.kind, text.target, text.payload.as_bytes());
                let salt = salt(&seed, text.index);
                let authority = chain::authority_of_hash(&signature, &salt);
                assert_eq!(hashes.action, words.action_hash(&salt));
                assert_eq!(hashes.content, chain::content(&words, &signer, &authority));
            }
        }
    }
}
