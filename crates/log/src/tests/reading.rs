//! Written data reads back: by sequence, by batch, frame by frame, from the open segment and from sealed ones, also
//! during writing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::record::FailedAction;
use proptest::prelude::*;

use super::sample::{Writer, dir, domain, entry, keys, open, open_at, options};
use crate::env::simulated::SimulatedEnv;
use crate::env::{Env, RealEnv};
use crate::frame::SectionKind;
use crate::packed::pack;
use crate::{
    AppendError, FileLog, Frame, Log, LogReader, ReleaseMark, SideEntry, SideError, SideKeys,
};

/// The contents of one frame.
struct Made {
    requests: Vec<(u64, usize, Vec<u8>)>,
    batches: Vec<(SignedBatch, Vec<Hash>)>,
    side: Vec<SideEntry>,
}

fn append(
    log: &mut FileLog,
    writer: &mut Writer,
    batches: &[Vec<(usize, String)>],
    side: usize,
) -> Option<Made> {
    let mut frame = Frame::new();
    let mut made = Made {
        requests: Vec::new(),
        batches: Vec::new(),
        side: Vec::new(),
    };
    for requests in batches {
        let mut leaf = 0;
        let records: Vec<_> = requests
            .iter()
            .map(|(actions, payload)| {
                let record = writer.request(*actions, payload, leaf);
                leaf += *actions as u32;
                record
            })
            .collect();
        let (batch, leaves) = writer.batch(&records);
        for record in &records {
            frame.push_request(record).unwrap();
            let mut packed = Vec::new();
            pack(&mut packed, record);
            made.requests
                .push((record.first_sequence, record.actions.len(), packed));
        }
        frame.push_batch(&batch, &leaves).unwrap();
        made.batches.push((batch, leaves));
    }
    for number in 0..side {
        frame.push_side(entry(writer.next_sequence, number));
        made.side.push(entry(writer.next_sequence, number));
    }
    match log.append(&frame) {
        Ok(_) => Some(made),
        Err(AppendError::Refused(_)) if batches.is_empty() && side == 0 => None,
        Err(error) => panic!("{error}"),
    }
}

fn check(reader: &LogReader, made: &[Made]) {
    assert_eq!(reader.frames(1).count(), made.len());
    for (frame, made) in reader.frames(1).zip(made) {
        let frame = frame.unwrap();
        frame.check_digests().unwrap();
        let packed: Vec<Vec<u8>> = frame
            .packed()
            .unwrap()
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        let expected: Vec<Vec<u8>> = made
            .requests
            .iter()
            .map(|(_, _, bytes)| bytes.clone())
            .collect();
        assert_eq!(packed, expected);
        let batches: Vec<SignedBatch> = made.batches.iter().map(|(batch, _)| *batch).collect();
        assert_eq!(frame.batches().unwrap(), batches);
        let leaves: Vec<Hash> = made
            .batches
            .iter()
            .flat_map(|(_, leaves)| leaves.clone())
            .collect();
        assert_eq!(frame.leaves().unwrap(), leaves);
        assert_eq!(frame.side(&reader.identity(), &keys()).unwrap(), made.side);
    }
    for made in made {
        for (first, actions, bytes) in &made.requests {
            for sequence in *first..first + *actions as u64 {
                let found = reader.request_at(sequence).unwrap().unwrap();
                assert_eq!((found.first_sequence, &found.bytes), (*first, bytes));
                // The second read of a long request fetches only a part of it.
                for _ in 0..2 {
                    let alone = reader.action_at(sequence).unwrap().unwrap();
                    let packed = found.packed().unwrap();
                    let position = (sequence - first) as usize;
                    assert_eq!((alone.position, alone.count), (position, *actions));
                    assert_eq!(&alone.request, packed.head());
                    let record = packed.action(position).unwrap();
                    assert_eq!(alone.record().unwrap(), record);
                }
            }
        }
        for (batch, leaves) in &made.batches {
            let number = batch.header.number;
            assert_eq!(reader.batch(number).unwrap(), Some(*batch));
            let found = reader.batch_with_leaves(number).unwrap();
            assert_eq!(found, Some((*batch, leaves.clone())));
        }
    }
    let end = reader.position();
    assert_eq!(reader.request_at(end.next_sequence).unwrap(), None);
    assert_eq!(reader.request_at(0).unwrap(), None);
    assert_eq!(reader.request_at(u64::MAX).unwrap(), None);
    for outside in [end.next_sequence, 0, u64::MAX] {
        assert!(reader.action_at(outside).unwrap().is_none());
    }
    assert_eq!(reader.batch(end.next_batch).unwrap(), None);
    assert!(reader.frame(end.frame + 1).unwrap().is_none());
}

