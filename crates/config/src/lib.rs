//! Configuration: a TOML file, then the environment, then flags; checked before anything starts. Also keys and secrets
//! in files (`secrets`), and small state files (`state_file`).

mod cluster;
mod edge;
mod error;
mod forms;
mod network;
mod options;
mod otel_env;
mod ranges;
pub mod secrets;
pub mod state_file;

use std::path::Path;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};

pub use error::ConfigError;
use error::wrong;
pub use forms::is_plain_segment;
use forms::{is_legacy_segment, is_origin};
pub use network::{IpNetwork, NetworkError};
pub use options::{
    ChainMode, ClusterWrites, Config, ConfigSwitch, LogFormat, OPTIONS, OptionRow, V2Mode,
    commented_toml,
};
pub use ranges::{OptionRange, ranges};

/// Seconds that nodes and edges keep an unused connection to another node.
pub const NODE_IDLE_S: u64 = 30;

/// Environment variables read elsewhere: secrets, what the client's commands read, and the path of the file itself.
const ENVIRONMENT_ELSEWHERE: &[&str] = &[
    "api_key",
    "bin",
    "ca_file",
    "config",
    "config_home",
    "nats",
    "sequencer_key",
    "next_sequencer_key",
    "operator_key",
    "anchor_key",
    "password",
    "profile",
    "signing_key",
    "socket",
    "url",
];
/// How many names an unknown one is answered with.
const NEAREST: usize = 3;

/// Sources of values besides the defaults.
#[derive(Clone, Default, Debug)]
pub struct ConfigSources<'a> {
    pub file: Option<&'a Path>,
    /// `name=value` pairs of the command line; a value that is not TOML is a text.
    pub overrides: Vec<(String, String)>,
}

/// What the operator allows for a single start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StartAllowances {
    /// A store with batches but without a high-water mark counts as the newest copy.
    pub missing_high_water_mark: bool,
    /// Lost keys are replaced, which voids what they protected.
    pub replace_lost_keys: bool,
}

pub fn load(sources: &ConfigSources<'_>) -> Result<Config, ConfigError> {
    let config = read(sources)?;
    validate(&config)?;
    Ok(config)
}

/// Reads the configuration of an edge, without the options that only a node needs.
pub fn load_edge(sources: &ConfigSources<'_>) -> Result<Config, ConfigError> {
    let config = read(sources)?;
    edge::check(&config)?;
    common(&config)?;
    Ok(config)
}

fn read(sources: &ConfigSources<'_>) -> Result<Config, ConfigError> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut figment = Figment::from(Serialized::defaults(Config::default()));
    figment = figment.merge(Serialized::defaults(otel_env::options(variable)?));
    if let Some(file) = sources.file {
        if !file.is_file() {
            return Err(ConfigError::NoFile(file.display().to_string()));
        }
        figment = figment.merge(sections(Toml::file_exact(file))?);
    }
    figment = figment.merge(Env::prefixed("KEDGE_").ignore(ENVIRONMENT_ELSEWHERE));
    for (name, value) in &sources.overrides {
        let value: figment::value::Value = value
            .parse()
            .unwrap_or_else(|never: std::convert::Infallible| match never {});
        figment = figment.merge(Serialized::global(name, value));
    }
    let mut config: Config = figment.extract().map_err(unreadable)?;
    if config.dev {
        config.chain = ChainMode::Embedded;
    }
    if otel_env::is_disabled(variable) {
        config.tracing_endpoint = None;
    }
    Ok(config)
}

/// Sections of the file; each holds the options with its prefix.
const SECTIONS: [&str; 3] = ["cluster", "edge", "tracing"];

/// Removed options, with what to do instead.
const REMOVED: [(&str, &str); 2] = [
    (
        "cluster_edges",
        "is no longer there: nodes check every signature themselves; remove it",
    ),
    (
        "cluster_edge_recheck",
        "is no longer there: nodes check every signature themselves; remove it",
    ),
];

/// The file's values, with those of its sections under the options' full names.
fn sections(file: impl figment::Provider) -> Result<Figment, ConfigError> {
    let whole = Figment::from(file);
    if !SECTIONS.iter().any(|name| whole.contains(name)) {
        return Ok(whole);
    }
    let mut values: figment::value::Dict = whole.extract().map_err(unreadable)?;
    for name in SECTIONS {
        let Some(section) = values.remove(name) else {
            continue;
        };
        let section = section.into_dict().ok_or_else(|| {
            let message =
                format!("must be a section of the options that begin with {name}_, without that");
            wrong(name, message)
        })?;
        for (option, value) in section {
            values.insert(format!("{name}_{option}"), value);
        }
    }
    Ok(Figment::from(Serialized::defaults(values)))
}

/// Checks what the types cannot express.
pub fn validate(config: &Config) -> Result<(), ConfigError> {
    common(config)?;
    cluster(config)?;
    chain(config)
}

