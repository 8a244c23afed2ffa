//! The requests of a run. Bodies and the hashes of their texts are made once; what differs from
//! request to request is nonce, salts and signature, and those stand in the headers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::HeaderValue;
use kedge_client::sign::deadline_in;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};

use crate::error::{Error, Result};
use crate::options::{Options, Scenario};
use crate::setup::{Organization, Session};

/// Payloads that take turns, so that every update changes something.
const VARIANTS: usize = 2;
/// `obj_` and 26 digits.
const OBJECT_ID_BYTES: usize = 30;
/// How long a signature is good: longer than any run.
const DEADLINE_AHEAD: Duration = Duration::from_hours(1);

/// A body that is sent again and again, each time under a new signature.
struct Shape {
    body: Bytes,
    words: Vec<ActionWords>,
    /// Its objects, as a range of the organization's.
    first: usize,
    payload: usize,
}

/// What is in the headers of one request.
#[derive(Clone, Copy)]
pub(crate) struct Signed {
    pub(crate) seed: Hash,
    pub(crate) signature: Signature,
}

/// A request's actions, for those who check its answer.
pub(crate) struct Texts<'a> {
    pub(crate) organization: &'a Organization,
    pub(crate) targets: &'a [Id],
    pub(crate) payload: &'a str,
}

/// All bodies of the scenario.
pub(crate) struct Workload {
    pub(crate) organizations: Arc<Vec<Organization>>,
    /// Those of organization 0, then of organization 1, …
    shapes: Vec<Shape>,
    payloads: Vec<String>,
    shapes_each: usize,
    actions: usize,
    path: &'static str,
    host: HeaderValue,
    minimal: bool,
    domain_separator: Hash,
}

impl Workload {
    /// Makes the bodies.
    pub(crate) fn new(
        organizations: Arc<Vec<Organization>>,
        domain_separator: Hash,
        authority: &str,
        options: &Options,
    ) -> Result<Self> {
        let actions = options.actions_a_request();
        let payloads: Vec<String> = (0..VARIANTS)
            .map(|variant| payload(variant, options.action_bytes))
            .collect();
        let chunks = options.objects_each() / actions;
        let mut shapes = Vec::with_capacity(organizations.len() * chunks * VARIANTS);
        for organization in organizations.iter() {
            for (payload, text) in payloads.iter().enumerate() {
                for chunk in 0..chunks {
                    let first = chunk * actions;
                    let targets = &organization.objects[first..first + actions];
                    shapes.push(Shape {
                        body: body(options.scenario, targets, text),
                        words: words(targets, text),
                        first,
                        payload,
                    });
                }
            }
        }
        Ok(Self {
            organizations,
            shapes,
            payloads,
            shapes_each: chunks * VARIANTS,
            actions,
            path: options.path(),
            host: HeaderValue::try_from(authority)
                .map_err(|error| Error::Usage(format!("{authority}: {error}")))?,
            minimal: options.minimal,
            domain_separator,
        })
    }

    /// Requests go round the organizations, and in each round its objects.
    fn place(&self, index: usize) -> (usize, usize) {
        let organization = index % self.organizations.len();
        (organization, index / self.organizations.len())
    }

    fn shape(&self, index: usize) -> &Shape {
        let (organization, round) = self.place(index);
        &self.shapes[organization * self.shapes_each + round % self.shapes_each]
    }

    /// The actions of a request.
    pub(crate) fn texts(&self, index: usize) -> Texts<'_> {
        let shape = self.shape(index);
        let organization = &self.organizations[self.place(index).0];
        Texts {
            organization,
            targets: &organization.objects[shape.first..shape.first + self.actions],
            payload: &self.payloads[shape.payload],
        }
    }
}

/// A workload with what holds for one run: tokens, nonces, deadline.
pub(crate) struct Turn {
    pub(crate) workload: Arc<Workload>,
    sessions: Vec<Session>,
    deadline_s: u64,
}

impl Turn {
    pub(crate) fn new(workload: Arc<Workload>, sessions: Vec<Session>) -> Self {
        Self {
            workload,
            sessions,
            deadline_s: deadline_in(DEADLINE_AHEAD),
        }
    }

