//! Opening of the store. Before anything is served, its rows are brought up to the log's end and the log's tail is
//! recomputed. Before anything is written, that is compared with the high-water mark and the chain.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::contradiction;
use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::BlockTag;
use kedge_config::{Config, StartAllowances};
use kedge_protocol::Address;
use kedge_replay::catch_up::open_store_where;
use kedge_runtime::env::Env;
use kedge_storage::{
    HighWater, HighWaterMark, KeyId, LogReplicator, MissingMark, SideKeys, Store, StoreAccess,
    StoreMode, StoreReadError, Table,
};
use kedge_upkeep::side_keys;

use super::{ChainConnection, RunError};

/// Time limit for the chain's answer at the start.
const CHAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Number of answers before the chain's contradiction of the store is believed.
const CHAIN_ASKED: usize = 3;
/// Pause between them.
const CHAIN_PAUSE: Duration = Duration::from_millis(500);

/// A lost key on which something in the store depends.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is lost, and the store holds {what}: without this key none of them is valid. Restore the file from a backup. To void all {what} and make a new key, start once with --replace-lost-keys",
    path = .path.display()
)]
pub struct LostKeyError {
    path: PathBuf,
    what: &'static str,
}

pub(super) struct OpenedStore {
    pub(super) store: Arc<Store>,
    /// Whether the chain does not contradict the store.
    pub(super) chain_agrees: bool,
}

impl OpenedStore {
    fn new(store: Store, chain_agrees: bool) -> Self {
        Self {
            store: Arc::new(store),
            chain_agrees,
        }
    }
}

pub(super) async fn open(
    config: &Config,
    env: &Arc<dyn Env>,
    chain: &ChainConnection,
    first_key: Address,
    allowances: StartAllowances,
    replicate: Option<LogReplicator>,
) -> Result<OpenedStore, RunError> {
    let log_path = config.data_dir.join("log");
    let side_keys = side_keys(config, &log_path, allowances)?;
    let mut options = options(config, env, chain, (first_key, side_keys), replicate);
    let mark = HighWater::read(&**env, &config.high_water_path());
    let store = open_where(options.clone(), MissingMark::ReadOnly).await?;
    options.side_keys = at_hand(config, &store, options.side_keys, allowances)?;
    lost_keys(config, &store, allowances)?;
    let is_accepted =
        allowances.missing_high_water_mark && !matches!(mark, HighWaterMark::Released(_));
    let is_shared = options.replicate.is_some();
    if is_shared && !is_accepted {
        // Missing entries may be in the stream: `Engine::watch_anchored` compares once it was read.
        return Ok(OpenedStore::new(store, false));
    }
    let compared = compared(chain, &store).await?;
    match compared {
        ChainComparison::Agrees if is_accepted => {
            drop(store);
            let store = open_where(options, MissingMark::Accepted).await?;
            return Ok(OpenedStore::new(store, true));
        }
        // It leads only once it holds everything that was anchored.
        ChainComparison::Ahead(_) if is_shared => {
            drop(store);
            let store = open_where(options, MissingMark::Accepted).await?;
            return Ok(OpenedStore::new(store, false));
        }
        ChainComparison::Agrees => return Ok(OpenedStore::new(store, true)),
        // It may lead only after another comparison, once it has read the stream.
        ChainComparison::Contradicts(why) if is_shared => tracing::warn!(why),
        // The anchor actor asks again, and looks for a signature of the sequencer.
        ChainComparison::Ahead(why) | ChainComparison::Contradicts(why) => store.set_read_only(format!(
            "{why}. Unless a signature of this log's sequencer proves that, writes are accepted \
             again once the node no longer claims it"
        )),
        // With a mark the server serves: the mark states how far headers were released.
        ChainComparison::Unknown(why) => tracing::warn!(
            why,
            "the chain could not be asked before the first write; unused files stay until a start that can ask it"
        ),
    }
    if is_accepted {
        tracing::error!(
            "--accept-missing-high-water-mark had no effect: without a mark the chain is the only witness of what was released, and it does not agree"
        );
    }
    Ok(OpenedStore::new(store, false))
}

/// The only place where the configuration becomes a store.
fn options(
    config: &Config,
    env: &Arc<dyn Env>,
    chain: &ChainConnection,
    (sequencer, side_keys): (Address, SideKeys),
    replicate: Option<LogReplicator>,
) -> kedge_storage::StoreOptions {
    kedge_storage::StoreOptions {
        path: config.data_dir.join("store"),
        log_path: config.data_dir.join("log"),
        domain: chain.domain(),
        sequencer,
        side_keys,
        high_water_path: Some(config.high_water_path()),
        block_cache_bytes: config.block_cache_bytes,
        memtable_bytes: config.memtable_bytes,
        replay_bytes_max: config.replay_bytes_max,
        segments: kedge_storage::LogOptions {
            cache_bytes: config.log_cache_bytes,
            ..kedge_storage::LogOptions::default()
        },
        access: StoreAccess::Write,
        replicate,
        env: Arc::clone(env),
    }
}

