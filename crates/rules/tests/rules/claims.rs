//! Verdicts on claims in a log: accepted and refused ones.

use kedge_protocol::action::Kind;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::claim::{
    CLAIM_FORMAT, CLAIM_VERSION, ClaimBinding, ClaimFile, ClaimLeaf, DisclosedText, DisclosedWords,
    INPUTS, ProofParts,
};
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{Evidence, EvidenceFile, HeaderEvidence};
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::BatchPath;
use kedge_protocol::resource::{Dispute, DisputeMatter};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::{OPERATOR, Refusal};

use crate::world::{Place, Words, action, request};

const ANN: Address = Address([7; 20]);
const BOB: Address = Address([8; 20]);
const OPERATORS: Address = Address([9; 20]);

/// A claim about the only action of a batch. Its proof is fake: a replay does not check it.
fn claim(claimant: Address, purpose: u8) -> ClaimFile {
    let key = SigningKey::from_bytes(&[5; 32]).unwrap();
    let domain = Domain {
        chain_id: 1_337,
        verifying_contract: Address([1; 20]),
    };
    let leaf = ClaimLeaf {
        sequence: 4,
        timestamp_ms: 40,
        content: keccak(b"content"),
        integrity: keccak(b"integrity"),
    };
    let root = LogLeaf {
        sequence: leaf.sequence,
        timestamp_ms: leaf.timestamp_ms,
        content: leaf.content,
        integrity: leaf.integrity,
    };
    let header = BatchHeader {
        number: 1,
        first_sequence: leaf.sequence,
        count: 1,
        previous_head: Hash::ZERO,
        head: Hash::ZERO,
        root: root.hash(),
        history: Hash::ZERO,
        state: Hash::ZERO,
        sealed_at_ms: leaf.timestamp_ms,
    };
    let mut file = ClaimFile {
        format: CLAIM_FORMAT.to_owned(),
        version: CLAIM_VERSION,
        domain,
        sequencer: key.address(),
        leaf,
        inclusion: BatchPath {
            leaf_index: 0,
            path: Vec::new(),
        },
        batch: header.sign(&domain.separator(), &key),
        anchor: None,
        binding: ClaimBinding {
            resolver: Address::ZERO,
            claimant,
            purpose: Hash([purpose; 32]),
        },
        disclosed: DisclosedWords {
            kind: Some(DisclosedText {
                hash: keccak(b"mint"),
                text: Some("mint".to_owned()),
            }),
            ..DisclosedWords::default()
        },
        key_hash: keccak(b"key"),
        public_inputs: [Hash::ZERO; INPUTS],
        proof: ProofParts {
            a: [Hash::ZERO; 2],
            b: [Hash::ZERO; 4],
            c: [Hash::ZERO; 2],
        },
    };
    file.public_inputs = file.statement().inputs();
    file
}

