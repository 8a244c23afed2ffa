//! The times of sampled requests, as an observer gets them.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use kedge_actors::Engine;
use kedge_actors::timing::{
    AnchorRound, GroupStage, GroupTiming, RequestStage, RequestTiming, SampledRequest,
    SpanObserver, SpanRef,
};

use crate::support::*;

const REQUEST: SpanRef = SpanRef {
    trace_id: 7,
    span_id: 8,
};
const GROUP: SpanRef = SpanRef {
    trace_id: 9,
    span_id: 10,
};

/// A group's span, the spans of its requests, and the times of its steps.
type CommittedGroup = (SpanRef, Vec<SpanRef>, Vec<Option<Instant>>);

/// Records its calls.
#[derive(Default)]
struct Noting {
    engine: OnceLock<Engine>,
    /// Each durable request, with the visible sequence at that moment.
    placed: Mutex<Vec<(SampledRequest, u64)>>,
    committed: Mutex<Vec<CommittedGroup>>,
}

impl SpanObserver for Noting {
    fn group_span(&self) -> SpanRef {
        GROUP
    }

    fn placed(&self, members: &[SampledRequest]) {
        let visible = self.engine.get().unwrap().published().head.sequence;
        let members = members.iter().map(|member| (*member, visible));
        self.placed.lock().unwrap().extend(members);
    }

    fn committed(&self, group: &GroupTiming, members: &[SampledRequest]) {
        let steps = [
            GroupStage::Begun,
            GroupStage::Formed,
            GroupStage::Appended,
            GroupStage::Synced,
            GroupStage::Applied,
            GroupStage::Published,
        ];
        let times = steps.map(|step| group.at(step)).to_vec();
        let of = members.iter().map(|member| member.span).collect();
        self.committed.lock().unwrap().push((group.span, of, times));
    }

    fn anchored(&self, _: &AnchorRound) {}
}

const STEPS: [RequestStage; 5] = [
    RequestStage::Sent,
    RequestStage::Begun,
    RequestStage::Decided,
    RequestStage::Placed,
    RequestStage::Taken,
];

/// All times are there, and none is earlier than the one before.
fn in_order(times: &[Option<Instant>]) {
    let times: Vec<Instant> = times.iter().map(|time| time.unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

// Holds invariant 198.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sampled_request_passes_every_step_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let observer = Arc::new(Noting::default());
    assert!(observer.engine.set(engine.clone()).is_ok());
    let ann = register(&engine, 1).await;
    let of_ann = template(&engine, &ann, r#"{"name":"timed"}"#).await;
    assert!(
        observer.placed.lock().unwrap().is_empty(),
        "nothing is sampled"
    );

    // One request is done and one refused: both are in a group.
    for (kind, target, sequence) in [("mint", of_ann.as_str(), true), ("burn", "nothing", false)] {
        let begun = Instant::now();
        let noting = Arc::clone(&observer) as Arc<dyn SpanObserver>;
        let timing = Arc::new(RequestTiming::new(REQUEST, begun, noting));
        let mut sent = ann.sign(ann.next_nonce(), false, &[(kind, target, "{}")]);
        sent.submission.timing = Some(Arc::clone(&timing));
        let outcome = engine.submit(sent.submission).await.unwrap();

        let mut times: Vec<_> = STEPS.map(|step| timing.at(step)).to_vec();
        times.insert(0, Some(begun));
        let group = timing.group().unwrap();
        times.push(group.at(GroupStage::Formed));
        times.push(group.at(GroupStage::Published));
        times.push(Some(Instant::now()));
        in_order(&times);
        assert_eq!(group.span, GROUP);
        let (member, visible) = observer.placed.lock().unwrap().pop().unwrap();
        assert_eq!(member.span, REQUEST);
        let placement = outcome.placement.map(|placement| placement.first_sequence);
        assert_eq!(placement.is_some(), sequence, "{kind}");
        assert_eq!(member.first_sequence, placement.unwrap_or(0));
        assert_eq!(member.count, u32::from(sequence));
        if sequence {
            assert!(
                visible < member.first_sequence,
                "it was readable before it was reported"
            );
        }
    }
    engine.shutdown(std::time::Duration::from_secs(20)).await;
    let committed = observer.committed.lock().unwrap();
    assert_eq!(committed.len(), 2);
    for (span, members, times) in committed.iter() {
        assert_eq!((*span, members.as_slice()), (GROUP, [REQUEST].as_slice()));
        in_order(times);
    }
}
