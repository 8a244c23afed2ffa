//! Costs of claims: proving, verifying, and refusing a spoilt one. The action is one of a batch of 500.

use std::sync::LazyLock;

use divan::{AllocProfiler, Bencher};
use kedge_protocol::action::{ActionWords, Kind};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{LogLeaf, authority, content, next_integrity};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::proof::{BatchPath, OpenedAction, PROOF_VERSION, ProofFile};
use kedge_protocol::receipt::ReceiptLeaf;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{self, ClaimBinding, ClaimDisclosure, ClaimFile, DisclosureMask};
use kedge_prover::groth16::ProvingKey;
use kedge_prover::keys;
use mimalloc::MiMalloc;

/// The server's allocator, with its calls counted.
#[global_allocator]
static ALLOCATOR: AllocProfiler<MiMalloc> = AllocProfiler::new(MiMalloc);

const ACTIONS: u32 = 500;
const PLACE: u32 = 123;
const TIME_MS: u64 = 1_790_000_000_000;
const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([5; 20]),
};

/// A proving key and a claim, computed once.
static MADE: LazyLock<(ProvingKey, ClaimFile)> = LazyLock::new(|| {
    let key = keys::dev_insecure_proving().expect("the circuit's key");
    let claim = prove(&key);
    (key, claim)
});

fn main() {
    divan::main();
}

fn sequencer() -> SigningKey {
    SigningKey::from_bytes(&[9; 32]).expect("a key")
}

fn proof_file() -> ProofFile {
    let (kind, target) = (Kind::Update, "obj_7h8rh8fgrh07gkqn56z16p8nc6");
    let payload = r#"{"properties":{"seat":"12A","paid":"140.00 EUR"}}"#;
    let signer = Address([7; 20]);
    let signature = sequencer().sign(&keccak(b"a request"));
    let authority = authority(&signature, &Hash([3; 32]));
    let words = ActionWords::of(&kind, target, payload.as_bytes());
    let content = content(&words, &signer, &authority);
    let leaf = |place| LogLeaf {
        sequence: u64::from(place) + 1,
        timestamp_ms: TIME_MS,
        content,
        integrity: next_integrity(&Hash::ZERO, &content),
    };
    let leaves: Vec<LogLeaf> = (0..ACTIONS).map(leaf).collect();
    let tree = BatchTree::new(&LogLeaf::hash_each(&leaves));
    let header = BatchHeader {
        number: 0,
        first_sequence: 1,
        count: ACTIONS,
        previous_head: DOMAIN.separator(),
        head: Hash([1; 32]),
        root: tree.root(),
        history: Hash([2; 32]),
        state: Hash::ZERO,
        sealed_at_ms: TIME_MS,
    };
    ProofFile {
        version: PROOF_VERSION,
        domain: DOMAIN,
        sequencer: sequencer().address(),
        action: OpenedAction {
            kind: kind.text().to_owned(),
            target: target.to_owned(),
            payload: payload.to_owned(),
            signer,
            authority,
        },
        leaf: ReceiptLeaf {
            sequence: u64::from(PLACE) + 1,
            timestamp_ms: TIME_MS,
            content,
            previous_integrity: Hash::ZERO,
            integrity: next_integrity(&Hash::ZERO, &content),
        },
        inclusion: BatchPath {
            leaf_index: PLACE,
            path: tree.proof(&[PLACE as usize]),
        },
        batch: header.sign(&DOMAIN.separator(), &sequencer()),
        anchor: None,
        authorship: None,
    }
}

fn prove(key: &ProvingKey) -> ClaimFile {
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(0b0101).expect("kind and payload"),
        hashes_only: false,
    };
    let binding = ClaimBinding {
        resolver: Address([4; 20]),
        claimant: Address([6; 20]),
        purpose: Hash([8; 32]),
    };
    claim::prove(key, &proof_file(), choice, binding).expect("a true statement")
}

fn holds(claim: &ClaimFile) -> bool {
    claim::verify(claim, &DOMAIN, &sequencer().address(), keys::dev_insecure()).is_ok()
}

/// Computes the development key from its seed: what `--dev-insecure` adds to the proof.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn a_development_key(bencher: Bencher<'_, '_>) {
    bencher.bench(|| keys::dev_insecure_proving().expect("the circuit's key"));
}

/// Proves a claim, including wires and constraints.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn b_prove(bencher: Bencher<'_, '_>) {
    let (key, _) = &*MADE;
    bencher.bench(|| prove(key));
}

/// Verifies a valid claim: header signature, path and pairing.
#[divan::bench]
fn c_verify(bencher: Bencher<'_, '_>) {
    let (_, claim) = &*MADE;
    bencher.bench(|| assert!(holds(claim)));
}

/// Verifies the same claim, starting from its text.
#[divan::bench]
fn d_read_and_verify(bencher: Bencher<'_, '_>) {
    let text = serde_json::to_string(&MADE.1).expect("a text");
    bencher.bench(|| assert!(serde_json::from_str(&text).is_ok_and(|claim| holds(&claim))));
}

/// Refuses a claim with the proof of another statement: the most expensive refusal.
#[divan::bench]
fn e_refuse_a_proof(bencher: Bencher<'_, '_>) {
    let mut claim = MADE.1.clone();
    claim.binding.purpose = Hash([9; 32]);
    claim.public_inputs = claim.statement().inputs();
    bencher.bench(|| assert!(!holds(&claim)));
}

/// Refuses a claim whose proof consists of numbers that are not curve points.
#[divan::bench]
fn f_refuse_a_point(bencher: Bencher<'_, '_>) {
    let mut claim = MADE.1.clone();
    claim.proof.a[0] = Hash([0; 32]);
    bencher.bench(|| assert!(!holds(&claim)));
}
