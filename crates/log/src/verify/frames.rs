//! Checks frames individually, on all threads. Within a frame the actions of all requests are hashed in parallel lanes.
//! So are the heads of batches over several frames, since each header names the head before its batch.

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::heads_after;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Address, BatchKeys, Hash, possession};
use rayon::prelude::*;

use super::signers::BatchSigners;
use super::{LogVerifyFault, LogVerifyPlan, fault};
use crate::frame::{FrameError, KeyId, SectionKind, StoredFrame};
use crate::packed::{PackedRequest, groups, leaves_of};

/// Frames that one thread checks together: with one batch each, as many chains of heads as there are lanes.
const FRAMES: usize = 8;

/// Result of checking a frame on its own.
pub(super) struct FrameCheck {
    pub(super) batches: Vec<(SignedBatch, Address)>,
    /// Time of the first and of the last request.
    pub(super) times: Option<(u64, u64)>,
    pub(super) requests: u64,
    pub(super) side_entries: u64,
    /// Keys that seal the side entries.
    pub(super) side_keys: Vec<KeyId>,
    /// Number of keys that joined a wallet without their consent.
    pub(super) additions_without_consent: u64,
}

/// Checks frames; returns the result for each, in order.
pub(super) fn check(
    frames: &[StoredFrame],
    identity: &Hash,
    plan: &LogVerifyPlan,
    signers: &BatchSigners,
) -> Vec<Result<FrameCheck, LogVerifyFault>> {
    frames
        .par_chunks(FRAMES)
        .flat_map_iter(|frames| check_together(frames, identity, plan, signers))
        .collect()
}

fn check_together(
    frames: &[StoredFrame],
    identity: &Hash,
    plan: &LogVerifyPlan,
    signers: &BatchSigners,
) -> Vec<Result<FrameCheck, LogVerifyFault>> {
    let opened: Vec<Result<FrameContents, LogVerifyFault>> = frames
        .iter()
        .zip(StoredFrame::check_digests_of(frames))
        .map(|(frame, digests)| FrameContents::read(frame, digests, identity, plan))
        .collect();
    let chains: Vec<(Hash, &[Hash])> = opened
        .iter()
        .flatten()
        .flat_map(FrameContents::chains)
        .collect();
    let mut heads = heads_after(&chains).into_iter();
    let checked = frames.iter().zip(opened).map(|(frame, opened)| {
        let opened = opened?;
        let heads = heads.by_ref().take(opened.batches.len()).collect();
        opened.check(frame, heads, identity, plan, signers)
    });
    checked.collect()
}

/// Parsed sections of a frame, with computed leaves.
struct FrameContents {
    /// Each batch with the index of its first leaf.
    batches: Vec<(SignedBatch, usize)>,
    leaves: Vec<Hash>,
    times: Option<(u64, u64)>,
    requests: u64,
    additions_without_consent: u64,
}

impl FrameContents {
    /// Parses a frame; `digests` is the result of its digest check.
    fn read(
        frame: &StoredFrame,
        digests: Result<(), FrameError>,
        identity: &Hash,
        plan: &LogVerifyPlan,
    ) -> Result<Self, LogVerifyFault> {
        let first = frame.header().first_sequence;
        let wrong = |error| fault(frame, first, error);
        digests.map_err(wrong)?;
        let batches = frame.batches().map_err(wrong)?;
        let requests = frame.requests().map_err(wrong)?;
        let leaves: Vec<Vec<Hash>> = groups(&requests)
            .into_par_iter()
            .map(|group| leaves_of_group(frame, group, identity, plan))
            .collect::<Result<_, _>>()?;
        let leaves = leaves.concat();
        check_leaves(frame, &leaves)?;
        let batches = placed(frame, batches, &requests, leaves.len())?;
        Ok(Self {
            batches,
            leaves,
            times: times(&requests).map_err(|what| fault(frame, first, what))?,
            requests: requests.len() as u64,
            additions_without_consent: consents(frame, &requests, identity)?,
        })
    }

    fn leaves_of(&self, batch: &SignedBatch, from: usize) -> &[Hash] {
        &self.leaves[from..from + batch.header.count as usize]
    }

    /// The head before each batch, and its leaves.
    fn chains(&self) -> impl Iterator<Item = (Hash, &[Hash])> {
        let batches = self.batches.iter();
        batches.map(|(batch, from)| (batch.header.previous_head, self.leaves_of(batch, *from)))
    }

