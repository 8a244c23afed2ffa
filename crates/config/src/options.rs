//! Every option of the server, once: name, type, default and meaning. The struct that is read, the commented file of
//! `kedge init` and the list in the documentation all come from this table.

use std::net::SocketAddr;
use std::path::PathBuf;

use kedge_protocol::Address;
use serde::{Deserialize, Serialize};

use super::network::IpNetwork;

/// A row of the table of options, for documentation.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    pub group: &'static str,
    /// The name in the file; in the environment, `KEDGE_` and the name in upper case.
    pub name: &'static str,
    /// Its meaning, by lines.
    pub lines: &'static [&'static str],
}

macro_rules! options {
    ($($group:literal { $($(#[doc = $line:literal])+ $name:ident: $type:ty = $default:expr;)* })*) => {
        /// The configuration that results from file, environment and flags.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Config { $($($(#[doc = $line])+ pub $name: $type,)*)* }

        impl Default for Config {
            fn default() -> Self {
                Self { $($($name: $default,)*)* }
            }
        }

        /// The table, in the order of the file.
        pub const OPTIONS: &[OptionRow] = &[$($(OptionRow {
            group: $group,
            name: stringify!($name),
            lines: &[$($line),+],
        },)*)*];
    };
}

/// Where anchors go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainMode {
    /// The chain inside this process: for development only.
    Embedded,
    /// An Ethereum node's JSON-RPC.
    Rpc,
}

/// Whether something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSwitch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// What a node that follows does with changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterWrites {
    /// It hands them to the leader.
    Forward,
    /// It answers 307 with the leader's URL.
    Redirect,
}

/// How requests to v2 paths are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum V2Mode {
    /// Redirected to v3.
    Redirect,
    /// Refused, with the v3 path.
    Gone,
    /// As if there were no such paths.
    Off,
}

options! {
    "Service" {
        /// Address and port of the API. Port 0 picks a free one.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
        /// The URL under which callers reach the API; issuer of the access tokens. Derived from
        /// `listen` when absent.
        public_url: Option<String> = None;
        /// Origins whose web pages may call the API from a browser, such as
        /// `https://app.example.com`, or `*` for all. Empty: browsers block all pages.
        cors_origins: Vec<String> = Vec::new();
        /// Whether `/console` serves the web console, if the program was built with it.
        console: bool = true;
        /// Development mode: keys and the embedded chain are made in the data directory. Insecure
        /// by design; never for data that matters.
        dev: bool = false;
        /// The directory of the store, of the token keys and of the admin socket.
        data_dir: PathBuf = PathBuf::from("data");
        /// File with the high-water mark of released batch headers. It has to lie outside the data
        /// directory, so that a backup of that directory does not include it.
        /// `<data_dir>.high-water` when absent.
        high_water_path: Option<PathBuf> = None;
        /// Unix socket for the operator's commands; `<data_dir>/admin.sock` when absent.
        admin_socket: Option<PathBuf> = None;
        /// Address and port of `/metrics`. Absent: no metrics are served.
        metrics_listen: Option<SocketAddr> = None;
        /// Loopback address and port of the operator's page, which commands with the token in
        /// `<data_dir>/keys/operator-page.token`. Absent: there is none.
        operator_page_listen: Option<SocketAddr> = None;
    }
    "TLS" {
        /// PEM file with the certificate chain. Read again on SIGHUP.
        tls_certificate_file: Option<PathBuf> = None;
        /// PEM file with the private key. Read again on SIGHUP.
        tls_key_file: Option<PathBuf> = None;
    }
    "Log" {
        /// `human` or `json`.
        log_format: LogFormat = LogFormat::Human;
        /// What is logged: a level, or a list such as `info,kedge=debug`.
        log_filter: String = "info".to_owned();
    }
    "Connections and requests" {
        /// Connections at one time. A few more are accepted, but get answers about the server's health only; all others
        /// wait to be accepted.
        connections_max: usize = 16_384;
        /// Connections of one address (of IPv6: one /64 network) at one time; more are closed at once. Proxies listed
        /// in `trusted_proxies` have no such limit.
        connections_per_address: usize = 4_096;
        /// Seconds that a connection may stay open between requests. Callers and proxies in front have to close theirs
        /// earlier, or they use one that is just being closed.
        idle_timeout_s: u64 = 75;
        /// The same for connections of `trusted_proxies`, if it is longer.
        proxy_idle_timeout_s: u64 = 300;
        /// Seconds for which an Idempotency-Key is remembered; callers are promised a day.
        idempotency_key_s: u64 = 24 * 60 * 60;
        /// Requests in flight at one time; more are answered 503.
        requests_max: usize = 2_048;
        /// Milliseconds that a signed request should take. If more than a tenth of them takes longer for half a second,
        /// fewer may be in flight, and the others are answered 503 at once.
        wait_target_ms: u64 = 30;
        /// Signed requests that may be in flight however long they take.
        requests_min: usize = 512;
        /// Percent of each scarce resource that one organization may hold at one time: requests in flight, event
        /// streams, downloads, long reads, webhook attempts, name lookups. Requests beyond that are answered 429. At
        /// least one each; 100 is no limit.
        organization_share_percent: u8 = 25;
        /// Bytes of request bodies in memory at one time; requests that would exceed it are
        /// answered 503. A sixteenth of it is added for bodies without credentials.
        body_bytes_total_max: usize = 256 * 1024 * 1024;
        /// Bytes of it that one organization may hold; requests that would exceed it are answered
        /// 429.
        body_bytes_per_caller: usize = 64 * 1024 * 1024;
        /// Bytes a second at which a body has to arrive, over five seconds.
        body_bytes_per_s_min: u64 = 1_024;
        /// Bytes of answers that have not been sent yet; reads that would exceed it are answered
        /// 503.
        answer_bytes_total_max: usize = 512 * 1024 * 1024;
        /// Bytes of them that one organization may hold, or one address without a known organization; reads that would
        /// exceed it are answered 429.
        answer_bytes_per_caller: usize = 64 * 1024 * 1024;
        /// Bytes of one request body, at most 16 MiB.
        body_bytes_max: usize = kedge_protocol::limits::BODY_BYTES_MAX;
        /// Bytes of one uploaded file.
        file_bytes_max: u64 = 25 * 1024 * 1024;
        /// Bytes of all files of one organization; each file counts, even if two have the same
        /// content.
        file_quota_bytes: u64 = 1024 * 1024 * 1024;
        /// Contents of files and exports that are being sent at one time; more are answered 503.
        downloads_max: usize = 256;
        /// Bytes of the request line and all headers.
        header_bytes_max: usize = 32 * 1024;
        /// Seconds for a caller to send the headers of a request, counted from its first byte; on a new connection also
        /// the seconds until that byte.
        header_timeout_s: u64 = 10;
        /// Seconds for a caller to send the body of a request.
        body_timeout_s: u64 = 30;
        /// Seconds that a caller may leave a piece of an answer unread. After that its connection is closed.
        write_timeout_s: u64 = 30;
        /// Event streams at one time; more are answered 503. With HTTP/1.1 each takes its own
        /// connection: leave room for others below `connections_max`.
        streams_max: usize = 10_000;
        /// Seconds between heartbeats on an event stream without events.
        stream_heartbeat_s: u64 = 15;
        /// Seconds that a signed request may wait before it is processed.
        request_timeout_s: u64 = 10;
        /// Seconds that a stopping server gives requests in flight.
        drain_timeout_s: u64 = 20;
    }
    "Callers of v2" {
        /// How v2 paths are answered: `redirect` (301 to the v3 path), `gone` (410 that names it)
        /// or `off` (404).
        v2_mode: V2Mode = V2Mode::Redirect;
        /// The path segment of objects in v2: `/v2/<segment>/*` leads to `/objects/*`.
        v2_legacy_segment: String = "assets".to_owned();
    }
    "Accounts" {
        /// Seconds that an access token is valid.
        access_token_s: u64 = 15 * 60;
        /// Seconds that a refresh token is valid.
        refresh_token_s: u64 = 30 * 24 * 60 * 60;
        /// Access tokens whose check is remembered.
        token_cache_entries: usize = 100_000;
        /// Passwords hashed at one time; each takes a core and 19 MiB.
        password_hashes_max: usize = 2;
    }
    "Limits" {
        /// `on`, or `off`: answers still state the limits, but no request is refused because of
        /// them. For load tests and for limits that are enforced elsewhere.
        rate_limits: ConfigSwitch = ConfigSwitch::On;
        /// Requests a minute from one address (of IPv6: one /64 network) without a known
        /// organization. Requests with a valid token count towards their organization's tier
        /// instead.
        address_requests_per_minute: u32 = 100;
        /// Failed logins a minute from one address.
        login_failures_per_address: u32 = 10;
        /// Failed logins of one account from one address in a quarter of an hour.
        login_failures_per_account: u32 = 5;
        /// Failed logins of one account in an hour from all addresses together from which it was
        /// never logged in to. Past half of them the others are spaced over the hour.
        login_failures_per_account_hour: u32 = 100;
        /// Bytes that an organization of the free tier may have in the log, including what its
        /// actions left; beyond it writes are refused with 403 and reads are served. 0 is no quota.
        log_bytes_free: u64 = 1024 * 1024 * 1024;
        /// The same for the developer tier. The enterprise tier has no quota, a custom one its own.
        log_bytes_developer: u64 = 50 * 1024 * 1024 * 1024;
        /// Bytes of the disk that organizations of the free tier leave to the others: with less room
        /// their writes and the registrations of new organizations are refused with 403. 0 leaves
        /// what all writes leave.
        disk_kept_from_free: u64 = 1024 * 1024 * 1024;
        /// The same for the developer tier.
        disk_kept_from_developer: u64 = 512 * 1024 * 1024;
        /// Networks of the proxies in front of the server, such as 10.0.0.0/8. Their
        /// X-Forwarded-For is believed, up to the last address that is not in these networks.
        trusted_proxies: Vec<IpNetwork> = Vec::new();
    }
    "Clock" {
        /// Seconds by which the clock may run ahead of the time that has passed since it was last
        /// trusted. If it is further ahead, writes are refused until the clock is right, the
        /// chain's newest block agrees with it, or the operator confirms it.
        clock_step_max_s: u64 = 60;
        /// Seconds by which the clock may be past the chain's newest block to be trusted at a start and
        /// after a step; at a start, past the log's last entry is enough. While the log is empty, at least
        /// twelve hours. With the embedded chain a clock that advances steadily is trusted at a start,
        /// after any time.
        clock_gap_max_s: u64 = 3_600;
    }
    "Engine" {
        /// Actions in flight at one time; more are answered 503.
        actions_max: usize = 65_536;
        /// Before writing every n-th commit group, and every small one, the server compares the group's rows with those
        /// that the rules derive from its records, and stops if they differ. 0 compares none; 1 costs about as much as
        /// the requests themselves.
        compare_groups_every: u64 = 0;
        /// Threads that the actors share, apart from those that serve connections; 0 means one for
        /// every two cores.
        actor_threads: usize = 0;
        /// Shards of the directory of live objects; 0 means one for each core.
        shards: usize = 0;
        /// Objects that are kept alive in memory.
        objects_live_max: usize = 200_000;
        /// File with the key that signs batches and checkpoints: `0x` and 64 hex digits.
        /// `KEDGE_SEQUENCER_KEY` may hold the key itself instead.
        sequencer_key_file: Option<PathBuf> = None;
        /// File with one more of the sequencer's keys: the next one before and during a rotation,
        /// the previous one afterwards. Each batch is signed with the key of its number.
        /// `KEDGE_NEXT_SEQUENCER_KEY` may hold the key itself instead.
        next_sequencer_key_file: Option<PathBuf> = None;
        /// File with the key that signs the operator's own actions, such as setting a tier:
        /// `0x` and 64 hex digits. `KEDGE_OPERATOR_KEY` may hold the key itself instead.
        /// Without it the operator changes nothing in the log.
        operator_key_file: Option<PathBuf> = None;
    }
    "Cluster" {
        /// URLs of the NATS servers that hold the log for several nodes, such as `nats://10.0.0.1:4222`. Empty: this
        /// node is the only one, and the log is in its own files alone. In the file these options may stand in a
        /// section `[cluster]`, without `cluster_`.
        cluster_servers: Vec<String> = Vec::new();
        /// The name of the cluster: of its stream, its lease and its subjects. Lower-case letters, digits and `-`.
        cluster_name: String = "kedge".to_owned();
        /// This node's name, different on each node; required with `cluster_servers`.
        cluster_node: Option<String> = None;
        /// The URL under which the other nodes reach this one. The address of `listen` when absent.
        cluster_url: Option<String> = None;
        /// Copies of the stream that the NATS servers keep.
        cluster_replicas: usize = 3;
        /// How many other nodes must have synced a frame to their own disks before it is answered, in addition to the
        /// stream's own quorum and this node's disk.
        cluster_replicas_synced: usize = 1;
        /// Milliseconds after which another node takes over from a leader that is not heard of.
        cluster_lease_ms: u64 = 1_500;
        /// URLs of the NATS servers' monitoring (`http_port`), where their settings are read at the start.
        cluster_monitors: Vec<String> = Vec::new();
        /// Accept NATS servers that do not sync each message to their disks. They may lose acknowledged messages when
        /// several machines lose power at once.
        cluster_unsynced_allowed: bool = false;
        /// What a node that follows does with changes: `forward` hands them to the leader, `redirect` answers 307 with
        /// the leader's URL.
        cluster_writes: ClusterWrites = ClusterWrites::Forward;
        /// File with the NATS user's credentials (`.creds`).
        cluster_credentials_file: Option<PathBuf> = None;
        /// PEM file with the authorities that the NATS servers' certificates come from. If set, TLS is required.
        cluster_ca_file: Option<PathBuf> = None;
        /// PEM file with this node's certificate for the NATS servers.
        cluster_certificate_file: Option<PathBuf> = None;
        /// PEM file with the key of that certificate.
        cluster_key_file: Option<PathBuf> = None;
    }
    "Edge" {
        /// URLs of all nodes, to which an edge (`kedge edge`) passes requests, such as `https://node1.example.com:8443`.
        /// Nodes do not use it. In the file these options may stand in a section `[edge]`, without `edge_`.
        edge_nodes: Vec<String> = Vec::new();
        /// The name by which an edge marks the requests that it passes on.
        edge_name: String = "edge".to_owned();
    }
    "Claims" {
        /// The verification key of the claim circuit's ceremony, as snarkjs writes it
        /// (`verification_key.json`). Absent: chains 1337 and 31337 use the development key, for
        /// which anybody can forge claims, and servers of other chains accept no claims.
        claims_key_file: Option<PathBuf> = None;
    }
    "Webhooks" {
        /// Networks, such as `10.1.0.0/16`, that webhooks may lead to although they are not on the
        /// public internet. `http://` is accepted there too.
        webhook_allowed_networks: Vec<IpNetwork> = Vec::new();
        /// Seconds before each attempt at a delivery; from the second on, up to a fifth is added.
        /// After the last attempt the delivery is given up.
        webhook_retry_schedule_s: Vec<u64> = vec![
            0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
        ];
        /// Seconds that one attempt may take, including connecting.
        webhook_timeout_s: u64 = 15;
        /// Attempts in flight at one time, over all webhooks.
        webhook_attempts_max: usize = 256;
        /// PEM file with certificate authorities that receivers' certificates may come from, in
        /// addition to the public ones.
        webhook_ca_file: Option<PathBuf> = None;
    }
    "Tracing" {
        /// URL of an OpenTelemetry collector that takes traces by OTLP over HTTP, such as `http://127.0.0.1:4318`;
        /// `/v1/traces` is added to a URL without a path. Absent: nothing is traced. In the file these options may stand
        /// in a section `[tracing]`, without `tracing_`.
        tracing_endpoint: Option<String> = None;
        /// File with headers for the collector, one a line, such as `Authorization: Bearer …`.
        /// `OTEL_EXPORTER_OTLP_HEADERS` may hold them instead.
        tracing_headers_file: Option<PathBuf> = None;
        /// PEM file with certificate authorities that the collector's certificate may come from, in addition to the
        /// system's.
        tracing_ca_file: Option<PathBuf> = None;
        /// Which part of the requests is traced, from 0 to 1.
        tracing_sample_ratio: f64 = 0.01;
        /// Requests a second that are traced because their caller's `traceparent` says that it records the trace. 0: what
        /// callers say changes nothing.
        tracing_callers_per_s: u32 = 10;
        /// What the traces call this service.
        tracing_service_name: String = "kedge".to_owned();
        /// What else the traces say about this process, such as `deployment.environment.name=test`.
        tracing_attributes: Vec<String> = Vec::new();
        /// Seconds that the collector may take for an answer.
        tracing_timeout_s: u64 = 10;
        /// Spans that may wait in memory; more are dropped and counted.
        tracing_queue_max: usize = 16_384;
        /// Spans that are sent at one time.
        tracing_batch_max: usize = 512;
        /// Milliseconds that spans wait for others before they are sent.
        tracing_interval_ms: u64 = 1_000;
    }
    "Store" {
        /// Bytes of memory for blocks read from the store.
        block_cache_bytes: usize = 256 * 1024 * 1024;
        /// Bytes of memory for blocks of compressed segments: reads of older actions and proofs find them there.
        log_cache_bytes: u64 = 128 * 1024 * 1024;
        /// Bytes of memory for rows that are not in table files yet.
        memtable_bytes: usize = 256 * 1024 * 1024;
        /// Most bytes of log whose rows are in memory only: after a crash, a start applies as much again.
        replay_bytes_max: u64 = 128 * 1024 * 1024;
    }
    "Chain" {
        /// `embedded` (development only) or `rpc`.
        chain: ChainMode = ChainMode::Rpc;
        /// JSON-RPC URL of an Ethereum node.
        chain_rpc_url: Option<String> = None;
        /// JSON-RPC URL of a second node, best one run by somebody else. It is asked if the first one contradicts the
        /// log, and before an anchor that somebody else sent is adopted.
        chain_second_rpc_url: Option<String> = None;
        /// EIP-155 chain id that the node must have.
        chain_id: Option<u64> = None;
        /// The contract that anchors this log.
        chain_contract: Option<Address> = None;
        /// The log's first anchor contract, which is part of what is signed. `chain_contract` when
        /// absent.
        domain_contract: Option<Address> = None;
        /// File with the key that pays for anchoring: `0x` and 64 hex digits.
        /// `KEDGE_ANCHOR_KEY` may hold the key itself instead.
        anchor_key_file: Option<PathBuf> = None;
        /// The operator's bond for `chain_contract`. If set, cases that require an answer from the
        /// operator are answered before the deadline; the anchors' key pays.
        bond_contract: Option<Address> = None;
        /// Seconds between looks at the bond while nothing is open.
        bond_poll_s: u64 = 60;
        /// The most that an answer offers for a unit of gas, in gwei. An answer that is too late
        /// costs the bond, so this is far above an anchor's ceiling.
        bond_max_fee_gwei: u64 = 2_000;
        /// Seconds between signed checkpoints with a root of the state. An anchor does not wait for it. A root that takes
        /// long is followed by a longer pause.
        checkpoint_interval_s: u64 = 60;
        /// Days for which the proofs of an anchored checkpoint are kept, from its anchoring on. While the bond takes demands
        /// about it they are kept in any case.
        state_proofs_kept_days: u64 = 30;
        /// Bytes of the state's tables above which an anchored checkpoint is kept only as long as the bond takes demands
        /// about it.
        state_proofs_kept_bytes: u64 = 100 << 30;
        /// Seconds between anchors, counted from the last anchor, also across restarts.
        anchor_interval_s: u64 = 900;
        /// Anchor what is new at an orderly stop, and wait until a block contains it.
        anchor_on_shutdown: bool = false;
        /// Seconds that an orderly stop waits for that block. If it does not see the block, the next start follows the
        /// transaction.
        anchor_on_shutdown_timeout_s: u64 = 60;
        /// Blocks, including a transaction's own, until it counts as confirmed.
        chain_confirmations: u64 = 3;
        /// Address and port of the embedded chain's JSON-RPC; loopback only. Port 0 picks a free one.
        embedded_chain_listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8545));
    }
}

