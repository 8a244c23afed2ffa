//! Benchmark of the log by itself: appending frames of 500 updates with one sync each, sealing, and checking.
//!
//! `cargo run --release -p kedge-log --example speed -- DIR [FRAMES [SEGMENT_BYTES [CHECKS [READS]]]]`; DIR names the
//! disk to measure. If DIR exists, it is only checked, CHECKS times, and READS single requests are read. Half of the
//! frames have the benches' texts, half have payloads that do not compress.

#![allow(clippy::print_stdout, reason = "a measure prints")]

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kedge_log::env::RealEnv;
use kedge_log::verify::{LogVerifyPlan, verify};
use kedge_log::{
    FileLog, Frame, Log, LogMaintenance, LogOptions, LogReader, ReleaseMark, SideKeys,
};
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::next_head;
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Hash, Id, Prefix};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A measurement stops at its first error.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const ACTIONS: usize = 500;
const NOTE_BYTES: usize = 150;

fn random(number: u64) -> Hash {
    keccak(&number.to_be_bytes())
}

fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &random(number))
}

fn record(number: u64, batch: u64, noise: bool, key: &SigningKey) -> RequestRecord<'static> {
    let action = |index: u64| {
        let place = number * ACTIONS as u64 + index;
        let note = if noise {
            let hashes = [0, 1, 2].map(|i| to_hex(&random(place * 3 + i).0));
            hashes.concat()[..NOTE_BYTES].to_owned()
        } else {
            "n".repeat(NOTE_BYTES)
        };
        let resource = id(Prefix::Object, place % 20_000);
        let [state, at] =
            [["in transit", "8.5417"], ["at a depot", "7.4474"]][(number % 2) as usize];
        ActionRecord {
            index: index as u16,
            kind: Kind::Update,
            target: Cow::Owned(resource.to_string()),
            payload: Cow::Owned(format!(
                r#"{{"properties":{{"state":"{state}","step":{},"place":{at},"note":"{note}"}}}}"#,
                number % 2
            )),
            disclosed: None,
            resource,
            version: 2 + place / 20_000,
            previous_integrity: random(place + (1 << 40)),
            previous_sequence: place,
        }
    };
    RequestRecord {
        batch_number: batch,
        first_sequence: 1 + number * ACTIONS as u64,
        first_leaf_index: 0,
        timestamp_ms: 1_700_000_000_000 + number,
        organization_id: id(Prefix::Organization, number % 10),
        wallet_id: id(Prefix::Wallet, number % 10),
        head: RequestHead {
            signer: key.address(),
            nonce: number,
            deadline_s: 1_800_000_000,
            atomic: false,
        },
        signature: Signature([27; 65]),
        salt_seed: random(number),
        actions: (0..ACTIONS as u64).map(action).collect(),
        failed: Vec::new(),
    }
}

