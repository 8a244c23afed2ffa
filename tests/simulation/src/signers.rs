//! State of callers, with one node or several: signers, known resources, and recording of outcomes.

use kedge_actors::{ActionOutcome, Engine, Principal, SubmissionError, SubmissionOutcome};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Id, Prefix};
use parking_lot::Mutex;

use crate::client::{self, ActionOrder, OrderTerms, SignedOrder};
use crate::plan::Violation;
use crate::random::SimulationRandom;

/// A signer, and its next unused nonce.
struct NonceSigner {
    key: SigningKey,
    nonce: u64,
}

pub(crate) struct SignerPool(Mutex<Vec<NonceSigner>>);

impl SignerPool {
    pub(crate) fn new(count: u8) -> Result<Self, Violation> {
        let signer = |number| client::key(number + 1).map(|key| NonceSigner { key, nonce: 1 });
        let signers: Result<Vec<_>, _> = (0..count).map(signer).collect();
        Ok(Self(Mutex::new(signers?)))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// The signer's wallet, once it is registered.
    pub(crate) fn asker(&self, engine: &Engine, signer: usize) -> Result<Principal, Violation> {
        let address = self.0.lock()[signer].key.address();
        let wallet = engine.published().snapshot.wallet_by_address(address);
        let wallet = wallet.map_err(|error| Violation::new("a wallet cannot be read", error))?;
        Ok(
            wallet.map_or(Principal::Registration, |wallet| Principal::Wallet {
                wallet_id: wallet.id,
                organization_id: wallet.organization_id,
            }),
        )
    }

    pub(crate) fn registration(&self, signer: usize) -> ActionOrder {
        let address = self.0.lock()[signer].key.address();
        ActionOrder {
            kind: "wallet.register",
            target: String::new(),
            payload: format!(r#"{{"email":"user{signer}@example.com","address":"{address}"}}"#),
        }
    }

    /// Signs with a nonce that the signer used, or with its next one.
    pub(crate) fn sign(
        &self,
        signer: usize,
        used: Option<u64>,
        terms: impl FnOnce(u64) -> OrderTerms,
        orders: &[ActionOrder],
    ) -> Result<SignedOrder, Violation> {
        let mut signers = self.0.lock();
        let signer = &mut signers[signer];
        let nonce = used.unwrap_or(signer.nonce);
        signer.nonce += u64::from(used.is_none());
        client::sign(&signer.key, terms(nonce), orders)
    }
}

/// Objects and templates known to callers, and sent requests.
#[derive(Default)]
pub(crate) struct KnownResources {
    pub(crate) objects: Vec<(Id, Id)>,
    pub(crate) templates: Vec<Id>,
    pub(crate) sent: Vec<(usize, SignedOrder)>,
}

impl KnownResources {
    /// Keeps a request for sending it again later, among at most `kept_max`.
    pub(crate) fn keep(
        &mut self,
        (signer, signed): (usize, &SignedOrder),
        kept_max: usize,
        random: &mut SimulationRandom,
    ) {
        if self.sent.len() == kept_max {
            let index = random.below(kept_max as u64) as usize;
            self.sent.remove(index);
        }
        self.sent.push((signer, signed.clone()));
    }

    /// Learns new templates, and new objects of the caller, from an answer.
    pub(crate) fn learn(&mut self, committed: &SubmissionOutcome, asker: Principal) {
        for action in &committed.actions {
            let ActionOutcome::Done(done) = action else {
                continue;
            };
            match (done.resource.prefix, asker) {
                (Prefix::Template, _) if done.version == 1 => self.templates.push(done.resource),
                (Prefix::Object, Principal::Wallet { wallet_id, .. }) if done.version == 1 => {
                    self.objects.push((done.resource, wallet_id));
                }
                _ => {}
            }
        }
    }

    /// The last few templates.
    pub(crate) fn newest(&self) -> &[Id] {
        &self.templates[self.templates.len().saturating_sub(3)..]
    }

    pub(crate) fn of(&self, owner: Id) -> Vec<Id> {
        let objects = self.objects.iter().filter(|(_, of)| *of == owner);
        objects.map(|(id, _)| *id).collect()
    }
}

/// A caller's outcome for the trace: its kind, and the sequence.
pub(crate) fn outcome(result: &Result<SubmissionOutcome, SubmissionError>) -> (String, u64) {
    match result {
        Ok(committed) => match &committed.placement {
            Some(placement) => ("done".to_owned(), placement.first_sequence),
            None => ("refused".to_owned(), 0),
        },
        Err(error) => {
            let text = format!("{error:?}");
            let end = text.find(|of: char| !of.is_alphanumeric());
            (text[..end.unwrap_or(text.len())].to_owned(), 0)
        }
    }
}

/// Turns a refusal of a request that must be done into a violation.
pub(crate) fn must(
    engine: &Engine,
    kind: &str,
    result: Option<Result<SubmissionOutcome, SubmissionError>>,
) -> Result<SubmissionOutcome, Violation> {
    match result {
        Some(Ok(committed)) => Ok(committed),
        other => {
            let what = other.map(Result::err);
            let failure = engine.failure().reason();
            Err(Violation::new(
                "nothing is wrong any more, but a request is not carried out",
                format!("{kind}: {what:?}, the engine: {failure:?}"),
            ))
        }
    }
}

/// Checks that an action answered as done can be read immediately.
pub(crate) fn is_published(
    engine: &Engine,
    committed: &SubmissionOutcome,
) -> Result<(), Violation> {
    match &committed.placement {
        Some(placement) if engine.published().head.sequence < placement.first_sequence => {
            let what = "an answer before its rows, sequence";
            Err(Violation::new(what, placement.first_sequence))
        }
        _ => Ok(()),
    }
}

pub(crate) fn template(random: &mut SimulationRandom) -> ActionOrder {
    let supply = match random.below(2) {
        0 => format!(r#","max_supply":{}"#, 1 + random.below(12)),
        _ => String::new(),
    };
    let name = random.next();
    ActionOrder {
        kind: "template.create",
        target: String::new(),
        payload: format!(
            r#"{{"name":"t{name:x}"{supply},"public_access":true,"actions":[{{"kind":"mint","who":"anyone"}}]}}"#
        ),
    }
}

pub(crate) fn minting(template: Id) -> ActionOrder {
    ActionOrder {
        kind: "mint",
        target: template.to_string(),
        payload: "{}".to_owned(),
    }
}

pub(crate) fn update(object: Id, value: u64) -> ActionOrder {
    ActionOrder {
        kind: "update",
        target: object.to_string(),
        payload: format!(r#"{{"properties":{{"k{}":{value}}}}}"#, value % 5),
    }
}
