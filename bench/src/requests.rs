//! The requests of a measure. Bodies and the hashes of their texts are made once. What differs from request to request
//! is nonce, salts and signature, and those are in the headers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use kedge_client::sign::deadline_in;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, action_hashes, salts};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};
use serde::Serialize;

use crate::error::Result;
use crate::fleet::{Fleet, Organization};

/// Bytes of an action's target and payload.
pub(crate) const ACTION_BYTES: usize = 286;
/// `obj_` and 26 digits.
const OBJECT_ID_BYTES: usize = 30;
/// Alternating payloads, so that every update changes something.
const VARIANTS: usize = 2;
/// How long a signature is valid: longer than any measurement.
const DEADLINE_AHEAD: Duration = Duration::from_hours(12);

/// The content of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// 500 updates under one signature, short answers.
    Batch,
    /// One update.
    Single,
}

impl Shape {
    pub(crate) fn actions(self) -> usize {
        match self {
            Self::Batch => BATCH_ACTIONS_MAX,
            Self::Single => 1,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Batch => "batches of 500",
            Self::Single => "single",
        }
    }

    /// Connections that keep a server busy with this shape.
    pub(crate) fn connections(self) -> usize {
        match self {
            Self::Batch => 16,
            Self::Single => 128,
        }
    }

    /// Requests a second to sign beforehand: more than any server here handles.
    pub(crate) fn prepared_a_second(self) -> usize {
        match self {
            Self::Batch => 1_400,
            Self::Single => 26_000,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Batch => "/ebus/actions/batch",
            Self::Single => "/ebus/actions",
        }
    }
}

/// A body that is sent repeatedly, each time under a new signature.
struct Body {
    text: Bytes,
    words: Vec<ActionWords>,
}

/// A signed request.
pub(crate) struct Signed {
    organization: usize,
    body: usize,
    nonce: u64,
    seed: Hash,
    signature: Signature,
}

/// All bodies of one shape.
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    fleet: Arc<Fleet>,
    /// The bodies of the first organization, then of the second, …
    bodies: Vec<Body>,
    bodies_each: usize,
    domain_separator: Hash,
    deadline_s: u64,
}

impl Plan {
    /// Makes the bodies.
    pub(crate) fn new(fleet: &Arc<Fleet>, shape: Shape) -> Self {
        let payloads: Vec<String> = (0..VARIANTS).map(payload).collect();
        let mut bodies = Vec::new();
        for organization in &fleet.organizations {
            for payload in &payloads {
                bodies.extend(
                    targets(organization, shape.actions())
                        .map(|targets| Body::new(shape, &targets, payload)),
                );
            }
        }
        Self {
            shape,
            bodies_each: bodies.len() / fleet.organizations.len(),
            bodies,
            domain_separator: fleet.domain.separator(),
            fleet: Arc::clone(fleet),
            deadline_s: deadline_in(DEADLINE_AHEAD),
        }
    }

    /// Signs the request with this number. Requests cycle through the organizations, and each cycle uses the next body.
    pub(crate) fn sign(&self, number: usize) -> Result<Signed> {
        let count = self.fleet.organizations.len();
        let (organization, round) = (number % count, number / count);
        let body = organization * self.bodies_each + round % self.bodies_each;
        let owner = &self.fleet.organizations[organization];
        let (nonce, seed) = (owner.nonce(), kedge_client::random::seed()?);
        let head = RequestHead {
            signer: owner.key.address(),
            nonce,
            deadline_s: self.deadline_s,
            atomic: false,
        };
        let words = &self.bodies[body].words;
        let hashes = action_hashes(words, &salts(&seed, 0..words.len() as u16));
        let digest = head.digest(&self.domain_separator, &hashes);
        Ok(Signed {
            organization,
            body,
            nonce,
            seed,
            signature: owner.key.sign(&digest),
        })
    }

    /// The request in the form in which it is sent.
    pub(crate) fn request(&self, host: &str, signed: &Signed) -> Result<Request<Full<Bytes>>> {
        let owner = &self.fleet.organizations[signed.organization];
        let mut request = Request::post(self.shape.path())
            .header("host", host)
            .header("x-api-key", owner.api_key.clone())
            .header("content-type", "application/json")
            .header("x-signature", signed.signature.to_string())
            .header("x-signature-address", owner.address.clone())
            .header("x-signature-nonce", signed.nonce)
            .header("x-signature-deadline", self.deadline_s)
            .header("x-signature-salt", signed.seed.to_string());
        if self.shape == Shape::Batch {
            request = request.header("prefer", "return=minimal");
        }
        Ok(request.body(Full::new(self.bodies[signed.body].text.clone()))?)
    }
}

/// An organization's objects in groups of `count`, cycling through them if it has fewer.
fn targets(organization: &Organization, count: usize) -> impl Iterator<Item = Vec<Id>> {
    let objects = &organization.objects;
    (0..(objects.len() / count).max(1)).map(move |chunk| {
        let all = objects.iter().cycle().skip(chunk * count);
        all.take(count).copied().collect()
    })
}

impl Body {
    fn new(shape: Shape, targets: &[Id], payload: &str) -> Self {
        let targets: Vec<String> = targets.iter().map(Id::to_string).collect();
        let actions: Vec<String> = targets
            .iter()
            .map(|id| {
                format!(r#"{{"action_type":"update","object_id":"{id}","payload":{payload}}}"#)
            })
            .collect();
        let actions = actions.join(",");
        let words = targets
            .iter()
            .map(|id| ActionWords::of(&Kind::Update, id, payload.as_bytes()));
        Self {
            words: words.collect(),
            text: match shape {
                Shape::Batch => format!(r#"{{"actions":[{actions}]}}"#).into(),
                Shape::Single => actions.into(),
            },
        }
    }
}

/// A payload with which target and payload together have [`ACTION_BYTES`] bytes.
fn payload(variant: usize) -> String {
    let [state, place] = [["in transit", "8.5417"], ["at a depot", "7.4474"]][variant % VARIANTS];
    let text = |note: &str| {
        format!(
            r#"{{"properties":{{"state":"{state}","step":{variant},"place":{place},"note":"{note}"}}}}"#
        )
    };
    let filled = OBJECT_ID_BYTES + text("").len();
    text(&"n".repeat(ACTION_BYTES.saturating_sub(filled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_what_is_signed() {
        let id: Id = "obj_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let text = payload(1);
        assert_eq!(id.to_string().len() + text.len(), ACTION_BYTES);
        assert_ne!(text, payload(0));
        for (shape, count) in [(Shape::Batch, 2), (Shape::Single, 1)] {
            let body = Body::new(shape, &vec![id; count], &text);
            let read: serde_json::Value = serde_json::from_slice(&body.text).unwrap();
            let last = match shape {
                Shape::Batch => &read["actions"][1],
                Shape::Single => &read,
            };
            assert_eq!(last["object_id"], id.to_string());
            assert!(
                String::from_utf8_lossy(&body.text).contains(&format!(r#""payload":{text}}}"#))
            );
            let words = ActionWords::of(&Kind::Update, &id.to_string(), text.as_bytes());
            assert_eq!(body.words, vec![words; count]);
        }
    }
}
