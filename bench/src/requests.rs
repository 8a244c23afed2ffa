//! Requests of a measurement. Bodies and the hashes of their texts are computed once; nonce, salts and signature, which
//! differ between requests, are in the headers.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use kedge_client::sign::deadline_in;
use kedge_load::bodies::{BusBody, VARIANTS, payload, push_signature};
use kedge_protocol::action::{Kind, RequestHead, action_hashes, salts};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};
use serde::Serialize;

use crate::error::BenchResult;
use crate::fleet::{BenchFleet, BenchOrganization};

/// Target and payload of an action.
pub(crate) const ACTION_BYTES: usize = 286;
/// Lifetime of a signature: longer than any measurement.
const DEADLINE_AHEAD: Duration = Duration::from_hours(12);

/// The content of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RequestShape {
    /// 500 updates under one signature, short answers.
    Batch,
    /// One update.
    Single,
}

impl RequestShape {
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

    /// Connections that saturate a server with this shape.
    pub(crate) fn connections(self) -> usize {
        match self {
            Self::Batch => 16,
            Self::Single => 128,
        }
    }

    /// The body that updates these objects.
    fn body(self, targets: &[Id], payload: &str) -> BusBody {
        let actions: Vec<(Id, &str)> = targets.iter().map(|id| (*id, payload)).collect();
        BusBody::new(&Kind::Update, &actions, self == Self::Batch)
    }

    /// Requests to sign beforehand per second: more than any server here handles.
    pub(crate) fn prepared_a_second(self) -> usize {
        match self {
            Self::Batch => 1_400,
            Self::Single => 26_000,
        }
    }
}

/// A signed request.
pub(crate) struct BenchRequest {
    organization: usize,
    body: usize,
    head: RequestHead,
    seed: Hash,
    signature: Signature,
}

/// All bodies of one shape.
pub(crate) struct RequestPlan {
    pub(crate) shape: RequestShape,
    fleet: Arc<BenchFleet>,
    /// Bodies of the first organization, then of the second, …
    bodies: Vec<BusBody>,
    bodies_each: usize,
    domain_separator: Hash,
    deadline_s: u64,
}

impl RequestPlan {
    /// Builds the bodies.
    pub(crate) fn new(fleet: &Arc<BenchFleet>, shape: RequestShape) -> Self {
        let payloads = (0..VARIANTS).map(|variant| payload(variant, ACTION_BYTES));
        let payloads: Vec<String> = payloads.collect();
        let mut bodies = Vec::new();
        for organization in &fleet.organizations {
            for payload in &payloads {
                let groups = targets(organization, shape.actions());
                bodies.extend(groups.map(|targets| shape.body(&targets, payload)));
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

    /// A nonce for the request with this number. Servers accept nonces only roughly in order, so they are taken in the
    /// order of sending.
    pub(crate) fn nonce(&self, number: usize) -> u64 {
        let organizations = &self.fleet.organizations;
        organizations[number % organizations.len()].nonce()
    }

    /// Signs the request with this number. Requests cycle through the organizations; each cycle uses the next body.
    pub(crate) fn sign(&self, number: usize, nonce: u64) -> BenchResult<BenchRequest> {
        let count = self.fleet.organizations.len();
        let (organization, round) = (number % count, number / count);
        let body = organization * self.bodies_each + round % self.bodies_each;
        let owner = &self.fleet.organizations[organization];
        let seed = kedge_client::random::seed()?;
        let head = RequestHead {
            signer: owner.key.address(),
            nonce,
            deadline_s: self.deadline_s,
            atomic: false,
        };
        let words = &self.bodies[body].words;
        let hashes = action_hashes(words, &salts(&seed, 0..words.len() as u16));
        let digest = head.digest(&self.domain_separator, &hashes);
        Ok(BenchRequest {
            organization,
            body,
            head,
            seed,
            signature: owner.key.sign(&digest),
        })
    }

    /// Writes the head of a request, up to its body.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, authority: &str, signed: &BenchRequest) {
        let BenchOrganization {
            address, api_key, ..
        } = &self.fleet.organizations[signed.organization];
        let (path, prefer) = match self.shape {
            RequestShape::Batch => ("/ebus/actions/batch", "prefer: return=minimal\r\n"),
            RequestShape::Single => ("/ebus/actions", ""),
        };
        out.clear();
        // Writing to a Vec cannot fail.
        let _ = write!(
            out,
            "POST {path} HTTP/1.1\r\nhost: {authority}\r\nx-api-key: {api_key}\r\ncontent-type: application/json\r\nx-signature-address: {address}\r\n{prefer}"
        );
        let bytes = self.body(signed).len();
        push_signature(out, &signed.head, bytes, &signed.seed, &signed.signature);
        out.extend_from_slice(b"\r\n");
    }

    pub(crate) fn body(&self, signed: &BenchRequest) -> &[u8] {
        &self.bodies[signed.body].text
    }
}

/// An organization's objects in groups of `count`. Repeats objects if there are fewer.
fn targets(organization: &BenchOrganization, count: usize) -> impl Iterator<Item = Vec<Id>> {
    let objects = &organization.objects;
    (0..(objects.len() / count).max(1)).map(move |chunk| {
        let all = objects.iter().cycle().skip(chunk * count);
        all.take(count).copied().collect()
    })
}

#[cfg(test)]
mod tests {
    use kedge_protocol::action::ActionWords;

    use super::*;

    #[test]
    fn bodies_hold_what_is_signed() {
        let id: Id = "obj_7h8rh8fgrh07gkqn56z16p8nc6".parse().unwrap();
        let text = payload(1, ACTION_BYTES);
        for (shape, count) in [(RequestShape::Batch, 2), (RequestShape::Single, 1)] {
            let body = shape.body(&vec![id; count], &text);
            let read: serde_json::Value = serde_json::from_slice(&body.text).unwrap();
            let last = match shape {
                RequestShape::Batch => &read["actions"][1],
                RequestShape::Single => &read,
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