fn write(dir: &Path, frames: u64, options: LogOptions, noise: bool) -> Result<()> {
    let key = SigningKey::from_bytes(&[1; 32])?;
    let separator = Hash([7; 32]);
    let keys = SideKeys::none();
    let opened = FileLog::open(
        Arc::new(RealEnv),
        dir,
        separator,
        &keys,
        ReleaseMark::default(),
        options,
    );
    let (mut log, _) = opened?;
    let (durability, maintenance) = (log.durability(), log.maintenance());
    let (mut head, mut tree) = (
        separator,
        TreeFrontier::of_peaks(0, Vec::new()).ok_or("no tree of no batches")?,
    );
    let (mut append_us, mut sync_us, mut bytes) = (0.0, Vec::new(), 0);
    for number in 0..frames {
        let record = record(number, number, noise, &key);
        let leaves = record.leaves(&record.hashes());
        let previous_head = head;
        head = leaves
            .iter()
            .fold(head, |head, leaf| next_head(&head, leaf));
        let header = BatchHeader {
            number,
            first_sequence: record.first_sequence,
            count: ACTIONS as u32,
            previous_head,
            head,
            root: BatchTree::new(&leaves).root(),
            history: tree.root(),
            state: Hash::ZERO,
            sealed_at_ms: record.timestamp_ms,
        };
        tree.append(log_tree::leaf(&header.hash()));
        let batch = header.sign(&separator, &key);
        maintenance.prepare()?;
        let started = Instant::now();
        let mut frame = Frame::new();
        frame.push_request(&record)?;
        frame.push_batch(&batch, &leaves)?;
        // Like a server, which computes the leaves itself.
        frame.set_leaves_follow();
        log.append(&frame)?;
        append_us += started.elapsed().as_secs_f64() * 1e6;
        let started = Instant::now();
        durability.sync()?;
        sync_us.push(started.elapsed().as_secs_f64() * 1e6);
        bytes += frame.bytes_max();
    }
    sync_us.sort_by(f64::total_cmp);
    let actions = (frames as usize * ACTIONS) as f64;
    println!(
        "append {:.3} us an action without the sync; sync of a frame: median {:.0} us, mean {:.0} us; raw {:.0} bytes an action",
        append_us / actions,
        sync_us[sync_us.len() / 2],
        sync_us.iter().sum::<f64>() / frames as f64,
        bytes as f64 / actions,
    );
    seal(&maintenance)
}

fn seal(maintenance: &LogMaintenance) -> Result<()> {
    let (started, before) = (Instant::now(), processor_seconds());
    let (mut actions, mut sealed_bytes, mut raw_bytes) = (0, 0, 0);
    while let Some(sealed) = maintenance.seal_next()? {
        actions += sealed.actions;
        sealed_bytes += sealed.sealed_bytes;
        raw_bytes += sealed.raw_bytes;
    }
    println!(
        "sealed {actions} actions in {:.2} s, {:.3} us of a core each: {:.1} bytes an action of {:.1} without leaves",
        started.elapsed().as_secs_f64(),
        (processor_seconds() - before) * 1e6 / actions as f64,
        sealed_bytes as f64 / actions as f64,
        raw_bytes as f64 / actions as f64,
    );
    Ok(())
}

/// Processor time of all threads so far, if the system reports it. On a machine that also does other work, it
/// is more reliable than the clock.
fn processor_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS_A_SECOND
}

fn check(dir: &Path, checks: u64, reads: u64) -> Result<()> {
    let started = Instant::now();
    let (reader, _) = LogReader::open(Arc::new(RealEnv), dir, None, 64 << 20)?;
    println!("opened in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let actions = reader.position().next_sequence - 1;
    for _ in 0..checks {
        let (started, before) = (Instant::now(), processor_seconds());
        let summary = verify(&reader, &LogVerifyPlan::default(), |_| {})?;
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(summary.actions, actions);
        println!(
            "verified {:.0} actions a second, {:.2} us of a core each",
            actions as f64 / seconds,
            (processor_seconds() - before) * 1e6 / actions as f64
        );
    }
    let started = Instant::now();
    for number in 0..reads {
        let sequence = 1 + (number * 7919 * 500 + number) % actions;
        assert!(reader.request_at(sequence)?.is_some());
    }
    println!(
        "one request by its sequence: {:.0} us",
        started.elapsed().as_secs_f64() * 1e6 / reads.max(1) as f64
    );
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("give a directory")?;
    let mut number = |otherwise: u64| match arguments.next() {
        Some(text) => text.parse(),
        None => Ok(otherwise),
    };
    let frames = number(1500)?;
    let default = LogOptions::default();
    let options = LogOptions {
        segment_bytes: number(default.segment_bytes)?,
        ..default
    };
    let (checks, reads) = (number(1)?, number(2000)?);
    for (name, noise) in [("texts", false), ("noise", true)] {
        println!("{name}:");
        let dir = Path::new(&dir).join(name);
        if !dir.exists() {
            write(&dir, frames, options, noise)?;
        }
        check(&dir, checks, reads)?;
    }
    Ok(())
}