/// Batches of requests, each with a number of actions and their payload; and the number of side entries.
type Shape = (Vec<Vec<(usize, String)>>, usize);

fn frames() -> impl Strategy<Value = Vec<Shape>> {
    // The longer requests are read in parts.
    let request = prop_oneof![
        9 => (1..30usize, "[a-z#é]{0,200}"),
        1 => (40..80usize, "[a-z#]{100,120}"),
    ];
    let batches = prop::collection::vec(prop::collection::vec(request, 1..4), 0..3);
    prop::collection::vec((batches, 0..4usize), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read(frames in frames(), seal: bool) {
        let env = SimulatedEnv::new();
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        let mut writer = Writer::new();
        let mut made = Vec::new();
        for (batches, side) in &frames {
            made.extend(append(&mut log, &mut writer, batches, *side));
        }
        // Closing a segment syncs it.
        let rolled = log.reader().segments().len() > 1;
        prop_assert_eq!(log.reader().frame(1).unwrap().is_some(), rolled, "nothing is seen before a sync");
        log.durability().sync().unwrap();
        check(&log.reader(), &made);
        let reader = log.reader();
        while seal && log.maintenance().seal_next().unwrap().is_some() {
            check(&reader, &made);
        }
        drop(log);
        let (log, recovery) = open(&env, ReleaseMark::default()).unwrap();
        prop_assert_eq!(recovery, crate::LogRecovery::default());
        check(&log.reader(), &made);
        // The log can be continued.
        made.extend(append(&mut { log }, &mut writer, &[vec![(2, "#".to_owned())]], 1));
        let (log, _) = open(&env, ReleaseMark::default()).unwrap();
        check(&log.reader(), &made);
    }
}

#[test]
fn an_action_of_a_long_request_is_read_alone() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    let mut record = writer.request(300, &"word # ".repeat(20), 0);
    let (batch, leaves) = writer.batch(std::slice::from_ref(&record));
    // Refused actions stand before the others, and make that part long too.
    record.failed = (300..500)
        .map(|index| FailedAction {
            index,
            action_hash: Hash([index as u8; 32]),
        })
        .collect();
    let mut frame = Frame::new();
    frame.push_request(&record).unwrap();
    frame.push_batch(&batch, &leaves).unwrap();
    log.append(&frame).unwrap();
    log.durability().sync().unwrap();
    let reader = log.reader();
    for sequence in [1, 300, 150, 2, 1] {
        let found = reader.action_at(sequence).unwrap().unwrap();
        let expected = &record.actions[sequence as usize - 1];
        assert_eq!(&found.record().unwrap(), expected);
        assert_eq!(found.request.failed, record.failed);
        assert_eq!(found.count, 300);
    }
}