    /// Signer, nonce and deadline of a request.
    pub(crate) fn head(&self, index: usize) -> RequestHead {
        let (organization, round) = self.workload.place(index);
        RequestHead {
            signer: self.workload.organizations[organization].key.address(),
            nonce: self.sessions[organization].first_nonce + round as u64,
            deadline_s: self.deadline_s,
            atomic: false,
        }
    }

    /// Signs a request.
    pub(crate) fn sign(&self, index: usize) -> Result<Signed> {
        let seed = kedge_client::random::seed().map_err(Error::at("random bytes"))?;
        let shape = self.workload.shape(index);
        let hashes: Vec<Hash> = shape
            .words
            .iter()
            .enumerate()
            .map(|(action, words)| words.action_hash(&salt(&seed, action as u16)))
            .collect();
        let digest = self
            .head(index)
            .digest(&self.workload.domain_separator, &hashes);
        let organization = &self.workload.organizations[self.workload.place(index).0];
        let signature = organization.key.sign(&digest);
        Ok(Signed { seed, signature })
    }

    /// The request as it is sent.
    pub(crate) fn request(&self, index: usize, signed: &Signed) -> Result<Request<Full<Bytes>>> {
        let workload = &self.workload;
        let head = self.head(index);
        let session = &self.sessions[workload.place(index).0];
        let mut request = Request::post(workload.path)
            .header("host", workload.host.clone())
            .header("authorization", session.authorization.clone())
            .header("content-type", "application/json")
            .header("x-signature", signed.signature.to_string())
            .header("x-signature-address", session.address.clone())
            .header("x-signature-nonce", head.nonce)
            .header("x-signature-deadline", head.deadline_s)
            .header("x-signature-salt", signed.seed.to_string());
        if workload.minimal {
            request = request.header("prefer", "return=minimal");
        }
        let body = workload.shape(index).body.clone();
        request
            .body(Full::new(body))
            .map_err(|error| Error::Broken(error.to_string()))
    }
}

/// A payload that makes target and payload `action_bytes` long.
fn payload(variant: usize, action_bytes: usize) -> String {
    let [state, place] = [["in transit", "8.5417"], ["at a depot", "7.4474"]][variant % VARIANTS];
    let text = |note: &str| {
        format!(
            r#"{{"properties":{{"state":"{state}","step":{variant},"place":{place},"note":"{note}"}}}}"#
        )
    };
    let filled = OBJECT_ID_BYTES + text("").len();
    text(&"n".repeat(action_bytes.saturating_sub(filled)))
}

fn body(scenario: Scenario, targets: &[Id], payload: &str) -> Bytes {
    let actions: Vec<String> = targets
        .iter()
        .map(|id| format!(r#"{{"action_type":"update","object_id":"{id}","payload":{payload}}}"#))
        .collect();
    let actions = actions.join(",");
    match scenario {
        Scenario::BatchUpdates => format!(r#"{{"actions":[{actions}]}}"#).into(),
        Scenario::SingleUpdates => actions.into(),
    }
}

fn words(targets: &[Id], payload: &str) -> Vec<ActionWords> {
    targets
        .iter()
        .map(|id| ActionWords::of(&Kind::Update, &id.to_string(), payload.as_bytes()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_have_the_asked_length_and_differ() {
        let target = "obj_7h8rh8fgrh07gkqn56z16p8nc6";
        let texts: Vec<String> = (0..VARIANTS).map(|variant| payload(variant, 286)).collect();
        for text in &texts {
            assert_eq!(target.len() + text.len(), 286);
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        }
        assert_ne!(texts[0], texts[1]);
    }

    #[test]
    fn bodies_hold_the_signed_payload_as_it_is() {
        let id: Id = "obj_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let text = payload(0, 286);
        let many = body(Scenario::BatchUpdates, &[id, id], &text);
        let many: serde_json::Value = serde_json::from_slice(&many).unwrap();
        assert_eq!(many["actions"].as_array().unwrap().len(), 2);
        assert_eq!(many["actions"][1]["object_id"], id.to_string());
        let single = body(Scenario::SingleUpdates, &[id], &text);
        assert!(String::from_utf8_lossy(&single).ends_with(&format!(r#""payload":{text}}}"#)));
    }
}
