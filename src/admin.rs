//! Operator commands, over the socket and the operator's page: `{"command": …}` is answered with `{"ok": true, …}` or
//! `{"ok": false, "error": …}`.

mod cluster;
mod command;
mod tiers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_http::auth::keys::SIGNS_AFTER_S;
use kedge_http::clock::now_s;
use kedge_protocol::action::Kind;
use kedge_protocol::time::{parse_rfc3339, rfc3339};
use kedge_protocol::{BatchKeys, Id, KeyActivation, Prefix};
use kedge_storage::Store;
use kedge_upkeep::archive::{self, ArchiveSelection, LocalArchive};
use kedge_upkeep::backup::{self, BackupSource};
use kedge_upkeep::side_keys;
use serde_json::{Map, Value, json};

use self::command::AdminRequest;
use crate::api::services::ApiServices;
use crate::console::socket;
use crate::console::socket::{OperatorSocket, SocketError};
use crate::start::AnchoringTask;

/// Placeholder organization of operator actions that concern none.
const NO_ORGANIZATION: Id = Id {
    prefix: Prefix::Organization,
    bytes: [0; 16],
};

/// Members of an answer, or why the command was not carried out.
type AdminAnswer = Result<Map<String, Value>, String>;

#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("option admin_socket: {0}")]
    Socket(#[from] SocketError),
    #[error("option operator_page_listen: {0}: {1}")]
    Page(SocketAddr, std::io::Error),
}

pub struct AdminSocket {
    services: Arc<ApiServices>,
    anchoring: AnchoringTask,
    copied: AdminBackupSource,
}

#[derive(Clone)]
pub struct AdminBackupSource {
    pub store: Arc<Store>,
    /// The data directory.
    pub data: PathBuf,
}

/// Opens the socket and serves it until the process ends or the socket is dropped. `page` is the address of the
/// operator's page and the token of its commands.
pub async fn serve(
    path: &Path,
    services: Arc<ApiServices>,
    anchoring: AnchoringTask,
    copied: AdminBackupSource,
    page: Option<(SocketAddr, String)>,
) -> Result<OperatorSocket, AdminError> {
    let operator = Arc::new(AdminSocket {
        services,
        anchoring,
        copied,
    });
    let answer = move |line: String| {
        let operator = Arc::clone(&operator);
        async move { operator.answer(&line).await }
    };
    let socket = socket::serve(path, answer.clone()).await?;
    if let Some((address, token)) = page {
        let bound = crate::console::operator::serve(address, &token, answer).await;
        let bound = bound.map_err(|source| AdminError::Page(address, source))?;
        tracing::info!(url = %format_args!("http://{bound}/"), "the operator's page");
    }
    Ok(socket)
}

impl AdminSocket {
    async fn answer(&self, line: &str) -> Value {
        let done = match serde_json::from_str::<AdminRequest>(line) {
            Ok(command) => self.carry_out(command).await,
            Err(error) => Err(format!("the command cannot be read: {error}")),
        };
        match done {
            Ok(mut members) => {
                members.insert("ok".to_owned(), Value::Bool(true));
                Value::Object(members)
            }
            Err(error) => json!({ "ok": false, "error": error }),
        }
    }

    async fn carry_out(&self, command: AdminRequest) -> AdminAnswer {
        let name = command.name();
        if command.only_reads() {
            // The operator's page sends these every few seconds.
            tracing::debug!(command = name, "the operator commands");
        } else {
            tracing::info!(command = name, "the operator commands");
        }
        match command {
            AdminRequest::AnchorNow => self.anchoring.anchor_now().await,
            AdminRequest::Status => {
                let mut members = self.status();
                members.extend(self.anchoring.status());
                if self.lags() {
                    // Batches that this node lacks may be anchored or not.
                    members.remove("batches_not_anchored");
                }
                Ok(members)
            }
            AdminRequest::RotateTokenKey { now } => self.rotate_token_key(now),
            AdminRequest::RotateSideKey => self.rotate_side_key().await,
            AdminRequest::RetireTokenKey { id } => self.retire_token_key(id).await,
            AdminRequest::Recover => {
                let anchored = self.services.engine.recover().await?;
                let mut status = self.status();
                status.insert("batches_on_chain".to_owned(), json!(anchored));
                Ok(status)
            }
            AdminRequest::NameSequencerKey { key, from_batch } => {
                self.name_sequencer_key(KeyActivation { key, from_batch })
                    .await
            }
            AdminRequest::ReadSequencerKeys => {
                self.services.engine.read_contract_keys().await?;
                Ok(self.status())
            }
            AdminRequest::Backup { directory, since } => self.back_up(directory, since).await,
            AdminRequest::Archive {
                directory,
                before_sequence,
                keep_segments,
            } => {
                let older = before_sequence.map(ArchiveSelection::ThanSequence);
                let older = older.or(keep_segments.map(ArchiveSelection::ThanNewest));
                let older = older.ok_or("name before_sequence or keep_segments")?;
                self.archive(directory, older).await
            }
            AdminRequest::Clock { confirm } => self.clock(confirm.as_deref()),
            AdminRequest::ClusterStatus => self.cluster_status().await,
            AdminRequest::HandOver { to } => self.hand_over(to).await,
            AdminRequest::RemoveNode { node } => self.remove_node(&node).await,
            AdminRequest::Tier {
                organization_id,
                tier,
                limits,
            } => self.set_tier(organization_id, &tier, &limits).await,
            AdminRequest::Tiers { nearest } => self.tiers(nearest).await,
        }
    }

