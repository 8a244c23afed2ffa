//! Request signing for callers.

use std::time::{Duration, Instant};

use kedge_actors::{ExpectedVersion, Principal, Submission, SubmittedAction};
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::chain;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};

use crate::plan::Violation;

/// Domain of the log.
pub(crate) const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};

/// Time that a caller waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A key derived from one byte.
pub(crate) fn key(byte: u8) -> Result<SigningKey, Violation> {
    SigningKey::from_bytes(&[byte; 32]).map_err(|error| Violation::new("a key", error))
}

/// An action to sign: kind, target, payload.
#[derive(Clone, Debug)]
pub(crate) struct ActionOrder {
    pub(crate) kind: &'static str,
    pub(crate) target: String,
    pub(crate) payload: String,
}

/// Required state of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectCondition {
    pub(crate) object: Id,
    pub(crate) expected: ExpectedVersion,
}

#[derive(Clone)]
pub(crate) struct SignedOrder {
    submission: Submission,
    /// Content hashes of the actions, in order.
    pub(crate) contents: Vec<Hash>,
    pub(crate) only_if: Option<ObjectCondition>,
}

impl SignedOrder {
    pub(crate) fn head(&self) -> &RequestHead {
        &self.submission.head
    }

    pub(crate) fn digest(&self) -> Hash {
        self.submission.digest
    }

    /// The submission of a caller that waits until `expires_at`.
    pub(crate) fn submission(&self, asker: Principal, expires_at: Instant) -> Submission {
        Submission {
            asker,
            expires_at,
            ..self.submission.clone()
        }
    }
}

/// Signing parameters of a request.
#[derive(Clone, Copy)]
pub(crate) struct OrderTerms {
    pub(crate) nonce: u64,
    pub(crate) atomic: bool,
    pub(crate) deadline_s: u64,
    pub(crate) only_if: Option<ObjectCondition>,
}

/// Signs a request as an SDK does.
pub(crate) fn sign(
    key: &SigningKey,
    terms: OrderTerms,
    orders: &[ActionOrder],
) -> Result<SignedOrder, Violation> {
    let head = RequestHead {
        signer: key.address(),
        nonce: terms.nonce,
        deadline_s: terms.deadline_s,
        atomic: terms.atomic,
    };
    let mut text = String::new();
    let mut push = |part: &str| {
        let start = text.len();
        text.push_str(part);
        start..text.len()
    };
    let described = format!("{orders:?}");
    let seed = keccak(
        &[
            &head.signer.0[..],
            &terms.nonce.to_be_bytes(),
            described.as_bytes(),
        ]
        .concat(),
    );
    let (mut actions, mut words) = (Vec::new(), Vec::new());
    for (index, order) in orders.iter().enumerate() {
        let kind =
            Kind::of_text(order.kind).ok_or_else(|| Violation::new("no such kind", order.kind))?;
        let of_action = ActionWords::of(&kind, &order.target, order.payload.as_bytes());
        let salt = salt(&seed, index as u16);
        words.push((of_action, salt));
        actions.push(SubmittedAction {
            kind,
            target: push(&order.target),
            payload: push(&order.payload),
            disclosed: None,
            action_hash: of_action.action_hash(&salt),
            content: Hash::ZERO,
        });
    }
    let hashes: Vec<Hash> = actions.iter().map(|action| action.action_hash).collect();
    let digest = head.digest(&DOMAIN.separator(), &hashes);
    let signature = key.sign(&digest);
    for (action, (words, salt)) in actions.iter_mut().zip(&words) {
        let authority = chain::authority(&signature, salt);
        action.content = chain::content(words, &head.signer, &authority);
    }
    let contents = actions.iter().map(|action| action.content).collect();
    let submission = Submission {
        asker: Principal::Registration,
        head,
        signature,
        digest,
        salt_seed: seed,
        text,
        actions,
        secret: None,
        expected: terms.only_if.map(|only_if| vec![only_if.expected]),
        keep: None,
        expires_at: tokio::time::Instant::now().into_std(),
        timing: None,
    };
    Ok(SignedOrder {
        submission,
        contents,
        only_if: terms.only_if,
    })
}
