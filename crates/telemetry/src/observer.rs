//! Traces of engine reports: commit groups with sampled requests, and anchors. Each has a separate trace, because many
//! requests share it; links lead to the requests.

use std::time::SystemTime;

use kedge_actors::timing::{
    AnchorRound, GroupStage, GroupTiming, SampledRequest, SpanObserver, SpanRef,
};
use opentelemetry::KeyValue;
use opentelemetry::trace::Status;

use super::span::{ClockEpoch, SpanRecord, nth, unix_ms};
use super::tracer::{TracerState, new_span};

/// Spans of a group: name, begin and end.
const PARTS: [(&str, GroupStage, GroupStage); 5] = [
    ("form", GroupStage::Begun, GroupStage::Formed),
    ("append", GroupStage::Formed, GroupStage::Appended),
    ("sync", GroupStage::Appended, GroupStage::Synced),
    ("apply", GroupStage::Synced, GroupStage::Applied),
    ("publish", GroupStage::Applied, GroupStage::Published),
];

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl SpanObserver for TracerState {
    fn group_span(&self) -> SpanRef {
        // Without randomness the group has no spans.
        new_span().unwrap_or(SpanRef {
            trace_id: 0,
            span_id: 0,
        })
    }

    fn placed(&self, members: &[SampledRequest]) {
        self.recent.add(members);
    }

    fn committed(&self, group: &GroupTiming, members: &[SampledRequest]) {
        let epoch = ClockEpoch::now();
        let at = |step| group.at(step).map(|moment| epoch.time(moment));
        let (begun, ended) = (at(GroupStage::Begun), at(GroupStage::Published));
        let (Some(begun), Some(ended), true) = (begun, ended, group.span.trace_id != 0) else {
            return;
        };
        let mut whole = SpanRecord::new(group.span, None, "commit group", (begun, ended));
        whole.links = members.iter().map(|member| member.span).collect();
        whole.attributes = attributes(members);
        let mut spans = vec![whole];
        for (index, (name, from, to)) in (1..).zip(PARTS) {
            let times: (Option<SystemTime>, Option<SystemTime>) = (at(from), at(to));
            if let (Some(from), Some(to)) = times {
                let of = nth(group.span, index);
                spans.push(SpanRecord::new(of, Some(group.span), name, (from, to)));
            }
        }
        self.export(spans);
    }

    fn anchored(&self, round: &AnchorRound) {
        let Some(of) = new_span() else {
            return;
        };
        let times = (unix_ms(round.begun_ms), unix_ms(round.ended_ms));
        let mut span = SpanRecord::new(of, None, "anchor", times);
        span.attributes = vec![
            KeyValue::new("kedge.anchor.status", round.status),
            KeyValue::new("kedge.anchor.batches", number(round.batches)),
            KeyValue::new("kedge.anchor.attempts", i64::from(round.attempts)),
        ];
        let block = round.block_number;
        let block = block.map(|block| KeyValue::new("kedge.anchor.block", number(block)));
        span.attributes.extend(block);
        if round.status == "failed" {
            span.status = Status::error("the anchor was given up; a later one covers its batches");
        }
        self.export(vec![span]);
    }
}

/// The batches of a group's sampled requests, and the number of requests.
fn attributes(members: &[SampledRequest]) -> Vec<KeyValue> {
    let sampled = number(members.len() as u64);
    let mut attributes = vec![KeyValue::new("kedge.requests.sampled", sampled)];
    let batches = members.iter().filter_map(|member| member.batch);
    if let (Some(first), Some(last)) = (batches.clone().min(), batches.max()) {
        attributes.push(KeyValue::new("kedge.batch.first", number(first)));
        attributes.push(KeyValue::new("kedge.batch.last", number(last)));
    }
    attributes
}