/// Checks for every process.
fn common(config: &Config) -> Result<(), ConfigError> {
    if config.tls_certificate_file.is_some() != config.tls_key_file.is_some() {
        let missing = if config.tls_key_file.is_none() {
            "tls_key_file"
        } else {
            "tls_certificate_file"
        };
        return Err(wrong(missing, "set both certificate and key, or neither"));
    }
    if let Some(url) = &config.public_url
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        return Err(wrong("public_url", "must begin with http:// or https://"));
    }
    if let Some(bad) = config.cors_origins.iter().find(|text| !is_origin(text)) {
        let message = format!(
            "{bad:?} must be * or an origin such as https://app.example.com: lower case, nothing after the host"
        );
        return Err(wrong("cors_origins", message));
    }
    if config.high_water_path().starts_with(&config.data_dir) {
        return Err(wrong(
            "high_water_path",
            "must lie outside data_dir: restoring that directory would restore the mark with it",
        ));
    }
    if config
        .operator_page_listen
        .is_some_and(|address| !address.ip().is_loopback())
    {
        return Err(wrong(
            "operator_page_listen",
            "must be a loopback address; from elsewhere, reach it through ssh -L",
        ));
    }
    if tracing_subscriber::EnvFilter::try_new(&config.log_filter).is_err() {
        return Err(wrong(
            "log_filter",
            "must be a level or a list such as info,kedge=debug",
        ));
    }
    if !is_legacy_segment(&config.v2_legacy_segment) {
        return Err(wrong(
            "v2_legacy_segment",
            "must be one path segment of at most 64 letters, digits, -, ., _ or ~, and not user, activity or templates",
        ));
    }
    let schedule = &config.webhook_retry_schedule_s;
    if schedule.is_empty() || schedule.len() > 100 {
        return Err(wrong(
            "webhook_retry_schedule_s",
            "must hold 1 to 100 delays: one before each attempt",
        ));
    }
    for range in ranges(config) {
        range.check()?;
    }
    tracing(config)
}

fn tracing(config: &Config) -> Result<(), ConfigError> {
    let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    if !config.tracing_endpoint.as_ref().is_none_or(is_url) {
        let message = "must begin with http:// or https://; OTLP over gRPC is not supported";
        return Err(wrong("tracing_endpoint", message));
    }
    if !(0.0..=1.0).contains(&config.tracing_sample_ratio) {
        let message = format!("must be 0 to 1, not {}", config.tracing_sample_ratio);
        return Err(wrong("tracing_sample_ratio", message));
    }
    let is_attribute = |text: &String| {
        text.split_once('=')
            .is_some_and(|(name, _)| !name.is_empty())
    };
    match config
        .tracing_attributes
        .iter()
        .find(|text| !is_attribute(text))
    {
        Some(bad) => Err(wrong(
            "tracing_attributes",
            format!("{bad:?} must be a name, = and a value"),
        )),
        None => Ok(()),
    }
}

fn cluster(config: &Config) -> Result<(), ConfigError> {
    cluster::names(config)?;
    if !config.cluster_servers.is_empty() && config.public_url.is_none() {
        return Err(wrong(
            "public_url",
            "is required with cluster_servers, the same on each node: access tokens name it",
        ));
    }
    Ok(())
}

/// Explains a removed option, or an unreadable number by the option's range: the reader reports only an unknown name or
/// a wrong type.
fn unreadable(error: figment::Error) -> ConfigError {
    if let figment::error::Kind::UnknownField(name, known) = &error.kind {
        return match REMOVED.iter().find(|(option, _)| option == name) {
            Some((option, message)) => wrong(option, *message),
            None => ConfigError::Unknown {
                name: name.clone(),
                near: nearest(name, known).join(", "),
            },
        };
    }
    let defaults = Config::default();
    let known = ranges(&defaults);
    let of = |name: &String| known.iter().find(|range| range.option == name);
    match error.path.first().and_then(of) {
        Some(range) => wrong(
            range.option,
            format!("must be {} to {}: {}", range.least, range.most, error.kind),
        ),
        None => Box::new(error).into(),
    }
}

/// The names that look most like this one.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let alike = |known: &str| strsim::jaro_winkler(name, known);
    let mut known = known.to_vec();
    known.sort_by(|one, other| alike(other).total_cmp(&alike(one)));
    known.truncate(NEAREST);
    known
}

