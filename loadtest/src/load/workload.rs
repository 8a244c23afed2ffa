//! Requests of a run. Bodies and the hashes of their texts are computed once; nonce, salts and signature, which differ
//! between requests, are in the head.

use std::io::Write as _;
use std::time::Duration;

use kedge_client::sign::deadline_in;
use kedge_protocol::action::{Kind, RequestHead, salt};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};

use crate::bodies::{BusBody, HeadTemplates, VARIANTS, payload, push_signature, transfers};
use crate::error::{LoadtestError, LoadtestResult};
use crate::fleet::LoadOrganization;
use crate::options::{RunOptions, Scenario};

/// Time that a signature stays valid after its run.
const DEADLINE_MARGIN: Duration = Duration::from_hours(1);

/// The varying values in the head of a signed request.
#[derive(Clone, Copy)]
pub(crate) struct PresignedHead {
    pub(crate) seed: Hash,
    pub(crate) signature: Signature,
}

/// Work of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkloadStep {
    /// Sends the signed request with this number.
    Write(u64),
    /// Sends the read with this number.
    Read(u64),
}

/// A resource to read.
struct ReadTarget {
    organization: u32,
    path: Box<str>,
}

/// All requests of a process.
pub(crate) struct Workload {
    pub(crate) organizations: Vec<LoadOrganization>,
    scenario: Scenario,
    actions: usize,
    reads_percent: u64,
    cold: bool,
    /// The object that all connections update.
    hot: Option<Id>,
    /// Shapes of organization 0, then of organization 1, …
    shapes: Vec<BusBody>,
    payloads: Vec<String>,
    chunks: usize,
    heads: Vec<HeadTemplates>,
    readable: Vec<ReadTarget>,
    domain_separator: Hash,
    deadline_s: u64,
}

impl Workload {
    /// Builds the bodies.
    pub(crate) fn new(
        organizations: Vec<LoadOrganization>,
        hot: Option<Id>,
        domain_separator: Hash,
        authority: &str,
        options: &RunOptions,
    ) -> Self {
        let (scenario, actions) = (options.sends(), options.actions_a_request());
        let payloads = match scenario {
            Scenario::BatchTransfers => transfers(&organizations),
            _ => (0..VARIANTS)
                .map(|variant| payload(variant, options.action_bytes))
                .collect(),
        };
        let run = Duration::from_secs(options.warm_up_s + options.duration_s + options.top_s);
        let heads = organizations
            .iter()
            .map(|organization| HeadTemplates::new(organization, authority, hot, options))
            .collect();
        let mut workload = Self {
            scenario,
            actions,
            reads_percent: match scenario {
                Scenario::Mixed => u64::from(options.reads_percent),
                Scenario::Reads | Scenario::ProofFiles => 100,
                _ => 0,
            },
            cold: options.cold,
            hot,
            shapes: Vec::new(),
            payloads,
            chunks: (options.objects_each() / actions.max(1)).max(1),
            heads,
            readable: readable(&organizations, scenario),
            domain_separator,
            deadline_s: deadline_in(run + DEADLINE_MARGIN),
            organizations,
        };
        if actions > 0 {
            workload.shapes = (0..workload.organizations.len())
                .flat_map(|organization| {
                    (0..workload.shapes_each()).map(move |shape| (organization, shape))
                })
                .map(|(organization, shape)| workload.make(organization, shape, options.if_match))
                .collect();
        }
        workload
    }

    fn shapes_each(&self) -> usize {
        match self.scenario {
            Scenario::BatchMints | Scenario::HotObject => VARIANTS,
            _ => self.chunks * VARIANTS,
        }
    }

    /// Actions of one signed request.
    pub(crate) fn actions(&self) -> usize {
        self.actions
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.scenario {
            Scenario::BatchMints => Kind::Mint,
            Scenario::BatchTransfers => Kind::Transfer,
            _ => Kind::Update,
        }
    }

    /// Target and payload of an action. If an organization has fewer objects than a request has actions, the request
    /// repeats objects with the other payload.
    fn action(&self, organization: usize, shape: usize, index: usize) -> (Id, &str) {
        let owner = &self.organizations[organization];
        let (variant, chunk) = (shape / (self.shapes_each() / VARIANTS), shape % self.chunks);
        let (target, variant) = match self.scenario {
            Scenario::BatchMints => (owner.template, variant),
            Scenario::HotObject => (self.hot.unwrap_or(owner.template), variant),
            _ => {
                let place = chunk * self.actions + index;
                let round = place / owner.objects.len();
                let object = owner.objects[place % owner.objects.len()];
                (object, (variant + round) % VARIANTS)
            }
        };
        let payload = match self.scenario {
            Scenario::BatchTransfers => organization * VARIANTS + variant,
            _ => variant,
        };
        (target, &self.payloads[payload])
    }

    fn make(&self, organization: usize, shape: usize, if_match: bool) -> BusBody {
        let actions: Vec<(Id, &str)> = (0..self.actions)
            .map(|index| self.action(organization, shape, index))
            .collect();
        let batch = matches!(
            self.scenario,
            Scenario::BatchUpdates | Scenario::BatchMints | Scenario::BatchTransfers
        );
        let mut body = BusBody::new(&self.kind(), &actions, batch);
        if self.scenario == Scenario::HotObject && if_match {
            body.text = actions[0].1.to_owned().into();
        }
        body
    }

