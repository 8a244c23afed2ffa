//! From a signed request to a submission: the signed texts, their hashes, and the check of the signature under this
//! log's domain. The EIP-712 digest is computed from the exact bytes received. Contents and authorities are hashed here
//! too, on the request's own task; texts longer than 256 KiB are hashed on a separate thread.

pub mod bus;
mod file;
mod headers;
pub mod names;
pub mod registration;
pub mod request;
pub mod scheme;
mod signers;
pub mod wallet;

use std::ops::Range;
use std::time::Instant;

use kedge_actors::api::{Principal, Submission, SubmittedAction};
use kedge_protocol::Code;
use kedge_protocol::Hash;
use kedge_protocol::action::{ActionTexts, Kind, RequestHead, hash_actions};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::possession::PossessionError;
use kedge_rules::FieldError;
use kedge_rules::resources::key_addition;

use crate::error::{ApiError, ApiResult, ErrorDetail};

use signers::SignerCache;

pub use headers::{ALL as HEADERS, SignatureHeaders};
pub use scheme::{PathMember, SigningScheme, TargetSource};

/// The texts of one action, as ranges of a request's text.
#[derive(Clone, Debug)]
pub struct SignedActionText {
    pub kind: Kind,
    pub target: Range<usize>,
    pub payload: Range<usize>,
    /// The disclosable part of a payload that is a digest.
    pub disclosed: Option<Range<usize>>,
}

/// The words of an action, as signed.
pub struct SignedWords<'a> {
    pub kind: &'a str,
    pub target: &'a str,
    pub payload: &'a str,
}

/// The texts that a request signs.
#[derive(Debug)]
pub struct SignedTexts {
    /// The text that the actions point into.
    pub text: String,
    pub actions: Vec<SignedActionText>,
    /// All or none.
    pub atomic: bool,
}

impl SignedTexts {
    /// The words of its actions, in order.
    pub fn words(&self) -> impl Iterator<Item = SignedWords<'_>> {
        self.actions.iter().map(|action| SignedWords {
            kind: action.kind.text(),
            target: &self.text[action.target.clone()],
            payload: &self.text[action.payload.clone()],
        })
    }
}

impl From<(String, SignedActionText)> for SignedTexts {
    fn from((text, action): (String, SignedActionText)) -> Self {
        Self {
            text,
            actions: vec![action],
            atomic: false,
        }
    }
}

/// Verifies signatures under the log's domain, with a cache of frequent signers.
pub struct RequestVerifier {
    domain: Domain,
    separator: Hash,
    signers: SignerCache,
}

impl RequestVerifier {
    pub fn new(domain: Domain) -> Self {
        Self {
            domain,
            separator: domain.separator(),
            signers: SignerCache::new(),
        }
    }

    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Hashes what `asker` signed and checks the signature. This is the only place that accepts a request's signature.
    pub fn check(
        &self,
        asker: Principal,
        headers: &SignatureHeaders,
        signed: SignedTexts,
        expires_at: Instant,
    ) -> ApiResult<Submission> {
        let SignedTexts {
            text,
            actions,
            atomic,
        } = signed;
        let head = RequestHead {
            signer: headers.signer,
            nonce: headers.nonce,
            deadline_s: headers.deadline_s,
            atomic,
        };
        let signature_hash = keccak(&headers.signature.0);
        let texts: Vec<ActionTexts<'_>> = (0..)
            .zip(&actions)
            .map(|(index, action)| ActionTexts {
                index,
                kind: &action.kind,
                target: &text[action.target.clone()],
                payload: &text[action.payload.clone()],
            })
            .collect();
        let hashes = hash_actions(&texts, &headers.salt_seed, &head.signer, &signature_hash);
        let action_hashes: Vec<Hash> = hashes.iter().map(|hashes| hashes.action).collect();
        let submitted: Vec<SubmittedAction> = actions
            .into_iter()
            .zip(hashes)
            .map(|(action, hashes)| SubmittedAction {
                content: hashes.content,
                action_hash: hashes.action,
                kind: action.kind,
                target: action.target,
                payload: action.payload,
                disclosed: action.disclosed,
            })
            .collect();
        let digest = head.digest(&self.separator, &action_hashes);
        self.check_signer(headers, &digest)
            .map_err(|error| match submitted.as_slice() {
                [only] if only.kind == Kind::FileCreate => {
                    let (name, digest) = (&text[only.target.clone()], &text[only.payload.clone()]);
                    file::explain(error, name, digest)
                }
                _ => error,
            })?;
        self.check_additions(&text, &submitted)?;
        Ok(Submission {
            asker,
            head,
            signature: headers.signature,
            digest,
            salt_seed: headers.salt_seed,
            text,
            actions: submitted,
            secret: None,
            expected: None,
            keep: None,
            expires_at,
            timing: None,
        })
    }