fn verdict(claim: &str) -> String {
    format!(r#"{{"kind":"claim","shown":"inclusion","claim":{claim}}}"#)
}

/// A log of two wallets, each in its own organization, and of the operator.
struct Log {
    state: FoldState,
    sequence: u64,
}

impl Log {
    fn new() -> Self {
        let mut log = Self {
            state: FoldState::new(vec![OPERATORS]),
            sequence: 0,
        };
        for (signer, email) in [(ANN, "ann@example.com"), (BOB, "bob@example.com")] {
            let payload = format!(r#"{{"email":"{email}","address":"{signer}"}}"#);
            let words = (Kind::WalletRegister, String::new(), payload);
            log.place(signer, None, words, Prefix::Wallet).unwrap();
        }
        log
    }

    fn organization(&self, of: Address) -> Id {
        let mut wallets = self.state.wallets.values();
        wallets
            .find(|wallet| wallet.address == of)
            .unwrap()
            .organization_id
    }

    fn place(
        &mut self,
        signer: Address,
        organization: Option<Id>,
        (kind, target, payload): (Kind, String, String),
        makes: Prefix,
    ) -> Result<Id, FoldError> {
        let next = self.sequence + 1;
        let mut record = request(signer, None, next, next);
        if let Some(organization_id) = organization {
            record.organization_id = organization_id;
            record.wallet_id = OPERATOR;
        }
        let words = Words {
            kind,
            target,
            payload,
        };
        record.actions.push(action(&words, 0, Place::none()));
        let place = Place {
            resource: Id::made_by(makes, &record.content(&record.actions[0]), 0),
            ..Place::none()
        };
        record.actions[0] = action(&words, 0, place);
        self.state.apply(&record)?;
        self.sequence = next;
        Ok(place.resource)
    }

    /// Decides a verdict on a claim of ann's organization.
    fn decide(&mut self, target: Id, payload: String) -> Result<Id, FoldError> {
        let words = (Kind::SystemVerdict, target.to_string(), payload);
        let organization = self.organization(ANN);
        self.place(OPERATORS, Some(organization), words, Prefix::Dispute)
    }

    fn refusal(&mut self, target: Id, payload: String) -> Refusal {
        match self.decide(target, payload) {
            Err(FoldError::Refused { refusal, .. }) => refusal,
            other => panic!("{other:?}"),
        }
    }
}

// Holds invariant 78.
#[test]
fn a_replay_takes_a_context_once() {
    let mut log = Log::new();
    let file = claim(ANN, 1);
    let text = file.normal_form().unwrap();
    let before = log.state.remembered();
    let id = log.decide(file.subject(), verdict(&text)).unwrap();
    // The dispute, its context, and the operator's nonces.
    assert_eq!(log.state.remembered(), before + 3);
    let dispute: &Dispute = (&log.state.others[&id]).try_into().unwrap();
    let context = file.statement().context;
    assert_eq!(dispute.matter, DisputeMatter::Claim { context });
    assert_eq!(dispute.subject_id, file.subject());

    let again = log.refusal(file.subject(), verdict(&text));
    assert!(matches!(again, Refusal::Conflict(_)), "{again:?}");
    let mut other = file.clone();
    other.proof.a[0] = Hash([1; 32]);
    let other = verdict(&other.normal_form().unwrap());
    let other = log.refusal(file.subject(), other);
    assert!(matches!(other, Refusal::Conflict(_)), "{other:?}");
    let next = claim(ANN, 2);
    let next_text = next.normal_form().unwrap();
    log.decide(next.subject(), verdict(&next_text)).unwrap();
    assert_eq!(log.state.remembered(), before + 5);
}

#[test]
fn a_verdict_is_on_a_claim_that_agrees_with_itself() {
    let mut log = Log::new();
    let file = claim(ANN, 1);
    let text = file.normal_form().unwrap();
    let subject = file.subject();
    let spelled = serde_json::to_string_pretty(&file).unwrap();
    let mut inputs = file.clone();
    inputs.public_inputs[3] = Hash::ZERO;
    let mut path = file.clone();
    path.leaf.timestamp_ms -= 1;
    let mut forged = file.clone();
    forged.sequencer = ANN;
    let bent = [inputs, path, forged].map(|file| file.normal_form().unwrap());
    for claim in bent.iter().chain([&spelled]) {
        let refused = log.refusal(subject, verdict(claim));
        let Refusal::Invalid(fields) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(fields[0].pointer, "/claim");
    }
    let other = Id::made_by(Prefix::Action, &Hash::ZERO, 0);
    let refused = log.refusal(other, verdict(&text));
    assert!(matches!(refused, Refusal::NotFound { .. }), "{refused:?}");
    // A claimant of another organization, and an unknown one.
    for claimant in [BOB, Address([3; 20])] {
        let file = claim(claimant, 1);
        let refused = log.refusal(file.subject(), verdict(&file.normal_form().unwrap()));
        assert!(matches!(refused, Refusal::Forbidden(_)), "{refused:?}");
    }
    assert!(log.state.others_of::<Dispute>().next().is_none());
    log.decide(subject, verdict(&text)).unwrap();
}

/// Evidence for a fault. The operator vouches that it shows one.
fn evidence() -> EvidenceFile {
    let claim = claim(ANN, 1);
    let batch = HeaderEvidence::signed(&claim.batch, 0);
    EvidenceFile::new(claim.domain, Evidence::BrokenHeader { batch })
}

fn fault_verdict(fault: &str, evidence: &str) -> String {
    format!(r#"{{"kind":"fault","fault":"{fault}","batch":1,"evidence":{evidence}}}"#)
}

#[test]
fn a_verdict_on_a_fault_is_about_its_evidence() {
    let mut log = Log::new();
    let file = evidence();
    let text = file.normal_form().unwrap();
    let subject = file.evidence.subject();
    let payload = fault_verdict("broken_header", &text);
    let id = log.decide(subject, payload.clone()).unwrap();
    let dispute: &Dispute = (&log.state.others[&id]).try_into().unwrap();
    let evidence_digest = EvidenceFile::digest_of(&text);
    assert_eq!(dispute.matter, DisputeMatter::Fault { evidence_digest });
    assert_eq!((dispute.subject_id, &dispute.verdict), (subject, &payload));
    assert_eq!(dispute.organization_id, log.organization(ANN));
    // Only claims are limited to one.
    assert_ne!(log.decide(subject, payload.clone()), Ok(id));

    let spelled = serde_json::to_string_pretty(&file).unwrap();
    for (payload, pointer) in [
        (fault_verdict("broken_link", &text), "/fault"),
        (fault_verdict("broken_header", &spelled), "/evidence"),
        (fault_verdict("broken_header", "{}"), "/evidence"),
        (fault_verdict("no_fault", &text), "/fault"),
        (payload.replace("\"batch\":1,", ""), "/batch"),
        (payload.replace("\"fault\"", "\"other\""), "/kind"),
        ("{}".to_owned(), "/kind"),
    ] {
        let refused = log.refusal(subject, payload);
        let Refusal::Invalid(fields) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(fields[0].pointer, pointer);
    }
    let other = Id::made_by(Prefix::Batch, &Hash::ZERO, 0);
    let refused = log.refusal(other, payload);
    assert_eq!(refused, Refusal::not_found("subject", &other));
}