#[test]
fn sealing_drops_leaves_that_requests_give_and_keeps_others() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    let record = writer.request(2, "#", 0);
    let (batch, leaves) = writer.batch(std::slice::from_ref(&record));
    let mut strange = Frame::new();
    strange.push_request(&record).unwrap();
    let swapped = [leaves[1], leaves[0]];
    strange.push_batch(&batch, &swapped).unwrap();
    log.append(&strange).unwrap();
    for _ in 0..12 {
        log.append(&writer.frame(1, 9, 1)).unwrap();
    }
    log.durability().sync().unwrap();
    let sealed = log.maintenance().seal_next().unwrap().unwrap();
    assert_eq!(sealed.leaves_kept, 1);
    let reader = log.reader();
    let first = reader.frame(1).unwrap().unwrap();
    assert!(first.section(SectionKind::Leaves).is_some());
    let second = reader.frame(2).unwrap().unwrap();
    assert_eq!(second.section(SectionKind::Leaves), None);
    assert_eq!(second.leaves().unwrap().len(), 10);
    assert_eq!(first.leaves().unwrap(), swapped);
}

#[test]
fn side_entries_open_with_their_key_alone() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(0, 0, 5)).unwrap();
    log.append(&writer.frame(0, 0, 5)).unwrap();
    log.durability().sync().unwrap();
    let reader = log.reader();
    let frames: Vec<_> = reader.frames(1).map(Result::unwrap).collect();
    let identity = reader.identity();
    let secret = entry(1, 4).value.unwrap();
    let file = env
        .contents(&dir().join("00000000000000000001-00000000000000000001.log"))
        .unwrap();
    assert!(!file.windows(secret.len()).any(|window| window == secret));
    let sections = frames
        .iter()
        .map(|frame| frame.section(SectionKind::Side).unwrap());
    let [one, two] = sections.collect::<Vec<_>>().try_into().unwrap();
    assert_ne!(one[10..], two[10..], "equal entries are sealed differently");
    assert_eq!(
        frames[0].side(&identity, &SideKeys::none()),
        Err(SideError::NoKey(3))
    );
    let wrong = SideKeys::one(3, [8; 32]);
    assert_eq!(frames[0].side(&identity, &wrong), Err(SideError::Closed(3)));
    assert_eq!(
        frames[0].side(&Hash::ZERO, &keys()),
        Err(SideError::Closed(3))
    );
    // A part opens only in its own frame.
    assert_eq!(keys().open(&identity, 2, one), Err(SideError::Closed(3)));
    assert_eq!(keys().open(&identity, 1, one).unwrap().len(), 5);
    // Another key seals from the next opening on; both keys open.
    drop(log);
    let mut both = keys();
    both.add(4, [7; 32]);
    let env: Arc<dyn Env> = Arc::new(env);
    let opened = FileLog::open(
        env,
        &dir(),
        domain().separator(),
        &both,
        ReleaseMark::default(),
        options(),
    );
    let (mut log, _) = opened.unwrap();
    log.append(&writer.frame(0, 0, 2)).unwrap();
    log.durability().sync().unwrap();
    for frame in log.reader().frames(1) {
        let frame = frame.unwrap();
        assert!(!frame.side(&identity, &both).unwrap().is_empty());
        let known = frame.side(&identity, &keys()).is_ok();
        assert_eq!(known, frame.header().number < 3);
    }
}

#[test]
fn frames_that_contradict_the_log_are_refused() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    assert!(matches!(
        log.append(&Frame::new()),
        Err(AppendError::Refused(_))
    ));
    let first = writer.frame(1, 2, 0);
    let second = writer.frame(1, 2, 0);
    assert!(matches!(log.append(&second), Err(AppendError::Refused(_))));
    log.append(&first).unwrap();
    assert!(matches!(log.append(&first), Err(AppendError::Refused(_))));
    log.append(&second).unwrap();
    let mut frame = Frame::new();
    frame.push_request(&writer.request(1, "", 0)).unwrap();
    assert!(matches!(log.append(&frame), Err(AppendError::Refused(_))));
    let gap = writer.request(1, "", 0);
    assert!(
        frame.push_request(&writer.request(1, "", 0)).is_err(),
        "{}",
        gap.first_sequence
    );
    assert_eq!(log.position().frame, 2);
}