    /// Checks the batches; `heads` are computed from their leaves.
    fn check(
        self,
        frame: &StoredFrame,
        heads: Vec<Hash>,
        identity: &Hash,
        plan: &LogVerifyPlan,
        signers: &BatchSigners,
    ) -> Result<FrameCheck, LogVerifyFault> {
        let mut batches = Vec::with_capacity(self.batches.len());
        for ((batch, from), head) in self.batches.iter().zip(heads) {
            let wrong = |what: String| fault(frame, batch.header.first_sequence, what);
            check_batch(batch, self.leaves_of(batch, *from), head).map_err(wrong)?;
            let signer = signer_of(batch, identity, plan, signers).map_err(wrong)?;
            batches.push((*batch, signer));
        }
        let closed = |error| fault(frame, frame.header().first_sequence, error);
        let side_entries = match &plan.side_keys {
            Some(keys) => frame.side(identity, keys).map_err(closed)?.len() as u64,
            None => 0,
        };
        Ok(FrameCheck {
            batches,
            times: self.times,
            requests: self.requests,
            side_entries,
            side_keys: frame.side_keys().map_err(closed)?,
            additions_without_consent: self.additions_without_consent,
        })
    }
}

/// Computes the leaves of some requests; checks their signatures if the plan says so. Only these signatures need action
/// hashes: a leaf covers the content, which does not include them.
fn leaves_of_group(
    frame: &StoredFrame,
    requests: &[PackedRequest<'_>],
    identity: &Hash,
    plan: &LogVerifyPlan,
) -> Result<Vec<Hash>, LogVerifyFault> {
    if !plan.request_signatures {
        return leaves_of(requests).map_err(|(sequence, error)| fault(frame, sequence, error));
    }
    let signed = |request: &PackedRequest<'_>| {
        let wrong = |error: &dyn ToString| {
            let sequence = request.head().first_sequence;
            fault(frame, sequence, error.to_string())
        };
        let record = request.record().map_err(|error| wrong(&error))?;
        let hashes = record.hashes();
        let checked = record.verify_signature_over(identity, &hashes);
        checked.map_err(|error| wrong(&error))?;
        Ok(record.leaves(&hashes))
    };
    let leaves: Result<Vec<Vec<Hash>>, LogVerifyFault> =
        requests.into_par_iter().map(signed).collect();
    Ok(leaves?.concat())
}

