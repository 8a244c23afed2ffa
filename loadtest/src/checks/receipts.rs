//! Verification of receipts against the sent requests.

use kedge_client::sign::{RequestTerms, SignableAction, SignedRequest, sign};
use kedge_client::{Client, VerificationError};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::{Hash, Id, Prefix, SequencerKeys};
use serde::{Deserialize, Serialize};

use crate::error::{LoadtestError, LoadtestResult};
use crate::load::workload::Workload;

/// An answer to verify, with the parameters that rebuild its request.
pub(crate) struct AnswerSample {
    pub(crate) number: u64,
    pub(crate) seed: Hash,
    pub(crate) body: Vec<u8>,
}

/// The trusted log: its domain, and the keys that sign its batches.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ReceiptTrust {
    pub(crate) domain: Domain,
    pub(crate) keys: SequencerKeys,
}

impl ReceiptTrust {
    /// The current trust of a client.
    pub(crate) fn of(client: &Client) -> Self {
        Self {
            domain: client.domain(),
            keys: client.sequencer_keys(),
        }
    }
}

/// Positions in the log proven by a valid receipt.
#[derive(Debug)]
pub(crate) struct ReceiptPositions {
    /// Number and hash of the signed header.
    pub(crate) batch: (u64, Hash),
    /// Sequence and leaf of the first, the middle and the last action.
    pub(crate) leaves: Vec<(u64, Hash)>,
}

#[derive(Deserialize)]
struct SingleAnswer {
    id: Id,
    /// Only in the answer to a change of an object.
    action_id: Option<Id>,
    receipt: Receipt,
}

#[derive(Deserialize)]
struct ManyAnswer {
    results: Vec<ManyResult>,
    receipt: BatchReceipt,
}

#[derive(Deserialize)]
struct ManyResult {
    sequence: Option<u64>,
}

pub(crate) fn check(
    workload: &Workload,
    trust: &ReceiptTrust,
    sample: &AnswerSample,
) -> LoadtestResult<ReceiptPositions> {
    let signed = sign_again(workload, trust, sample)?;
    if signed.contents.len() > 1 {
        open_many(trust, &signed, &sample.body)
    } else {
        open_single(trust, &signed, &sample.body)
    }
}

/// Signs the request again. Signatures are deterministic, so this yields the contents, which were not stored.
fn sign_again(
    workload: &Workload,
    trust: &ReceiptTrust,
    sample: &AnswerSample,
) -> LoadtestResult<SignedRequest> {
    let texts = workload.texts(sample.number);
    let targets: Vec<String> = texts.iter().map(|(target, _)| target.to_string()).collect();
    let kind = workload.kind();
    let actions: Vec<SignableAction<'_>> = texts
        .iter()
        .zip(&targets)
        .map(|((_, payload), target)| SignableAction {
            kind: &kind,
            target,
            payload: payload.as_bytes(),
        })
        .collect();
    let head = workload.head(sample.number);
    let organization = workload.organization_of(sample.number);
    let terms = RequestTerms {
        key: &workload.organizations[organization].key,
        domain_separator: &trust.domain.separator(),
        nonce: head.nonce,
        deadline_s: head.deadline_s,
        atomic: head.atomic,
        seed: sample.seed,
    };
    sign(&terms, &actions).map_err(LoadtestError::at("signing"))
}

fn open_single(
    trust: &ReceiptTrust,
    signed: &SignedRequest,
    body: &[u8],
) -> LoadtestResult<ReceiptPositions> {
    let SingleAnswer {
        id,
        action_id,
        receipt,
    } = read(body)?;
    let content = signed.contents[0];
    let verified = receipt.verify(&trust.domain, &trust.keys);
    verified.map_err(not_verified)?;
    let id = action_id.unwrap_or(id);
    if receipt.leaf.content != content || id != Id::of_hash(Prefix::Action, &content) {
        return wrong("the receipt is for another action");
    }
    let leaf = receipt.leaf.hash().map_err(not_verified)?;
    let header = &receipt.batch.header;
    Ok(ReceiptPositions {
        batch: (header.number, header.hash()),
        leaves: vec![(receipt.leaf.sequence, leaf)],
    })
}