    /// Organization and cycle of a request. Requests cycle through the organizations, and each cycle uses the next
    /// shape.
    fn place(&self, number: u64) -> (usize, u64) {
        let count = self.organizations.len() as u64;
        ((number % count) as usize, number / count)
    }

    pub(crate) fn organization_of(&self, number: u64) -> usize {
        self.place(number).0
    }

    fn shape_number(&self, round: u64) -> usize {
        (round % self.shapes_each() as u64) as usize
    }

    fn shape(&self, number: u64) -> &BusBody {
        let (organization, round) = self.place(number);
        &self.shapes[organization * self.shapes_each() + self.shape_number(round)]
    }

    /// The actions of a request, for checking its answer.
    pub(crate) fn texts(&self, number: u64) -> Vec<(Id, &str)> {
        let (organization, round) = self.place(number);
        (0..self.actions)
            .map(|index| self.action(organization, self.shape_number(round), index))
            .collect()
    }

    pub(crate) fn body(&self, number: u64) -> &[u8] {
        &self.shape(number).text
    }

    /// Work of a slot. Reads are spread evenly among the changes.
    pub(crate) fn step(&self, slot: u64) -> WorkloadStep {
        match self.reads_percent {
            0 => WorkloadStep::Write(slot),
            100 => WorkloadStep::Read(slot),
            percent => {
                // 37 and 100 are coprime, so this only changes the order.
                let (hundred, place) = (slot / 100, slot % 100 * 37 % 100);
                if place < percent {
                    WorkloadStep::Read(hundred * percent + place)
                } else {
                    WorkloadStep::Write(hundred * (100 - percent) + place - percent)
                }
            }
        }
    }

    /// Limit on slots: a cold run reads each object once.
    pub(crate) fn slots_max(&self) -> Option<u64> {
        let once = self.cold && self.scenario == Scenario::Reads;
        once.then_some(self.readable.len() as u64)
    }

    /// Nonces of each organization used by these slots, or a few more.
    pub(crate) fn rounds_of(&self, slots: u64) -> u64 {
        let writes = (slots / 100 + 1) * (100 - self.reads_percent);
        writes.min(slots).div_ceil(self.organizations.len() as u64) + 1
    }

    /// Signer, nonce and deadline of a request.
    pub(crate) fn head(&self, number: u64) -> RequestHead {
        let (organization, round) = self.place(number);
        let organization = &self.organizations[organization];
        RequestHead {
            signer: organization.key.address(),
            nonce: organization.next_nonce + round,
            deadline_s: self.deadline_s,
            atomic: false,
        }
    }

    /// Signs a request.
    pub(crate) fn sign(&self, number: u64) -> LoadtestResult<PresignedHead> {
        let seed = kedge_client::random::seed().map_err(LoadtestError::at("random bytes"))?;
        let hashes: Vec<Hash> = (0..)
            .zip(&self.shape(number).words)
            .map(|(index, words)| words.action_hash(&salt(&seed, index)))
            .collect();
        let digest = self.head(number).digest(&self.domain_separator, &hashes);
        let key = &self.organizations[self.organization_of(number)].key;
        Ok(PresignedHead {
            seed,
            signature: key.sign(&digest),
        })
    }

    /// Writes the head of a signed request, with `If-Match` if there is a tag. [`Workload::body`] has its body.
    pub(crate) fn write_head(
        &self,
        out: &mut Vec<u8>,
        number: u64,
        signed: &PresignedHead,
        if_match: Option<&str>,
    ) {
        let head = self.head(number);
        out.clear();
        out.extend_from_slice(&self.heads[self.organization_of(number)].write);
        let bytes = self.body(number).len();
        push_signature(out, &head, bytes, &signed.seed, &signed.signature);
        if let Some(etag) = if_match {
            // Writing to a Vec cannot fail.
            let _ = write!(out, "if-match: {etag}\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the head of a read.
    pub(crate) fn read_head(&self, out: &mut Vec<u8>, number: u64) {
        let count = self.readable.len() as u64;
        let place = if self.cold {
            number % count
        } else {
            // Any order other than that of the keys (Knuth's multiplicative hashing).
            (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % count
        };
        let readable = &self.readable[place as usize];
        self.get(out, &readable.path, readable.organization as usize);
    }

    /// Writes the head of a read of the hot object, by the organization of a request.
    pub(crate) fn hot_head(&self, out: &mut Vec<u8>, number: u64) {
        let path = self.hot.map(|id| format!("/objects/{id}"));
        self.get(out, &path.unwrap_or_default(), self.organization_of(number));
    }

    fn get(&self, out: &mut Vec<u8>, path: &str, organization: usize) {
        out.clear();
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(&self.heads[organization].read);
    }
}

fn readable(organizations: &[LoadOrganization], scenario: Scenario) -> Vec<ReadTarget> {
    let mut readable = Vec::new();
    for (number, organization) in (0..).zip(organizations) {
        let mut push = |path: String| {
            readable.push(ReadTarget {
                organization: number,
                path: path.into(),
            });
        };
        match scenario {
            Scenario::Reads | Scenario::Mixed => {
                let objects = organization.objects.iter();
                objects.for_each(|id| push(format!("/objects/{id}")));
            }
            Scenario::ProofFiles => {
                let actions = organization.actions.iter();
                actions.for_each(|id| push(format!("/ebus/actions/{id}/proof")));
            }
            _ => {}
        }
    }
    readable
}

#[cfg(test)]
pub(crate) mod tests;
