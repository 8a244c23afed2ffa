//! Creation and validation of the stream of frames and the bucket of small values.

use std::time::{Duration, Instant};

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{Context, ErrorCode, kv};
use kedge_protocol::Hash;

use crate::error::ConnectError;
use crate::options::{ClusterOptions, LEASE_KEY};

/// How long freshly started servers may take to agree on a new stream.
const MAKING_MAX: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(250);

/// Description of a log in its stream.
pub(crate) fn description(identity: &Hash) -> String {
    format!("Kedge log {identity}")
}

/// Required settings of the stream.
pub(crate) fn wanted(options: &ClusterOptions, identity: &Hash) -> Config {
    Config {
        name: options.stream(),
        description: Some(description(identity)),
        subjects: vec![options.frames_subject()],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: options.replicas,
        discard: DiscardPolicy::New,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        // Old frames leave the stream by a purge, once all nodes and the archive hold them; single messages are never
        // deleted.
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    }
}

/// Finds or creates the log's stream, and checks its settings.
pub(crate) async fn stream(
    context: &Context,
    options: &ClusterOptions,
    identity: &Hash,
) -> Result<(), ConnectError> {
    let name = options.stream();
    let began = Instant::now();
    loop {
        let why = match context.get_stream(&name).await {
            Ok(found) => {
                let found = &found.cached_info().config;
                return check(found, &wanted(options, identity), options);
            }
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(refused)
                    if refused.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    let made = context.create_stream(wanted(options, identity)).await;
                    match made {
                        // Read back and checked like an existing stream.
                        Ok(_) => continue,
                        Err(error) => error.to_string(),
                    }
                }
                _ => error.to_string(),
            },
        };
        if began.elapsed() > MAKING_MAX {
            let what = format!("the stream {name} cannot be made or read");
            return Err(ConnectError::Engine { what, why });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn check(found: &Config, wanted: &Config, options: &ClusterOptions) -> Result<(), ConnectError> {
    if found.description != wanted.description {
        return Err(ConnectError::Identity {
            stream: found.name.clone(),
            expected: wanted.description.clone().unwrap_or_default(),
            found: found.description.clone().unwrap_or_default(),
        });
    }
    let settings = kept(found, wanted)
        .into_iter()
        .chain(limits(found, options));
    for (setting, holds, found_value, expected) in settings {
        if !holds {
            return Err(ConnectError::Setting {
                stream: found.name.clone(),
                setting,
                expected,
                found: found_value,
            });
        }
    }
    Ok(())
}

/// Setting, whether it matches, found value, expected value.
type SettingComparison = (&'static str, bool, String, String);

/// Settings of storage and retention.
fn kept(found: &Config, wanted: &Config) -> Vec<SettingComparison> {
    let none = || "none".to_owned();
    let no = || "off".to_owned();
    vec![
        (
            "storage",
            found.storage == StorageType::File,
            format!("{:?}", found.storage),
            "File".to_owned(),
        ),
        (
            "replicas",
            found.num_replicas >= wanted.num_replicas,
            found.num_replicas.to_string(),
            format!("{} or more", wanted.num_replicas),
        ),
        (
            "subjects",
            found.subjects == wanted.subjects,
            found.subjects.join(" "),
            wanted.subjects.join(" "),
        ),
        (
            "retention",
            found.retention == RetentionPolicy::Limits,
            format!("{:?}", found.retention),
            "Limits".to_owned(),
        ),
        ("no_ack", !found.no_ack, "on".to_owned(), no()),
        ("sealed", !found.sealed, "on".to_owned(), no()),
        (
            "allow_rollup_hdrs",
            !found.allow_rollup,
            "on".to_owned(),
            no(),
        ),
        ("mirror", found.mirror.is_none(), "set".to_owned(), none()),
        (
            "sources",
            found.sources.as_ref().is_none_or(Vec::is_empty),
            "set".to_owned(),
            none(),
        ),
        (
            "persist_mode",
            is_persisted(found),
            format!("{:?}", found.persist_mode),
            "default".to_owned(),
        ),
    ]
}

/// Settings that limit the stored messages.
fn limits(found: &Config, options: &ClusterOptions) -> Vec<SettingComparison> {
    let none = || "none".to_owned();
    let count = |setting, limit: i64| (setting, limit <= 0, limit.to_string(), none());
    let longest = found.max_message_size;
    let fits = longest <= 0 || longest.unsigned_abs() as usize >= options.payload_bytes_max();
    vec![
        (
            "max_age",
            found.max_age.is_zero(),
            format!("{:?}", found.max_age),
            none(),
        ),
        count("max_msgs", found.max_messages),
        count("max_bytes", found.max_bytes),
        count("max_msgs_per_subject", found.max_messages_per_subject),
        (
            "max_msg_size",
            fits,
            longest.to_string(),
            format!("{} or none", options.payload_bytes_max()),
        ),
    ]
}

/// Whether a message is acknowledged only after it was stored.
fn is_persisted(found: &Config) -> bool {
    use async_nats::jetstream::stream::PersistenceMode;
    matches!(found.persist_mode, None | Some(PersistenceMode::Default))
}

/// Finds or creates the bucket of the lease and the members. A new bucket's copies take up reading one by one, so this
/// waits until one of them answers this connection.
pub(crate) async fn bucket(
    context: &Context,
    options: &ClusterOptions,
) -> Result<kv::Store, ConnectError> {
    let bucket = options.stream();
    let began = Instant::now();
    loop {
        let why = if let Ok(found) = context.get_key_value(&bucket).await {
            match found.entry(LEASE_KEY).await {
                Ok(_) => return Ok(found),
                Err(unread) => unread.to_string(),
            }
        } else {
            match context.create_stream(wanted_bucket(options)).await {
                Ok(_) => continue,
                Err(refused) => refused.to_string(),
            }
        };
        if began.elapsed() > MAKING_MAX {
            let what = format!("the bucket {bucket} cannot be made or read");
            return Err(ConnectError::Engine { what, why });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Settings of the bucket. They are those of `create_key_value`, which however asks for the account first; the client
/// cannot parse the answer of servers before 2.10.
fn wanted_bucket(options: &ClusterOptions) -> Config {
    let bucket = options.stream();
    Config {
        name: format!("KV_{bucket}"),
        description: Some("Kedge: who leads a log, and its nodes".to_owned()),
        subjects: vec![format!("$KV.{bucket}.>")],
        storage: StorageType::File,
        num_replicas: options.replicas,
        discard: DiscardPolicy::New,
        max_messages_per_subject: 1,
        max_messages: -1,
        max_bytes: -1,
        max_consumers: -1,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    }
}