impl Config {
    pub fn high_water_path(&self) -> PathBuf {
        self.high_water_path.clone().unwrap_or_else(|| {
            // With a trailing slash the file would end up inside the directory.
            let mut path = self.data_dir.components().as_path().as_os_str().to_owned();
            path.push(".high-water");
            path.into()
        })
    }

    pub fn admin_socket(&self) -> PathBuf {
        let inside = || self.data_dir.join("admin.sock");
        self.admin_socket.clone().unwrap_or_else(inside)
    }

    /// Directory of the token keys and of the keys that `dev` makes.
    pub fn keys_dir(&self) -> PathBuf {
        self.data_dir.join("keys")
    }
}

/// The commented configuration file: every option with its meaning and default.
pub fn commented_toml() -> String {
    let defaults = toml::Table::try_from(Config::default()).unwrap_or_default();
    let mut out = String::from(
        "# Configuration of kedge. Every line shows a default; remove the # to change it.\n# The \
         environment (KEDGE_ and the name in upper case) overrides this file, flags override \
         both.\n",
    );
    let mut group = "";
    for row in OPTIONS {
        if row.group != group {
            group = row.group;
            out.push_str(&format!("\n## {group}\n"));
        }
        out.push('\n');
        for line in row.lines {
            out.push_str(&format!("#{line}\n"));
        }
        match defaults.get(row.name) {
            Some(value) => out.push_str(&format!("#{} = {value}\n", row.name)),
            None => out.push_str(&format!("#{} =\n", row.name)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commented_file_is_the_defaults() {
        let text = commented_toml();
        let set: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("# ") && !line.starts_with("##"))
            .filter_map(|line| line.strip_prefix('#'))
            .filter(|line| !line.ends_with('='))
            .collect();
        let read: Config = toml::from_str(&set.join("\n")).unwrap();
        assert_eq!(read, Config::default());
        for row in OPTIONS {
            assert!(text.contains(&format!("\n#{} =", row.name)), "{}", row.name);
        }
    }
}