/// Checks the consent of every key that joins a wallet; returns how many join without one.
fn consents(
    frame: &StoredFrame,
    requests: &[PackedRequest<'_>],
    identity: &Hash,
) -> Result<u64, LogVerifyFault> {
    let mut without = 0;
    for request in requests.iter().filter(|request| request.adds_keys()) {
        let first = request.head().first_sequence;
        let record = request.record();
        let record = record.map_err(|error| fault(frame, first, error))?;
        let counted = possession::check_record(identity, &record);
        without += counted.map_err(|wrong| fault(frame, wrong.sequence, wrong))?;
    }
    Ok(without)
}

/// Checks the computed leaves against the stored or dropped ones.
fn check_leaves(frame: &StoredFrame, leaves: &[Hash]) -> Result<(), LogVerifyFault> {
    let first = frame.header().first_sequence;
    if let Some(stored) = frame.section(SectionKind::Leaves) {
        let (stored, _) = stored.as_chunks::<32>();
        let mut pairs = stored.iter().zip(leaves);
        if let Some(at) = pairs.position(|(stored, leaf)| *stored != leaf.0) {
            let what = "the stored action does not hash to its leaf";
            return Err(fault(frame, first + at as u64, what));
        }
    }
    if frame.names_leaves(leaves) {
        Ok(())
    } else {
        let what = "the actions do not hash to the leaves that were dropped";
        Err(fault(frame, first, what))
    }
}

/// Checks that batches are consecutive, and that every request is in one, at its stated place and within the batch's
/// bounds and times; returns the batches with the indices of their first leaves.
fn placed(
    frame: &StoredFrame,
    batches: Vec<SignedBatch>,
    requests: &[PackedRequest<'_>],
    leaves: usize,
) -> Result<Vec<(SignedBatch, usize)>, LogVerifyFault> {
    let first = frame.header().first_sequence;
    let other_actions = || {
        let what = "the batches and the requests do not hold the same actions";
        fault(frame, first, what)
    };
    let mut next = requests.iter();
    let mut done = 0;
    let mut placed = Vec::with_capacity(batches.len());
    for (batch, number) in batches.into_iter().zip(frame.header().first_batch..) {
        if batch.header.number != number {
            return Err(fault(frame, first, "the batches' numbers have a gap"));
        }
        let end = done + batch.header.count as usize;
        if batch.header.first_sequence != first + done as u64 || end > leaves {
            return Err(other_actions());
        }
        let mut inside = done;
        while inside < end {
            let Some(request) = next.next() else { break };
            placed_right(request, &batch, inside - done)
                .map_err(|what| fault(frame, first + inside as u64, what))?;
            inside += request.count();
        }
        if inside != end {
            let what = "a request crosses the edge of its batch";
            return Err(fault(frame, first, what));
        }
        placed.push((batch, done));
        done = end;
    }
    if done == leaves {
        Ok(placed)
    } else {
        Err(other_actions())
    }
}

/// Checks a request's stated place, batch bounds and times.
fn placed_right(
    request: &PackedRequest<'_>,
    batch: &SignedBatch,
    place: usize,
) -> Result<(), &'static str> {
    let (header, request) = (&batch.header, request.head());
    if request.batch_number != header.number || request.first_leaf_index as usize != place {
        return Err("the request does not name its own place");
    }
    if request.timestamp_ms > header.sealed_at_ms
        || request.timestamp_ms > request.head.deadline_s.saturating_mul(1000)
    {
        return Err("the request's time is after its batch or its deadline");
    }
    Ok(())
}

/// Time of the first and of the last request; times must not decrease.
fn times(requests: &[PackedRequest<'_>]) -> Result<Option<(u64, u64)>, &'static str> {
    let mut times = None;
    for request in requests {
        let time = request.head().timestamp_ms;
        let (begin, last) = times.unwrap_or((time, time));
        if time < last {
            return Err("a request's time is before the previous request's");
        }
        times = Some((begin, time));
    }
    Ok(times)
}

/// Checks a batch on its own, except its signature; `head` is computed from its leaves.
fn check_batch(batch: &SignedBatch, leaves: &[Hash], head: Hash) -> Result<(), String> {
    let header = &batch.header;
    let holds = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    holds(
        (1..=BATCH_ACTIONS_MAX).contains(&leaves.len()),
        "the batch's count is not 1 to 500",
    )?;
    holds(header.state == Hash::ZERO, "the header's state is not zero")?;
    holds(
        head == header.head,
        "the leaves do not lead to the header's head",
    )?;
    let root = BatchTree::new(leaves).root();
    holds(
        root == header.root,
        "the leaves do not lead to the header's root",
    )
}

/// The signer of a batch, which must be the one that the plan trusts.
fn signer_of(
    batch: &SignedBatch,
    separator: &Hash,
    plan: &LogVerifyPlan,
    signers: &BatchSigners,
) -> Result<Address, String> {
    let header = &batch.header;
    let signer = signers.of(&header.digest(separator), &batch.signature);
    let signer = signer.map_err(|error| format!("the header's signature: {error}"))?;
    match &plan.keys {
        Some(keys) if keys.key_of(header.number) != signer => Err(format!(
            "the header is signed by {signer}, not with the key of batch {}",
            header.number
        )),
        _ => Ok(signer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::simulated::SimulatedEnv;
    use crate::tests::sample::{Writer, open};
    use crate::{Log, ReleaseMark};

    /// An attacker who can compute checksums could add requests to a frame that are in no batch.
    #[test]
    fn every_action_is_in_a_batch_and_no_batch_is_left_out() {
        let env = SimulatedEnv::new();
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        log.append(&Writer::new().frame(3, 4, 0)).unwrap();
        log.durability().sync().unwrap();
        let frame = log.reader().frame(1).unwrap().unwrap();
        let (batches, requests) = (frame.batches().unwrap(), frame.requests().unwrap());
        let check = |batches: Vec<SignedBatch>, actions: usize| {
            let placed = placed(&frame, batches, &requests, actions);
            let places = placed.map(|placed| placed.into_iter().map(|(_, at)| at).collect());
            places.map_err(|fault| fault.to_string())
        };
        assert_eq!(check(batches.clone(), 15), Ok(vec![0, 5, 10]));
        let refused = |batches: Vec<SignedBatch>, actions: usize, why: &str| {
            let error = check(batches, actions).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        refused(batches[..2].to_vec(), 15, "do not hold the same actions");
        refused(batches.clone(), 14, "do not hold the same actions");
        refused(vec![batches[0], batches[2]], 15, "have a gap");
        let mut longer = batches.clone();
        longer[0].header.count += 1;
        refused(longer, 15, "its own place");
        let mut shorter = batches;
        shorter[0].header.count = 3;
        refused(shorter, 15, "the edge of its batch");
    }
}