fn open_many(
    trust: &ReceiptTrust,
    signed: &SignedRequest,
    body: &[u8],
) -> LoadtestResult<ReceiptPositions> {
    let ManyAnswer { results, receipt } = read(body)?;
    let reported = results.iter().filter_map(|result| result.sequence);
    let proven = receipt.actions.iter().map(|action| action.sequence);
    if results.len() != signed.contents.len() || !reported.eq(proven) {
        return wrong("the receipt does not match the actions that were done");
    }
    let contents: Option<Vec<Hash>> = receipt
        .actions
        .iter()
        .map(|action| signed.contents.get(action.index as usize).copied())
        .collect();
    let Some(contents) = contents else {
        return wrong("the receipt names an action that was not sent");
    };
    let verified = receipt.verify(&trust.domain, &trust.keys, &contents);
    verified.map_err(not_verified)?;
    let last = receipt.actions.len().saturating_sub(1);
    let mut chosen = vec![0, last / 2, last];
    chosen.dedup();
    let place = |index: usize| {
        let (action, content) = (&receipt.actions[index], contents[index]);
        let leaf = LogLeaf {
            sequence: action.sequence,
            timestamp_ms: action.timestamp_ms,
            content,
            integrity: chain::next_integrity(&action.previous_integrity, &content),
        };
        (action.sequence, leaf.hash())
    };
    let header = &receipt.batch.header;
    Ok(ReceiptPositions {
        batch: (header.number, header.hash()),
        leaves: chosen.into_iter().map(place).collect(),
    })
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> LoadtestResult<T> {
    serde_json::from_slice(body)
        .map_err(|error| LoadtestError::answer(format_args!("the answer cannot be read: {error}")))
}

fn wrong<T>(why: &str) -> LoadtestResult<T> {
    Err(LoadtestError::answer(why))
}

fn not_verified(error: impl Into<VerificationError>) -> LoadtestError {
    let error: VerificationError = error.into();
    LoadtestError::answer(format_args!("the receipt does not verify: {error}"))
}

#[cfg(test)]
mod tests {
    use kedge_protocol::KeyActivation;
    use kedge_protocol::batch::BatchHeader;
    use kedge_protocol::merkle::BatchTree;
    use kedge_protocol::receipt::{RECEIPT_VERSION, ReceiptLeaf};
    use kedge_protocol::signature::SigningKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::load::workload::tests::workload;

    fn sequencer() -> SigningKey {
        SigningKey::from_bytes(&[9; 32]).unwrap()
    }

    fn trust() -> ReceiptTrust {
        ReceiptTrust {
            domain: Domain {
                chain_id: 31337,
                verifying_contract: sequencer().address(),
            },
            keys: sequencer().address().into(),
        }
    }

    /// A server's answer to request 3, as JSON, from batch number `batch`.
    fn answer(workload: &Workload, sample: &AnswerSample, batch: u64) -> Value {
        let signed = sign_again(workload, &trust(), sample).unwrap();
        let content = signed.contents[0];
        let leaf = ReceiptLeaf {
            sequence: 1,
            timestamp_ms: 5,
            content,
            previous_integrity: Hash::ZERO,
            integrity: chain::next_integrity(&Hash::ZERO, &content),
        };
        let hash = leaf.hash().unwrap();
        let separator = trust().domain.separator();
        let header = BatchHeader {
            number: batch,
            first_sequence: 1,
            count: 1,
            previous_head: separator,
            head: chain::next_head(&separator, &hash),
            root: BatchTree::new(&[hash]).root(),
            history: Hash::ZERO,
            state: Hash::ZERO,
            sealed_at_ms: 6,
        };
        let receipt = Receipt {
            version: RECEIPT_VERSION,
            domain: trust().domain,
            leaf,
            leaf_index: 0,
            path: Vec::new(),
            batch: header.sign(&separator, &sequencer()),
        };
        json!({ "id": Id::of_hash(Prefix::Action, &content), "receipt": receipt })
    }

    /// The log's second key signs from batch 5 on.
    #[test]
    fn each_batch_has_its_own_key() {
        let workload = workload("single-updates", 2, 4);
        let mut sample = AnswerSample {
            number: 3,
            seed: Hash([7; 32]),
            body: Vec::new(),
        };
        let other = SigningKey::from_bytes(&[10; 32]).unwrap();
        let mut holds = |batch: u64, first: &SigningKey, second: &SigningKey| {
            let answer = answer(&workload, &sample, batch);
            sample.body = answer.to_string().into_bytes();
            let mut keys = SequencerKeys::from(first.address());
            let key = second.address();
            let from_batch = 5;
            keys.push(KeyActivation { key, from_batch }).unwrap();
            let trust = ReceiptTrust { keys, ..trust() };
            check(&workload, &trust, &sample).is_ok()
        };
        for (batch, is_first) in [(0, true), (4, true), (5, false), (6, false)] {
            assert_eq!(holds(batch, &sequencer(), &other), is_first, "{batch}");
            assert_eq!(holds(batch, &other, &sequencer()), !is_first, "{batch}");
        }
    }

    // Holds invariant 61.
    #[test]
    fn a_spoiled_receipt_is_found() {
        let workload = workload("single-updates", 2, 4);
        let mut sample = AnswerSample {
            number: 3,
            seed: Hash([7; 32]),
            body: Vec::new(),
        };
        let good = answer(&workload, &sample, 0);
        sample.body = good.to_string().into_bytes();
        let opened = check(&workload, &trust(), &sample).unwrap();
        assert_eq!(opened.leaves.len(), 1);

        let spoil: [fn(&mut Value); 5] = [
            |answer| answer["receipt"]["leaf"]["sequence"] = json!(2),
            |answer| answer["receipt"]["leaf"]["timestamp_ms"] = json!(4),
            |answer| answer["receipt"]["batch"]["header"]["sealed_at_ms"] = json!(7),
            |answer| answer["receipt"]["domain"]["chain_id"] = json!(1),
            |answer| answer["id"] = json!("act_7h8rh8fgrh07gkqn56z16p8nc6"),
        ];
        for spoil in spoil {
            let mut spoiled = good.clone();
            spoil(&mut spoiled);
            assert_ne!(spoiled, good);
            sample.body = spoiled.to_string().into_bytes();
            assert!(check(&workload, &trust(), &sample).is_err(), "{spoiled}");
        }
        // The answer does not fit another request.
        let other = AnswerSample {
            number: 4,
            seed: sample.seed,
            body: good.to_string().into_bytes(),
        };
        assert!(check(&workload, &trust(), &other).is_err());
    }
}