/// Stops the other threads, even if a check fails.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn readers_and_one_writer_run_at_once_on_real_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let (mut log, _) = open_at(Arc::clone(&env), &path, ReleaseMark::default()).unwrap();
    let (reader, maintenance) = (log.reader(), log.maintenance());
    let done = AtomicBool::new(false);
    let mut made = Vec::new();
    std::thread::scope(|scope| {
        let _ends = OnDrop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                maintenance.prepare().unwrap();
                maintenance.seal_next().unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..2 {
            let reader = reader.clone();
            let done = &done;
            scope.spawn(move || {
                let mut frames = reader.frames(1);
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    for frame in frames.by_ref() {
                        seen += 1;
                        assert_eq!(frame.unwrap().header().number, seen);
                    }
                    let end = reader.position();
                    for sequence in end.next_sequence.saturating_sub(5).max(1)..end.next_sequence {
                        assert!(reader.request_at(sequence).unwrap().is_some());
                    }
                }
            });
        }
        let mut writer = Writer::new();
        for round in 0..100usize {
            let text = format!("{}#", "x".repeat(round * 7 % 900));
            made.extend(append(
                &mut log,
                &mut writer,
                &[vec![(1 + round % 20, text)]],
                round % 2,
            ));
            log.durability().sync().unwrap();
        }
    });
    check(&reader, &made);
    assert!(reader.segments().len() > 4);
    drop(log);
    let (log, _) = open_at(env, &path, ReleaseMark::default()).unwrap();
    check(&log.reader(), &made);
    let (reader, _) = LogReader::open(Arc::new(RealEnv), &path, None, 1 << 20).unwrap();
    check(&reader, &made);
}

// Holds invariant 159.
#[test]
fn the_key_of_side_entries_changes_between_two_frames() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(0, 0, 2)).unwrap();
    let mut all = keys();
    all.add(4, [7; 32]);
    assert_eq!(log.seal_with(&all).unwrap(), Some(4));
    log.append(&writer.frame(1, 2, 2)).unwrap();
    log.append(&writer.frame(1, 2, 0)).unwrap();
    // An older key never replaces a newer one, and the same key is not installed twice.
    assert_eq!(log.seal_with(&keys()).unwrap(), Some(4));
    assert_eq!(log.seal_with(&SideKeys::none()).unwrap(), Some(4));
    assert_eq!(log.seal_with(&SideKeys::one(4, [6; 32])).unwrap(), Some(4));
    log.append(&writer.frame(0, 0, 2)).unwrap();
    log.durability().sync().unwrap();

    let reader = log.reader();
    let frames: Vec<_> = reader.frames(1).map(Result::unwrap).collect();
    let named = frames.iter().map(|frame| frame.side_keys().unwrap());
    assert_eq!(
        named.collect::<Vec<_>>(),
        [vec![3], vec![4], vec![], vec![4]]
    );
    let newest = |count| reader.newest_with_side(count).unwrap();
    assert_eq!(newest(1).unwrap().header().number, 4);
    let open = |frame: usize, keys: &SideKeys| frames[frame].side(&reader.identity(), keys);
    for frame in [0, 1, 3] {
        assert_eq!(open(frame, &all).unwrap().len(), 2);
    }
    assert_eq!(
        open(0, &SideKeys::one(4, [7; 32])),
        Err(SideError::NoKey(3))
    );
    assert_eq!(open(1, &keys()), Err(SideError::NoKey(4)));
    let plan = crate::verify::LogVerifyPlan {
        side_keys: Some(all.clone()),
        ..crate::verify::LogVerifyPlan::default()
    };
    let summary = crate::verify::verify(&reader, &plan, |_| ()).unwrap();
    assert_eq!(summary.side_entries, 6);
    assert_eq!(summary.side_keys, [3, 4].into());
}