    fn rotate_token_key(&self, now: bool) -> AdminAnswer {
        if self.services.node.replica.get().is_some() && self.services.engine.leads() {
            let why = "this node leads: the others would lack its key, and be out of service until they have it. Run this on a \
                       node that follows, and copy the file as docs/operations/keys.md says (Keys of several nodes)";
            return Err(why.to_owned());
        }
        let now_s = now_s();
        let from_s = now_s + SIGNS_AFTER_S;
        let path = self
            .services
            .access
            .tokens
            .rotate(if now { 0 } else { from_s });
        let path = path.map_err(text)?;
        let signs_from = rfc3339(1000 * if now { now_s } else { from_s });
        Ok(members(json!({
            "file": path.display().to_string(),
            "signs_from": signs_from,
        })))
    }

    /// Names the key in the log, unless the log has it already.
    async fn name_sequencer_key(&self, entry: KeyActivation) -> AdminAnswer {
        let engine = &self.services.engine;
        let snapshot = &engine.published().snapshot;
        let named = snapshot.named_sequencer_keys().map_err(text)?;
        let sequence = match named.iter().find(|named| named.entry == entry) {
            Some(named) => Some(named.trace.sequence),
            None => self.name_new_key(entry).await?,
        };
        Ok(members(json!({
            "key": entry.key,
            "from_batch": entry.from_batch,
            "sequence": sequence,
        })))
    }

    async fn name_new_key(&self, entry: KeyActivation) -> Result<Option<u64>, String> {
        self.check_leads()?;
        let operator = self.operator()?;
        if !self.services.engine.holds(entry.key) {
            return Err(format!(
                "this server does not hold the key {}: set next_sequencer_key_file, or \
                 KEDGE_NEXT_SEQUENCER_KEY, and restart it first",
                entry.key
            ));
        }
        let KeyActivation { key, from_batch } = entry;
        let payload = json!({ "from_batch": from_batch }).to_string();
        let kind = Kind::SystemSequencerKey;
        let outcome = operator
            .act(NO_ORGANIZATION, kind, key, &payload, None)
            .await
            .map_err(|error| error.message.into_owned())?;
        let placement = outcome.placement.as_ref();
        Ok(placement.map(|placement| placement.first_sequence))
    }

    fn operator(&self) -> Result<&kedge_http::operator::OperatorKey, String> {
        let operator = self.services.changes.operator.as_ref().ok_or(
            "this server has no operator's key: set operator_key_file, or KEDGE_OPERATOR_KEY",
        )?;
        Ok(operator)
    }

    async fn back_up(&self, directory: PathBuf, since: Option<PathBuf>) -> AdminAnswer {
        if directory.is_relative() || since.as_deref().is_some_and(Path::is_relative) {
            return Err("the directory must be an absolute path".to_owned());
        }
        let engine = self.services.engine.clone();
        let AdminBackupSource { store, data } = self.copied.clone();
        let sequencer = engine.published().snapshot.sequencer_keys();
        let sequencer = sequencer.map_err(text)?.first();
        let made = blocking(move || {
            let source = BackupSource {
                store: &store,
                data: &data,
                domain: *engine.domain(),
                sequencer,
            };
            backup::make(source, &directory, since.as_deref(), engine.now_ms())
        });
        let made = made.await?;
        Ok(members(json!({
            "batches": made.list.batches,
            "sequence": made.list.sequence,
            "bytes": made.bytes,
            "new_bytes": made.new_bytes,
        })))
    }