    /// Checks that every key added to a wallet consents.
    fn check_additions(&self, text: &str, actions: &[SubmittedAction]) -> ApiResult<()> {
        for action in actions {
            if action.kind == Kind::WalletKeyAdd {
                let addition = key_addition(&text[action.payload.clone()]);
                let addition = addition.map_err(|refusal| ApiError::from(&refusal))?;
                let wallet = &text[action.target.clone()];
                let checked = addition.check(&self.separator, wallet);
                checked.map_err(|error| without_consent(&error))?;
            }
        }
        Ok(())
    }

    fn check_signer(&self, headers: &SignatureHeaders, digest: &Hash) -> ApiResult<()> {
        let invalid = |why: String| ApiError::new(Code::SignatureInvalid, why);
        let found = self
            .signers
            .recover(headers.signer, digest, &headers.signature)
            .map_err(|error| invalid(error.to_string()))?;
        if found == headers.signer {
            return Ok(());
        }
        let Domain {
            chain_id,
            verifying_contract,
        } = self.domain;
        let message = format!(
            "the signature recovers to {found}, not to x-signature-address {}: it was made over \
             other bytes than this request's, or for another domain than chainId {chain_id}, \
             verifyingContract {verifying_contract}",
            headers.signer
        );
        Err(ApiError {
            detail: ErrorDetail::Recovered(found),
            ..invalid(message)
        })
    }
}

/// Error of a key addition without the key's consent.
fn without_consent(error: &PossessionError) -> ApiError {
    let code = match error {
        PossessionError::Missing => "required",
        PossessionError::Form(_) => "format",
        PossessionError::Other { .. } => "signature",
    };
    let field = FieldError {
        pointer: "/possession".to_owned(),
        code: code.into(),
        message: error.to_string(),
    };
    let message = FieldError::message_of(std::slice::from_ref(&field));
    ApiError {
        detail: ErrorDetail::Fields(vec![field]),
        ..ApiError::new(Code::StateViolation, message)
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::action::{ActionWords, salt};
    use kedge_protocol::signature::SigningKey;
    use kedge_protocol::{Address, chain};

    use super::*;

    const DOMAIN: Domain = Domain {
        chain_id: 31_337,
        verifying_contract: Address([9; 20]),
    };

    fn request(
        domain: Domain,
        signed_payload: &str,
        sent_payload: &str,
    ) -> (SignatureHeaders, SignedTexts) {
        let key = SigningKey::from_bytes(&[5; 32]).unwrap();
        let salt_seed = Hash([4; 32]);
        let head = RequestHead {
            signer: key.address(),
            nonce: 1,
            deadline_s: 2_000_000_000,
            atomic: false,
        };
        let words = ActionWords::of(&Kind::Lock, "obj", signed_payload.as_bytes());
        let hash = words.action_hash(&salt(&salt_seed, 0));
        let signature = key.sign(&head.digest(&domain.separator(), &[hash]));
        let text = format!("obj{sent_payload}");
        let headers = SignatureHeaders {
            signature,
            signer: head.signer,
            nonce: head.nonce,
            deadline_s: head.deadline_s,
            salt_seed,
        };
        let action = SignedActionText {
            kind: Kind::Lock,
            target: 0..3,
            payload: 3..text.len(),
            disclosed: None,
        };
        (headers, (text, action).into())
    }

    // Holds invariant 201.
    #[test]
    fn only_the_exact_bytes_under_this_domain_pass() {
        let verifier = RequestVerifier::new(DOMAIN);
        let check = |(headers, signed)| {
            verifier.check(Principal::Registration, &headers, signed, Instant::now())
        };
        let good = check(request(DOMAIN, "{}", "{}")).unwrap();
        let words = ActionWords::of(&Kind::Lock, "obj", b"{}");
        let authority = chain::authority(&good.signature, &salt(&good.salt_seed, 0));
        let content = chain::content(&words, &good.head.signer, &authority);
        assert_eq!(good.actions[0].content, content);

        let other_chain = Domain {
            chain_id: 1,
            ..DOMAIN
        };
        for bad in [
            request(DOMAIN, "{}", "{ }"),
            request(other_chain, "{}", "{}"),
        ] {
            let error = check(bad).unwrap_err();
            assert_eq!(error.code, Code::SignatureInvalid);
            assert!(error.message.contains("chainId 31337"), "{}", error.message);
        }
    }
}
