//! Verification finds changes by an attacker who can compute every checksum.

use kedge_protocol::{Address, Hash, SequencerKeys};

use super::sample::{Writer, key, keys, open};
use crate::env::simulated::SimulatedEnv;
use crate::verify::{LogVerifyFault, LogVerifyPlan, verify};
use crate::{Frame, Log, LogReader, ReleaseMark};

fn plan() -> LogVerifyPlan {
    LogVerifyPlan {
        keys: Some(SequencerKeys::from(key().address())),
        request_signatures: true,
        side_keys: Some(keys()),
    }
}

fn log_of(frames: Vec<Frame>) -> (SimulatedEnv, LogReader) {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    for frame in frames {
        log.append(&frame).unwrap();
    }
    log.durability().sync().unwrap();
    while log.maintenance().seal_next().unwrap().is_some() {}
    (env, log.reader())
}

#[test]
fn a_log_is_checked_whole() {
    let mut writer = Writer::new();
    let frames = (0..12).map(|round| writer.frame(round % 3, 5, 1)).collect();
    let (_, reader) = log_of(frames);
    let mut seen = 0;
    let summary = verify(&reader, &plan(), |sequence| seen = sequence).unwrap();
    assert_eq!(
        (
            summary.frames,
            summary.batches,
            summary.requests,
            summary.actions
        ),
        (12, 12, 24, 72)
    );
    assert_eq!(
        (summary.side_entries, seen, summary.histories),
        (12, 72, true)
    );
    assert_eq!(summary.signers, [(0, key().address())]);
}

#[test]
fn another_key_is_named() {
    let mut writer = Writer::new();
    let (_, reader) = log_of(vec![writer.frame(2, 5, 0)]);
    let keys = SequencerKeys::from(Address([1; 20]));
    let plan = LogVerifyPlan {
        keys: Some(keys),
        ..plan()
    };
    let error = verify(&reader, &plan, |_| {}).unwrap_err();
    assert!(error.to_string().contains("is signed by"), "{error}");
}

/// Verifies frames, the second one changed before writing.
fn changed(request_signatures: bool, change: impl FnOnce(&mut Writer) -> Frame) -> String {
    let mut writer = Writer::new();
    let first = writer.frame(1, 5, 0);
    let second = change(&mut writer);
    let (_, reader) = log_of(vec![first, second]);
    let plan = LogVerifyPlan {
        request_signatures,
        ..plan()
    };
    match verify(&reader, &plan, |_| {}) {
        Err(fault @ LogVerifyFault::Wrong { frame: 2, .. }) => fault.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_changed_is_named() {
    let one = |writer: &mut Writer,
               edit: fn(&mut kedge_protocol::record::RequestRecord<'static>)| {
        let record = writer.request(3, "#", 0);
        let (batch, leaves) = writer.batch(std::slice::from_ref(&record));
        let mut frame = Frame::new();
        let mut record = record;
        edit(&mut record);
        frame.push_request(&record).unwrap();
        frame.push_batch(&batch, &leaves).unwrap();
        frame
    };
    let text = changed(false, |writer| {
        one(writer, |record| record.actions[1].payload = "other".into())
    });
    assert!(
        text.contains("sequence 8: the stored action does not hash"),
        "{text}"
    );
    let text = changed(true, |writer| {
        one(writer, |record| record.first_leaf_index = 1)
    });
    assert!(text.contains("its own place"), "{text}");
    let text = changed(true, |writer| one(writer, |record| record.head.nonce += 1));
    assert!(text.contains("signed by"), "{text}");
    let text = changed(true, |writer| one(writer, |record| record.batch_number = 9));
    assert!(text.contains("its own place"), "{text}");
    let text = changed(true, |writer| {
        let record = writer.request(3, "#", 0);
        let (mut batch, leaves) = writer.batch(std::slice::from_ref(&record));
        batch.header.history = Hash([1; 32]);
        let batch = batch
            .header
            .sign(&super::sample::domain().separator(), &key());
        let mut frame = Frame::new();
        frame.push_request(&record).unwrap();
        frame.push_batch(&batch, &leaves).unwrap();
        frame
    });
    assert!(text.contains("history"), "{text}");
}