fn chain(config: &Config) -> Result<(), ConfigError> {
    match config.chain {
        ChainMode::Embedded if !config.dev => Err(wrong(
            "chain",
            "the embedded chain is for development; set dev = true, or chain = \"rpc\"",
        )),
        ChainMode::Embedded if !config.embedded_chain_listen.ip().is_loopback() => Err(wrong(
            "embedded_chain_listen",
            "must be a loopback address: the embedded chain's keys are public",
        )),
        ChainMode::Embedded if config.bond_contract.is_some() => Err(wrong(
            "bond_contract",
            "the embedded chain has no bond; set chain = \"rpc\"",
        )),
        ChainMode::Embedded if config.chain_second_rpc_url.is_some() => Err(wrong(
            "chain_second_rpc_url",
            "the embedded chain has one node; set chain = \"rpc\"",
        )),
        ChainMode::Embedded => Ok(()),
        ChainMode::Rpc => {
            let required = [
                ("chain_rpc_url", config.chain_rpc_url.is_some()),
                ("chain_id", config.chain_id.is_some()),
                ("chain_contract", config.chain_contract.is_some()),
            ];
            match required.iter().find(|(_, set)| !set) {
                Some((option, _)) => Err(wrong(
                    option,
                    "is required with chain = \"rpc\"; for a development server use --dev",
                )),
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dev() -> Config {
        Config {
            dev: true,
            chain: ChainMode::Embedded,
            ..Config::default()
        }
    }

    fn option_of(config: &Config) -> &'static str {
        match validate(config) {
            Err(ConfigError::Option { option, .. }) => option,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_name_the_option() {
        assert!(validate(&dev()).is_ok());
        assert_eq!(option_of(&Config::default()), "chain_rpc_url");
        let config = Config {
            bond_contract: Some(kedge_protocol::Address::ZERO),
            ..dev()
        };
        assert_eq!(option_of(&config), "bond_contract");
        let config = Config {
            dev: false,
            ..dev()
        };
        assert_eq!(option_of(&config), "chain");
        let config = Config {
            body_bytes_max: 10,
            ..dev()
        };
        assert_eq!(option_of(&config), "body_bytes_max");
        let config = Config {
            tls_key_file: Some("key.pem".into()),
            ..dev()
        };
        assert_eq!(option_of(&config), "tls_certificate_file");
        let config = Config {
            high_water_path: Some("data/mark".into()),
            ..dev()
        };
        assert_eq!(option_of(&config), "high_water_path");
        let config = Config {
            log_filter: "kedge=loud".into(),
            ..dev()
        };
        assert_eq!(option_of(&config), "log_filter");
        let config = Config {
            operator_page_listen: Some(([0, 0, 0, 0], 1).into()),
            ..dev()
        };
        assert_eq!(option_of(&config), "operator_page_listen");
        let config = Config {
            tracing_endpoint: Some("collector:4317".into()),
            ..dev()
        };
        assert_eq!(option_of(&config), "tracing_endpoint");
        for ratio in [-0.1, 1.1, f64::NAN] {
            let config = Config {
                tracing_sample_ratio: ratio,
                ..dev()
            };
            assert_eq!(option_of(&config), "tracing_sample_ratio");
        }
        let config = Config {
            tracing_attributes: vec!["zone".into()],
            ..dev()
        };
        assert_eq!(option_of(&config), "tracing_attributes");
        for segment in ["", "..", "a/b", "a%2fb", "user", &"x".repeat(65)] {
            let config = Config {
                v2_legacy_segment: segment.to_owned(),
                ..dev()
            };
            assert_eq!(option_of(&config), "v2_legacy_segment", "{segment}");
        }
    }

    #[test]
    fn flags_go_before_the_file_and_unknown_names_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kedge.toml");
        std::fs::write(&file, "dev = true\nrequests_max = 7\nactions_max = 900\n").unwrap();
        let mut sources = ConfigSources {
            file: Some(&file),
            overrides: vec![
                ("requests_max".into(), "9".into()),
                ("data_dir".into(), "/srv/x".into()),
            ],
        };
        let config = load(&sources).unwrap();
        assert_eq!((config.requests_max, config.actions_max), (9, 900));
        assert_eq!(config.data_dir, Path::new("/srv/x"));
        assert_eq!(config.chain, ChainMode::Embedded);
        std::fs::write(
            &file,
            "dev = true\n[tracing]\nendpoint = \"http://127.0.0.1:4318\"\nsample_ratio = 1\n",
        )
        .unwrap();
        let config = load(&sources).unwrap();
        assert_eq!(
            config.tracing_endpoint.as_deref(),
            Some("http://127.0.0.1:4318")
        );
        assert!((config.tracing_sample_ratio - 1.0).abs() < f64::EPSILON);
        sources.overrides = vec![("trusted_proxies".into(), r#"["10.0.0.1/8"]"#.into())];
        let error = load(&sources).unwrap_err().to_string();
        assert!(
            error.contains("10.0.0.0/8") && error.contains("trusted_proxies"),
            "{error}"
        );
        sources.overrides = vec![("request_max".into(), "9".into())];
        let error = load(&sources).unwrap_err().to_string();
        assert!(
            error.contains("option request_max:") && error.contains("requests_max,"),
            "{error}"
        );
        assert!(error.len() < 250, "{error}");
        sources.overrides = Vec::new();
        std::fs::write(&file, "dev = true\n[cluster]\nedges = [\"edge1\"]\n").unwrap();
        let error = load(&sources).unwrap_err().to_string();
        assert!(
            error.contains("option cluster_edges: is no longer there"),
            "{error}"
        );
    }
}