    async fn rotate_side_key(&self) -> AdminAnswer {
        self.check_single_node()?;
        let AdminBackupSource { store, data } = self.copied.clone();
        let rotated = blocking(move || side_keys::rotate(&data.join("keys"), &store)).await?;
        let number = rotated.number;
        tracing::info!(number, "a new key seals the log's side entries");
        let older: Vec<String> = rotated.older.into_iter().map(side_keys::name).collect();
        let older = older.join(", ");
        let mut answer = members(json!({
            "number": number,
            "file": rotated.path,
            "takes_effect": "now: it seals the log's next side entries",
            "back_up": "the new file: without it those entries cannot be read from the log",
            "keep": format!("{older}: needed as long as segments, archives or backups name them"),
        }));
        if let Some(lost) = rotated.lost.map(side_keys::name) {
            let what =
                format!("{lost}, the sealing key until now, is missing: restore it from a backup");
            answer.insert("lost".to_owned(), json!(what));
        }
        Ok(answer)
    }

    async fn archive(&self, directory: PathBuf, older: ArchiveSelection) -> AdminAnswer {
        if directory.is_relative() {
            return Err("the directory must be an absolute path".to_owned());
        }
        let AdminBackupSource { store, data } = self.copied.clone();
        let services = Arc::clone(&self.services);
        let archived = blocking(move || {
            let to = LocalArchive::make(&directory, &data)?;
            archive::archive(&store, &data, &to, older, &*services)
        });
        let archived = archived.await?;
        let bytes: u64 = archived.iter().map(|segment| segment.bytes).sum();
        let last = archived.last().map(|segment| segment.last_sequence);
        Ok(members(json!({
            "segments": archived.len(),
            "bytes": bytes,
            "last_sequence": last,
        })))
    }

    /// Reports the state of the clock. The clock becomes trusted if it agrees with a time stated by the operator.
    fn clock(&self, confirm: Option<&str>) -> AdminAnswer {
        let keeper = self.services.engine.time();
        if let Some(reported) = confirm {
            let stated_ms =
                parse_rfc3339(reported).ok_or("the time must look like 2026-01-31T08:15:00Z")?;
            keeper.confirm(stated_ms).map_err(|apart_ms| {
                let apart_s = apart_ms / 1_000;
                format!("that is {apart_s} s from the server's clock: set the clock right first")
            })?;
            tracing::warn!(reported, "the operator confirms the clock");
        }
        let standing = keeper.standing();
        let head = self.services.engine.published().head;
        let last_ms = (head.batches > 0).then_some(head.last_sealed_at_ms);
        let refused = self.services.engine.check_clock().err();
        Ok(members(json!({
            "clock": rfc3339(standing.clock_ms),
            "expected": standing.expected_ms.map(rfc3339),
            "newest_block": standing.block.map(|(made_ms, _)| rfc3339(made_ms)),
            "log_ends": last_ms.map(rfc3339),
            "writes": if refused.is_none() { "accepted" } else { "refused" },
            "reason": refused.map(|why| why.to_string()),
        })))
    }

    fn status(&self) -> Map<String, Value> {
        let engine = &self.services.engine;
        let published = engine.published();
        let head = published.head;
        let sequencer = published
            .snapshot
            .sequencer_keys()
            .map(|keys| keys.key_of(head.batches));
        let (mode, reason) = match engine.mode() {
            kedge_storage::StoreMode::ReadWrite => ("read_write", None),
            kedge_storage::StoreMode::ReadOnly(why) => ("read_only", Some(why)),
        };
        members(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "mode": mode,
            "reason": reason,
            "disk_full": engine.disk_full(),
            "requests_under_way": engine.requests_under_way(),
            "requests_max": engine.requests_max(),
            "url": self.services.node.public_url,
            "chain_id": engine.domain().chain_id,
            "domain_contract": engine.domain().verifying_contract,
            "sequencer": sequencer.ok(),
            "batches": head.batches,
            "sequence": head.sequence,
            "head": head.head,
        }))
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Runs work that waits for the disk.
async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, String>
where
    T: Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await.map_err(text)?;
    done.map_err(text)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
