//! Disk space per update after compaction, by table, from RocksDB's list of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_load::figures::{grouped, print, table, write_json};
use kedge_load::machine::HostMachine;
use rocksdb::{DB, Env, Options as RocksOptions};
use serde::Serialize;

use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::fill;
use crate::requests::{RequestPlan, RequestShape};
use crate::server::{BenchOptions, BenchServer};

/// Tables that explain the updates: requests, leaves, headers, the log tree, the indexes of actions, and every
/// thousandth version of the objects.
const LOG_AND_HISTORY: [&str; 8] = [
    "log",
    "actions",
    "requests_by_org",
    "leaves",
    "batches",
    "batch_ids",
    "tree",
    "milestones",
];
/// Current objects and their indexes.
const OBJECTS_AND_INDEXES: [&str; 3] = ["objects", "object_index", "property_index"];

/// How the store is filled.
#[derive(clap::Args, Serialize)]
pub(crate) struct DiskBenchOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    /// Updates whose bytes are counted.
    #[arg(long, default_value_t = 2_000_000)]
    updates: u64,
}

#[derive(Serialize)]
struct DiskBenchReport<'a> {
    program: &'static str,
    version: &'static str,
    options: &'a DiskBenchOptions,
    machine: HostMachine,
    updates: u64,
    /// By table, after compaction, before and after the updates.
    bytes_before: BTreeMap<String, u64>,
    bytes_after: BTreeMap<String, u64>,
}

/// Fills, compacts, and counts the bytes that the updates added.
pub(crate) async fn run(options: &DiskBenchOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let data = scratch.path().join("data");
    let server = BenchServer::start(&options.bench.server, &data)?;
    let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
    let before = server.sequence().await?;
    server.stop()?;
    let bytes_before = compacted(&data)?;

    let plan = Arc::new(RequestPlan::new(&fleet, RequestShape::Batch));
    let server = BenchServer::start(&options.bench.server, &data)?;
    server.ready().await?;
    fill(&server, &plan, before + options.updates).await?;
    let updates = server.sequence().await? - before;
    server.stop()?;
    let report = DiskBenchReport {
        program: "kedge-bench disk",
        version: env!("CARGO_PKG_VERSION"),
        options,
        machine: HostMachine::here(),
        updates,
        bytes_before,
        bytes_after: compacted(&data)?,
    };
    print(&report.table())?;
    Ok(write_json(&report, options.bench.json.as_deref())?)
}

/// RocksDB's folder in a stopped server's directory.
fn database(data: &Path) -> BenchResult<PathBuf> {
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.join("CURRENT").exists() {
            return Ok(folder);
        }
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Err(format!("{} holds no RocksDB", data.display()).into())
}

/// Compacts a stopped server's tables, with the options of each, and returns their sizes.
fn compacted(data: &Path) -> BenchResult<BTreeMap<String, u64>> {
    let path = database(data)?;
    let cache = rocksdb::Cache::new_lru_cache(64 * 1024 * 1024);
    let (options, families): (RocksOptions, Vec<_>) =
        RocksOptions::load_latest(&path, Env::new()?, true, cache)?;
    let names: Vec<String> = families
        .iter()
        .map(|family| family.name().to_owned())
        .collect();
    let db = DB::open_cf_descriptors(&options, &path, families)?;
    let mut wait = rocksdb::CompactOptions::default();
    // Includes files that are in the last level already: they may have moved there unchanged.
    wait.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
    let mut bytes = BTreeMap::new();
    for name in names {
        let family = db.cf_handle(&name).ok_or("a table that is not open")?;
        db.flush_cf(&family)?;
        db.compact_range_cf_opt(&family, None::<&[u8]>, None::<&[u8]>, &wait);
        bytes.insert(name, 0);
    }
    for file in db.live_files()? {
        *bytes.entry(file.column_family_name).or_default() += file.size as u64;
    }
    Ok(bytes)
}

impl DiskBenchReport<'_> {
    fn added(&self, name: &str) -> f64 {
        let of = |bytes: &BTreeMap<String, u64>| bytes.get(name).copied().unwrap_or(0) as f64;
        of(&self.bytes_after) - of(&self.bytes_before)
    }

    fn table(&self) -> String {
        let updates = self.updates as f64;
        let of = |names: &[&str]| -> f64 { names.iter().map(|name| self.added(name)).sum() };
        let others: Vec<&str> = self
            .bytes_after
            .keys()
            .map(String::as_str)
            .filter(|name| !LOG_AND_HISTORY.contains(name) && !OBJECTS_AND_INDEXES.contains(name))
            .collect();
        let row = |what: &str, bytes: f64| {
            vec![
                what.to_owned(),
                grouped(bytes),
                format!("{:.1}", bytes / updates),
            ]
        };
        let mut rows = vec![
            row("log and history", of(&LOG_AND_HISTORY)),
            row("objects and indexes", of(&OBJECTS_AND_INDEXES)),
            row("all others", of(&others)),
        ];
        let each = LOG_AND_HISTORY.iter().chain(&OBJECTS_AND_INDEXES);
        rows.extend(each.map(|name| row(&format!("  {name}"), self.added(name))));
        format!(
            "\n{}\n{} updates in batches of 500; all tables compacted before and after.\n",
            table(&["what", "bytes added", "an update"], &rows),
            grouped(updates),
        )
    }
}
