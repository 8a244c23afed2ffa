//! A hidden word cannot be guessed. An attacker knows everything of a request but the salt of one action, whose payload
//! is one bit: kind, target, signer, nonce, deadline, the signature, the neighbour with its salt, the hashes of all
//! actions, and the published leaf with its content. Only the salt, or the seed of the salts, reveals which bit it is.

use kedge_protocol::Hash;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{keccak, keccak_parts, sha256};
use kedge_protocol::signature::{Signature, SigningKey};

const BITS: [&str; 2] = ["0", "1"];
const TARGET: &str = "obj_4e0hc1syk28xe6n56twwn7yswx";
const NEIGHBOUR: &str = r#"{"known":true}"#;

fn words(payload: &str) -> ActionWords {
    ActionWords::of(&Kind::Emit, TARGET, payload.as_bytes())
}

/// Values that are published or shown in the neighbour's authorship proof.
struct Known {
    head: RequestHead,
    separator: Hash,
    signature: Signature,
    action_hashes: [Hash; 2],
    neighbour_salt: Hash,
    /// Preimage of the hidden action's leaf.
    leaf: LogLeaf,
    published: Hash,
    previous_integrity: Hash,
}

fn request(bit: &str, seed: &Hash) -> Known {
    let key = SigningKey::from_bytes(&[0xa1; 32]).unwrap();
    let domain = Domain {
        chain_id: 31_337,
        verifying_contract: key.address(),
    };
    let head = RequestHead {
        signer: key.address(),
        nonce: 7,
        deadline_s: 1_800_000_000,
        atomic: false,
    };
    let action_hashes = [
        words(bit).action_hash(&salt(seed, 0)),
        words(NEIGHBOUR).action_hash(&salt(seed, 1)),
    ];
    let separator = domain.separator();
    let signature = key.sign(&head.digest(&separator, &action_hashes));
    let authority = chain::authority(&signature, &salt(seed, 0));
    let content = chain::content(&words(bit), &head.signer, &authority);
    let previous_integrity = keccak(b"before");
    let leaf = LogLeaf {
        sequence: 9,
        timestamp_ms: 1_790_000_000_000,
        content,
        integrity: chain::next_integrity(&previous_integrity, &content),
    };
    Known {
        head,
        separator,
        signature,
        action_hashes,
        neighbour_salt: salt(seed, 1),
        published: leaf.hash(),
        leaf,
        previous_integrity,
    }
}

impl Known {
    /// The bits that fit everything known, if `guess` were the hidden action's salt.
    fn bits_with(&self, guess: &Hash) -> Vec<&'static str> {
        let fits = |bit: &str| {
            let words = words(bit);
            let authority = chain::authority(&self.signature, guess);
            let content = chain::content(&words, &self.head.signer, &authority);
            let leaf = LogLeaf {
                content,
                integrity: chain::next_integrity(&self.previous_integrity, &content),
                ..self.leaf
            };
            words.action_hash(guess) == self.action_hashes[0]
                || content == self.leaf.content
                || leaf.hash() == self.published
        };
        BITS.into_iter().filter(|bit| fits(bit)).collect()
    }

    /// All guesses that an attacker can compute: each known value, and hashes of one and of two of them.
    fn guesses(&self) -> Vec<Hash> {
        let signature_hash = keccak(&self.signature.0);
        let digest = self.head.digest(&self.separator, &self.action_hashes);
        let known = [
            Hash::ZERO,
            self.neighbour_salt,
            signature_hash,
            chain::authority(&self.signature, &self.neighbour_salt),
            digest,
            self.separator,
            self.action_hashes[0],
            self.action_hashes[1],
            self.leaf.content,
            self.leaf.integrity,
            self.published,
            self.previous_integrity,
            words("0").action_hash(&self.neighbour_salt),
            words("1").action_hash(&self.neighbour_salt),
        ];
        let mut guesses = known.to_vec();
        for one in known {
            guesses.extend([keccak(&one.0), sha256(&one.0), salt(&one, 0), salt(&one, 1)]);
            guesses.extend(known.map(|other| keccak_parts(&[&one.0, &other.0])));
        }
        guesses
    }
}

#[test]
fn one_bit_stays_hidden_without_its_salt() {
    for bit in BITS {
        let seed = keccak(bit.as_bytes());
        let known = request(bit, &seed);
        // The neighbour's proof holds, and its salt is real.
        let neighbour = words(NEIGHBOUR).action_hash(&known.neighbour_salt);
        assert_eq!(neighbour, known.action_hashes[1]);
        let digest = known.head.digest(&known.separator, &known.action_hashes);
        assert_eq!(known.signature.recover(&digest), Ok(known.head.signer));

        for guess in known.guesses() {
            assert_eq!(known.bits_with(&guess), Vec::<&str>::new(), "{guess}");
        }
        // With the salt, or the seed, the test finds the bit, so it can detect a leak.
        assert_eq!(known.bits_with(&salt(&seed, 0)), [bit]);
    }
}