async fn open_where(
    options: kedge_storage::StoreOptions,
    missing: MissingMark,
) -> Result<Store, RunError> {
    let opened = move || open_store_where(options, missing);
    Ok(tokio::task::spawn_blocking(opened).await??)
}

/// The keys that seal the log's side entries; the first one is made together with the log.
fn side_keys(
    config: &Config,
    log: &Path,
    allowances: StartAllowances,
) -> Result<SideKeys, RunError> {
    let folder = config.keys_dir();
    let keys = side_keys::read(&folder)?;
    if !keys.is_empty() {
        return Ok(keys);
    }
    let is_new = std::fs::read_dir(log).map_or(true, |mut files| files.next().is_none());
    if is_new {
        return Ok(side_keys::make(&folder, side_keys::FIRST)?);
    }
    replaced_side_key(&folder, side_keys::FIRST, allowances)
}

/// Replaces a lost key, if the operator allows it.
fn replaced_side_key(
    folder: &Path,
    lost: KeyId,
    allowances: StartAllowances,
) -> Result<SideKeys, RunError> {
    let path = folder.join(side_keys::name(lost));
    let what = "side entries (password hashes, sessions, webhooks' secrets and deliveries)";
    if !allowances.replace_lost_keys {
        return Err(LostKeyError { path, what }.into());
    }
    let (path, number) = (path.display(), side_keys::unused());
    tracing::warn!(
        %path,
        number,
        "the key that seals the log's side entries was lost; a new one is made, and entries sealed \
         under the old one stay unreadable"
    );
    Ok(side_keys::make(folder, number)?)
}

/// The keys to seal with. They must include one as new as the newest side entries: if an older copy of the keys' folder
/// was restored, the next rotation would reuse the number of a lost key.
fn at_hand(
    config: &Config,
    store: &Store,
    keys: SideKeys,
    allowances: StartAllowances,
) -> Result<SideKeys, RunError> {
    // If the log cannot be read there, its readers report it.
    let named = store.newest_side_key().unwrap_or_else(|error| {
        tracing::warn!(%error, "the key of the log's newest side entries could not be looked up");
        None
    });
    let Some(lost) = named.filter(|_| named > keys.newest()) else {
        return Ok(keys);
    };
    let keys = replaced_side_key(&config.keys_dir(), lost, allowances)?;
    if store.mode() == StoreMode::ReadWrite {
        store.seal_with(&keys)?;
    }
    Ok(keys)
}

fn lost_keys(config: &Config, store: &Store, allowances: StartAllowances) -> Result<(), RunError> {
    let snapshot = store.snapshot();
    for (file, table, what) in [
        ("api-key.key", Table::ApiKeys, "API keys"),
        ("invitation.key", Table::Invitations, "invitations"),
    ] {
        let path = config.keys_dir().join(file);
        if path.exists() || snapshot.is_empty(table)? {
            continue;
        }
        if !allowances.replace_lost_keys {
            return Err(LostKeyError { path, what }.into());
        }
        tracing::warn!(
            file,
            void = what,
            "a key was lost; a new one is made, and what the old one guarded is void"
        );
    }
    Ok(())
}

enum ChainComparison {
    Agrees,
    /// The chain holds batches that the store lacks.
    Ahead(String),
    Contradicts(String),
    Unknown(String),
}

async fn compared(
    chain: &ChainConnection,
    store: &Store,
) -> Result<ChainComparison, StoreReadError> {
    let contract = AnchorContract::new(chain.rpc().clone(), chain.contract());
    let snapshot = store.snapshot();
    let held = snapshot.head()?.batches;
    let mut found = ChainComparison::Agrees;
    for asked in 0..CHAIN_ASKED {
        if asked > 0 {
            // A single answer is not enough to stop all writes.
            tokio::time::sleep(CHAIN_PAUSE).await;
        }
        let latest = tokio::time::timeout(CHAIN_PATIENCE, contract.latest(BlockTag::Latest)).await;
        let latest = match latest {
            Ok(Ok(latest)) => latest,
            Ok(Err(error)) => return Ok(ChainComparison::Unknown(error.to_string())),
            Err(_) => {
                return Ok(ChainComparison::Unknown(
                    "the node does not answer".to_owned(),
                ));
            }
        };
        match contradiction(&snapshot, held, latest.batches, latest.history)? {
            None => return Ok(ChainComparison::Agrees),
            Some(why) if latest.batches > held => found = ChainComparison::Ahead(why),
            Some(why) => found = ChainComparison::Contradicts(why),
        }
    }
    Ok(found)
}
