//! Request signatures (docs/PROTOCOL.md, layer 1), and the ids of a request's actions in the log (layer 2).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::chain;
use kedge_protocol::hash::{Hash, keccak};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::{Signature, SigningKey};

use crate::error::{ClientError, ClientResult};

/// Minimum time between sending a signature and its deadline, in seconds.
const DEADLINE_MARGIN_S: u64 = 5;

/// An action in its signed form.
#[derive(Clone, Debug)]
pub struct SignableAction<'a> {
    /// Kind of the action.
    pub kind: &'a Kind,
    /// Target; may be empty.
    pub target: &'a str,
    /// Exact bytes of the payload.
    pub payload: &'a [u8],
}

/// Signing parameters of a request.
#[derive(Clone, Debug)]
pub struct RequestTerms<'a> {
    /// Key that signs.
    pub key: &'a SigningKey,
    /// Separator of the log's domain.
    pub domain_separator: &'a Hash,
    /// Nonce, not yet spent by this key.
    pub nonce: u64,
    /// Deadline, Unix seconds; the log refuses the request after it.
    pub deadline_s: u64,
    /// Whether one refused action refuses all.
    pub atomic: bool,
    /// Random seed of the salts, new for each request.
    pub seed: Hash,
}

/// A signed request: its headers, and the content hashes of its actions.
#[derive(Clone, Debug)]
pub struct SignedRequest {
    /// Signer, nonce, deadline and atomicity.
    pub head: RequestHead,
    /// Seed of the salts.
    pub seed: Hash,
    /// Signed digest.
    pub digest: Hash,
    /// Signature of the digest.
    pub signature: Signature,
    /// Content hash of each action, in request order.
    pub contents: Vec<Hash>,
}

impl SignedRequest {
    /// The five HTTP headers of a signed request.
    pub fn headers(&self) -> [(&'static str, String); 5] {
        [
            ("x-signature", self.signature.to_string()),
            ("x-signature-address", self.head.signer.to_string()),
            ("x-signature-nonce", self.head.nonce.to_string()),
            ("x-signature-deadline", self.head.deadline_s.to_string()),
            ("x-signature-salt", self.seed.to_string()),
        ]
    }
}

impl SignedRequest {
    /// Whether the deadline is too close to send the request.
    pub(crate) fn expires(&self) -> bool {
        self.head.deadline_s < unix_now_s() + DEADLINE_MARGIN_S
    }
}

/// Signs a request of 1 to 500 actions.
pub fn sign(
    terms: &RequestTerms<'_>,
    actions: &[SignableAction<'_>],
) -> ClientResult<SignedRequest> {
    if actions.is_empty() || actions.len() > BATCH_ACTIONS_MAX {
        return Err(ClientError::Usage(format!(
            "a request has 1 to {BATCH_ACTIONS_MAX} actions, not {}",
            actions.len()
        )));
    }
    let words: Vec<ActionWords> = actions
        .iter()
        .map(|action| ActionWords::of(action.kind, action.target, action.payload))
        .collect();
    let salts: Vec<Hash> = (0..actions.len())
        .map(|index| salt(&terms.seed, index as u16))
        .collect();
    let action_hashes: Vec<Hash> = words
        .iter()
        .zip(&salts)
        .map(|(words, salt)| words.action_hash(salt))
        .collect();
    let head = RequestHead {
        signer: terms.key.address(),
        nonce: terms.nonce,
        deadline_s: terms.deadline_s,
        atomic: terms.atomic,
    };
    let digest = head.digest(terms.domain_separator, &action_hashes);
    let signature = terms.key.sign(&digest);
    let signature_hash = keccak(&signature.0);
    let contents = words
        .iter()
        .zip(&salts)
        .map(|(words, salt)| {
            let authority = chain::authority_of_hash(&signature_hash, salt);
            chain::content(words, &head.signer, &authority)
        })
        .collect();
    Ok(SignedRequest {
        head,
        seed: terms.seed,
        digest,
        signature,
        contents,
    })
}

/// Current time, seconds since the Unix epoch.
pub fn unix_now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Deadline `ahead` of the current time, in Unix seconds.
pub fn deadline_in(ahead: Duration) -> u64 {
    unix_now_s().saturating_add(ahead.as_secs())
}

#[cfg(test)]
mod tests {
    use kedge_protocol::eip712::Domain;
    use serde_json::Value;

    use super::*;

    fn text<'a>(value: &'a Value, member: &str) -> &'a str {
        value[member].as_str().unwrap()
    }

    /// Signs the requests of the test vectors again, from their texts.
    #[test]
    fn signatures_and_contents_are_the_vectors() {
        let source = include_str!("../../../crates/protocol/vectors/chain.json");
        let vectors: Value = serde_json::from_str(source).unwrap();
        let domain = Domain {
            chain_id: text(&vectors["domain"], "chainId").parse().unwrap(),
            verifying_contract: text(&vectors["domain"], "verifyingContract")
                .parse()
                .unwrap(),
        };
        let separator = domain.separator();
        let requests = vectors["requests"].as_array().unwrap();
        for (number, request) in requests.iter().enumerate() {
            let signer = &vectors["keys"][text(request, "signer")];
            let secret = kedge_protocol::hash::from_hex(text(signer, "private")).unwrap();
            let message = &request["message"];
            let actions = message["actions"].as_array().unwrap();
            let kinds: Vec<Option<Kind>> = actions
                .iter()
                .map(|a| Kind::of_text(text(a, "kind")))
                .collect();
            if kinds.iter().any(Option::is_none) {
                continue; // a kind without an endpoint yet
            }
            let texts: Vec<SignableAction<'_>> = actions
                .iter()
                .zip(&kinds)
                .map(|(action, kind)| SignableAction {
                    kind: kind.as_ref().unwrap(),
                    target: text(action, "target"),
                    payload: text(action, "payload").as_bytes(),
                })
                .collect();
            let terms = RequestTerms {
                key: &SigningKey::from_bytes(&secret).unwrap(),
                domain_separator: &separator,
                nonce: text(message, "nonce").parse().unwrap(),
                deadline_s: text(message, "deadline").parse().unwrap(),
                atomic: message["atomic"].as_bool().unwrap(),
                seed: text(request, "salt_seed").parse().unwrap(),
            };
            let signed = sign(&terms, &texts).unwrap();
            assert_eq!(signed.signature.to_string(), text(request, "signature"));
            let records = vectors["records"].as_array().unwrap();
            for record in records.iter().filter(|r| r["request"] == number) {
                let index = record["index"].as_u64().unwrap() as usize;
                assert_eq!(signed.contents[index].to_string(), text(record, "content"));
            }
        }
    }

    #[test]
    fn no_action_and_501_are_refused() {
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let terms = RequestTerms {
            key: &key,
            domain_separator: &Hash::ZERO,
            nonce: 1,
            deadline_s: 2,
            atomic: false,
            seed: Hash::ZERO,
        };
        let action = SignableAction {
            kind: &Kind::Lock,
            target: "",
            payload: b"{}",
        };
        assert!(matches!(sign(&terms, &[]), Err(ClientError::Usage(_))));
        assert!(sign(&terms, &vec![action.clone(); 500]).is_ok());
        assert!(matches!(
            sign(&terms, &vec![action; 501]),
            Err(ClientError::Usage(_))
        ));
    }
}
