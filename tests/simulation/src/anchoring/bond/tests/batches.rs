//! Batches of signed actions, and answers to challenges of them.

use kedge_chain::contract::bond::answer_action_calldata;
use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{LogLeaf, authority, content};
use kedge_protocol::evidence::ActionOpening;
use kedge_protocol::hash::keccak;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash};

/// Order of the group; order minus s gives the other form of a signature.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// An action and its request.
pub(super) struct Action {
    pub(super) leaf: LogLeaf,
    opening: ActionOpening,
}

/// A batch with its actions.
pub(super) struct Batch {
    pub(super) header: BatchHeader,
    pub(super) actions: Vec<Action>,
    pub(super) leaves: Vec<Hash>,
    domain: Hash,
}

fn signer() -> SigningKey {
    SigningKey::from_bytes(&[0x51; 32]).unwrap()
}

/// One of a request's two actions.
fn action(sequence: u64, domain: &Hash) -> Action {
    let part = |name: &str| keccak(format!("{name} {sequence}").as_bytes());
    let (words, salt) = (
        ActionWords {
            kind: keccak(b"mint"),
            target: part("target"),
            payload: part("payload"),
        },
        part("salt"),
    );
    let head = RequestHead {
        signer: signer().address(),
        nonce: sequence,
        deadline_s: 10 * sequence,
        atomic: sequence.is_multiple_of(2),
    };
    let action_hashes = vec![part("another"), words.action_hash(&salt)];
    let signature = signer().sign(&head.digest(domain, &action_hashes));
    let opening = ActionOpening {
        words,
        salt,
        head,
        index: 1,
        action_hashes,
        signature,
    };
    let leaf = leaf(sequence, 10_000 * sequence, &opening);
    Action { leaf, opening }
}

fn leaf(sequence: u64, timestamp_ms: u64, opening: &ActionOpening) -> LogLeaf {
    let authority = authority(&opening.signature, &opening.salt);
    LogLeaf {
        sequence,
        timestamp_ms,
        content: content(&opening.words, &opening.head.signer, &authority),
        integrity: keccak(&sequence.to_be_bytes()),
    }
}

impl Batch {
    pub(super) fn new(number: u64, domain: &Hash) -> Self {
        let (first_sequence, count) = (10 * number + 1, 1 + number % 5);
        let sequences = first_sequence..first_sequence + count;
        let actions: Vec<Action> = sequences.map(|sequence| action(sequence, domain)).collect();
        let leaves: Vec<Hash> = actions.iter().map(|action| action.leaf.hash()).collect();
        let header = BatchHeader {
            number,
            first_sequence,
            count: leaves.len() as u32,
            previous_head: Hash([1; 32]),
            head: keccak(&(number + 1).to_be_bytes()),
            root: BatchTree::new(&leaves).root(),
            history: Hash([2; 32]),
            state: Hash::ZERO,
            sealed_at_ms: 1_000 * number,
        };
        Self {
            header,
            actions,
            leaves,
            domain: *domain,
        }
    }

    /// Proves that an action was requested, or tries to in an invalid way. If the request is invalid, its leaf matches
    /// it, as that of an operator who invented both.
    pub(super) fn answer(&self, index: usize, way: u64) -> Vec<u8> {
        let action = &self.actions[index];
        let (mut leaf, mut opening) = (action.leaf, action.opening.clone());
        match way {
            0 => opening.salt = Hash::ZERO,
            1 => opening.index = 0,
            2 => opening.index = 2,
            3 => opening.action_hashes = vec![Hash::ZERO; 501],
            4 => leaf.content = Hash::ZERO,
            5 => leaf.timestamp_ms += 1,
            6 => opening.head.signer = Address([7; 20]),
            7 => {
                let digest = opening.head.digest(&self.domain, &opening.action_hashes);
                let other = SigningKey::from_bytes(&[0x52; 32]).unwrap();
                opening.signature = other.sign(&digest);
            }
            8 => opening.signature.0[64] = 1,
            9 => opening.signature = in_the_other_form(opening.signature),
            _ => {}
        }
        if (6..10).contains(&way) {
            leaf = self::leaf(leaf.sequence, leaf.timestamp_ms, &opening);
        }
        answer_action_calldata(self.header.hash(), &leaf, &opening)
    }
}

/// The same signature with s in the upper half.
fn in_the_other_form(mut signature: Signature) -> Signature {
    let mut borrow = 0;
    for index in (0..32).rev() {
        let left = i16::from(ORDER[index]) - i16::from(signature.0[32 + index]) - borrow;
        borrow = i16::from(left < 0);
        signature.0[32 + index] = (left + 256 * borrow) as u8;
    }
    signature
}
