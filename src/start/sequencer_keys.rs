//! Sequencer keys at the start: the keys of this server, and the check that one of them signs the next batch.

use std::time::Duration;

use kedge_actors::{Engine, HeldKeys};
use kedge_chain::contract::AnchorContract;
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_protocol::{Address, KeyActivation};
use kedge_storage::{Store, StoreMode, StoreReadError};

use super::{ChainConnection, RunError};

/// Time for which the start waits for the contract's list of keys. A slower node is asked again later.
const CONTRACT_PATIENCE: Duration = Duration::from_secs(5);

const VARIABLE: &str = "KEDGE_SEQUENCER_KEY";
const NEXT_VARIABLE: &str = "KEDGE_NEXT_SEQUENCER_KEY";

/// None of the keys signs the next batch.
#[derive(Debug, thiserror::Error)]
#[error(
    "the next batch has number {number}, and the log names the sequencer key {wanted} for it (from batch {from_batch} on); this server holds {held}. Start it with the key {wanted}: sequencer_key_file or next_sequencer_key_file. The data directory is intact, and nothing was changed"
)]
pub struct WrongKeyError {
    number: u64,
    wanted: Address,
    from_batch: u64,
    held: String,
}

/// The key that begins a new log, and all keys of this server: the operator's, or a development server's own.
pub(super) fn held(config: &Config) -> Result<(Address, HeldKeys), SecretError> {
    let named = |variable| std::env::var_os(variable).is_some();
    let file = config.sequencer_key_file.as_deref();
    let first = if config.dev && file.is_none() && !named(VARIABLE) {
        secrets::development_key(&config.keys_dir().join("sequencer.key"))?
    } else {
        secrets::signing_key(file, "sequencer_key_file", VARIABLE)?
    };
    let file = config.next_sequencer_key_file.as_deref();
    let next = if file.is_some() || named(NEXT_VARIABLE) {
        let option = "next_sequencer_key_file";
        Some(secrets::signing_key(file, option, NEXT_VARIABLE)?)
    } else {
        None
    };
    Ok((first.address(), HeldKeys::new(first, next)))
}

/// Refuses to start if the next batch could not be signed. A store that accepts no writes is served anyway, because
/// nothing is signed. So is a cluster's node: the others may have got further, and it leads only with the key of the
/// next batch at that time.
pub(super) fn check(store: &Store, keys: &HeldKeys, is_shared: bool) -> Result<(), RunError> {
    if is_shared || store.mode() != StoreMode::ReadWrite {
        return Ok(());
    }
    let (number, entry) = next(store)?;
    if keys.get(entry.key).is_some() {
        return Ok(());
    }
    let held: Vec<String> = keys.addresses().iter().map(Address::to_string).collect();
    Err(WrongKeyError {
        number,
        wanted: entry.key,
        from_batch: entry.from_batch,
        held: held.join(" and "),
    }
    .into())
}

fn next(store: &Store) -> Result<(u64, KeyActivation), StoreReadError> {
    let snapshot = store.snapshot();
    let number = snapshot.head()?.batches;
    Ok((number, snapshot.sequencer_keys()?.entry_of(number)))
}

/// Reads the contract's keys before anything is signed, if the node answers in time.
pub(super) async fn ask_contract(chain: &ChainConnection, engine: &Engine) {
    let contract = AnchorContract::new(chain.rpc().clone(), chain.contract());
    match tokio::time::timeout(CONTRACT_PATIENCE, engine.read_contract(&contract)).await {
        Ok(Ok(keys)) => engine.note_contract_keys(keys).await,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the contract's sequencer keys cannot be read yet");
        }
        Err(_) => tracing::warn!("the contract's sequencer keys cannot be read yet"),
    }
}
