//! What the edge checks of a change itself: it reads what is signed, hashes it, and checks the signature. It does so for
//! requests whose signed texts follow from the request alone. Whatever it finds wrong is left to the leader, whose answer
//! has everything that a refusal states.

use bytes::Bytes;
use hyper::http::request::Parts;
use kedge_actors::api::Asker;
use kedge_http::auth::code::{InvitationCodes, MacKey};
use kedge_http::body;
use kedge_http::clock::now_s;
use kedge_http::signing::request::{Circumstances, texts};
use kedge_http::signing::{SignatureHeaders, Signs, Target, Verifier};
use kedge_protocol::Hash;
use kedge_protocol::eip712::Domain;

/// Longer bodies are read and hashed while the runtime's other work moves to another thread.
const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Checks signatures under a log's domain.
pub(crate) struct Checker {
    verifier: Verifier,
    /// Reads no code: registrations are the leader's.
    no_codes: InvitationCodes,
}

/// Whether what a request signs follows from the request alone, without who sends it.
pub(crate) fn is_pure(signs: &Signs) -> bool {
    match signs {
        Signs::Action | Signs::Batch => true,
        Signs::Body(_, target) | Signs::NoBody(_, target) | Signs::PathMember(_, target, _) => {
            matches!(
                target,
                Target::Empty | Target::Path | Target::TemplateMember
            )
        }
        Signs::Nothing | Signs::Registration | Signs::WalletUpdate | Signs::File => false,
    }
}

impl Checker {
    pub(crate) fn new(domain: Domain) -> Self {
        Self {
            verifier: Verifier::new(domain),
            no_codes: InvitationCodes::new(MacKey::new([0; 32])),
        }
    }

    /// The digest of a request whose signature is right; `None` if anything is wrong. Long bodies keep no other request
    /// waiting.
    pub(crate) fn digest(
        &self,
        signs: &Signs,
        path_id: &str,
        parts: &Parts,
        body: &Bytes,
    ) -> Option<Hash> {
        let check = || self.checked(signs, path_id, parts, body);
        if body.len() <= INLINE_BYTES_MAX {
            check()
        } else {
            tokio::task::block_in_place(check)
        }
    }

    fn checked(&self, signs: &Signs, path_id: &str, parts: &Parts, body: &Bytes) -> Option<Hash> {
        let headers = SignatureHeaders::read(&parts.headers, now_s()).ok()?;
        let circumstances = Circumstances {
            session: None,
            path_id,
            invitations: &self.no_codes,
        };
        let mut text = body::Text::default();
        text.text = String::from_utf8(body.to_vec()).ok()?;
        let signed = texts(signs, &circumstances, &mut text).ok()??;
        let now = std::time::Instant::now();
        let checked = self
            .verifier
            .check(Asker::Registration, &headers, signed, now);
        checked.ok().map(|submission| submission.digest)
    }
}
