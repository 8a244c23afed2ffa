//! Checks of the options of an edge.

use crate::Config;
use crate::error::{ConfigError, wrong};

/// Checks that an edge has what it needs and no secrets of a node, because it is exposed to the internet.
pub(crate) fn check(config: &Config) -> Result<(), ConfigError> {
    if !config.cluster_servers.is_empty() || config.cluster_credentials_file.is_some() {
        let message = "is not for an edge, which connects to no NATS server: remove the section [cluster] from its file, and \
                       its NATS user; edge_nodes names the nodes";
        return Err(wrong("cluster_servers", message));
    }
    if config.edge_nodes.is_empty() {
        let message = "is required: the URLs of all nodes";
        return Err(wrong("edge_nodes", message));
    }
    let is_url = |url: &&String| {
        let host = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['@', '?', '#', ' ']))
    };
    if let Some(bad) = config.edge_nodes.iter().find(|url| !is_url(url)) {
        let message =
            format!("{bad:?} must be a URL of a node, such as https://node1.example.com:8443");
        return Err(wrong("edge_nodes", message));
    }
    let name = &config.edge_name;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(is_plain) {
        let message = "must be 1 to 64 lower-case letters, digits and -";
        return Err(wrong("edge_name", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: &Config) -> String {
        check(config).unwrap_err().to_string()
    }

    // Holds invariant 201.
    #[test]
    fn an_edge_names_its_nodes_and_no_nats_server() {
        let edge = Config {
            edge_nodes: vec!["https://10.0.0.1:8443".to_owned()],
            ..Config::default()
        };
        assert!(check(&edge).is_ok());
        let nodes = |url: &str| Config {
            edge_nodes: vec![url.to_owned()],
            ..Config::default()
        };
        assert!(refused(&Config::default()).contains("option edge_nodes: is required"));
        for bad in ["node1", "nats://10.0.0.1:4222", "http://", "http://a@b"] {
            assert!(refused(&nodes(bad)).contains("must be a URL of a node"));
        }
        let with_servers = Config {
            cluster_servers: vec!["nats://10.0.0.1:4222".to_owned()],
            ..edge.clone()
        };
        assert!(refused(&with_servers).contains("connects to no NATS server"));
        let named = Config {
            edge_name: "Edge 1".to_owned(),
            ..edge
        };
        assert!(refused(&named).contains("option edge_name"));
    }
}
