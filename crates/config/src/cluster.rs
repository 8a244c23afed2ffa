//! Checks of the options of clusters and edges: names, and URLs of servers.

use crate::error::{ConfigError, wrong};
use crate::{Config, NODE_IDLE_S};

/// Checks the names of the cluster and the node, and the URLs of the servers.
pub(crate) fn names(config: &Config) -> Result<(), ConfigError> {
    let is_name = |text: &str| {
        (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if !is_name(&config.cluster_name) {
        let message = "must be 1 to 64 lower-case letters, digits and -";
        return Err(wrong("cluster_name", message));
    }
    if config.cluster_servers.is_empty() {
        return Ok(());
    }
    // The URL is not shown: its user part is secret.
    if config.cluster_servers.iter().any(|url| names_user(url)) {
        let message = "a URL names a user, password or token, which would not be used: set cluster_credentials_file to a \
                       file of NATS credentials, or cluster_certificate_file and cluster_key_file to a client certificate";
        return Err(wrong("cluster_servers", message));
    }
    if config.cluster_monitors.iter().any(|url| names_user(url)) {
        let message = "a URL names a user or password, which would not be used: the monitoring of NATS asks for none; let \
                       only the nodes reach it";
        return Err(wrong("cluster_monitors", message));
    }
    if config.idle_timeout_s <= NODE_IDLE_S {
        let message = format!(
            "must be more than {NODE_IDLE_S} with cluster_servers: so long nodes and edges keep unused connections to others"
        );
        return Err(wrong("idle_timeout_s", message));
    }
    match config.cluster_node.as_deref() {
        None => Err(wrong(
            "cluster_node",
            "is required with cluster_servers: a name for this node that no other node has",
        )),
        Some(name) if !is_name(name) => Err(wrong(
            "cluster_node",
            "must be 1 to 64 lower-case letters, digits and -",
        )),
        Some(_)
            if config.cluster_certificate_file.is_some() != config.cluster_key_file.is_some() =>
        {
            Err(wrong(
                "cluster_key_file",
                "set both cluster_certificate_file and cluster_key_file, or neither",
            ))
        }
        Some(_) => Ok(()),
    }
}

/// Whether a URL holds a user, a password or a token.
fn names_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_a_password_are_refused_and_not_shown() {
        let with = |servers: &str, monitors: &str| Config {
            cluster_servers: vec!["nats://10.0.0.1:4222".to_owned(), servers.to_owned()],
            cluster_monitors: vec![monitors.to_owned()],
            cluster_node: Some("node1".to_owned()),
            public_url: Some("https://api.example.com".to_owned()),
            ..Config::default()
        };
        let monitor = "http://10.0.0.1:8222";
        assert!(names(&with("tls://10.0.0.2:4222/a@b", monitor)).is_ok());
        for url in [
            "nats://me:hidden@10.0.0.2:4222",
            "tls://hidden@nats",
            "hidden@nats:4222",
        ] {
            let error = names(&with(url, monitor)).unwrap_err().to_string();
            assert!(error.contains("cluster_credentials_file"), "{error}");
            assert!(
                error.contains("cluster_servers") && !error.contains("hidden"),
                "{error}"
            );
        }
        let error = names(&with(
            "nats://10.0.0.2:4222",
            "http://me:hidden@10.0.0.1:8222",
        ));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("cluster_monitors") && !error.contains("hidden"),
            "{error}"
        );
    }
}
