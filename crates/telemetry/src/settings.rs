//! Exporter settings from the configuration: endpoint, headers, and attributes of the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_net::trust::TrustError;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;

use super::collector::SpanCollector;
use super::exporter::ExportWorker;

/// The path of traces at a collector (OTLP/HTTP).
const TRACES_PATH: &str = "/v1/traces";

/// Error of the tracing options.
#[derive(Debug, thiserror::Error)]
pub enum TracingError {
    /// The file of headers.
    #[error("option tracing_headers_file: {0}")]
    Headers(#[from] SecretError),
    /// A line of it; the error does not show it.
    #[error(
        "option tracing_headers_file: line {line} must be a name, a colon and a value, such as Authorization: Bearer …"
    )]
    Header {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The root certificates.
    #[error("option tracing_ca_file: {0}")]
    Trust(#[from] TrustError),
    #[error("option tracing_endpoint: {0}")]
    Endpoint(String),
    /// The thread or the system's randomness.
    #[error("tracing: {0}")]
    System(#[from] std::io::Error),
}

pub(crate) fn sending(config: &Config, endpoint: &str) -> Result<ExportWorker, TracingError> {
    let timeout = Duration::from_secs(config.tracing_timeout_s);
    let rejected = Arc::new(AtomicU64::new(0));
    let ca_file = config.tracing_ca_file.as_deref();
    let collector = SpanCollector::new(ca_file, timeout, Arc::clone(&rejected))?;
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url(endpoint)?)
        .with_timeout(timeout)
        .with_headers(headers(config)?)
        .with_http_client(collector)
        .build()
        .map_err(|error| TracingError::Endpoint(error.to_string()))?;
    exporter.set_resource(&resource(config));
    Ok(ExportWorker {
        exporter,
        rejected,
        batch_max: config.tracing_batch_max,
        interval: Duration::from_millis(config.tracing_interval_ms),
    })
}

/// The URL for traces; a URL without a path gets the standard one.
fn url(endpoint: &str) -> Result<String, TracingError> {
    let wrong = || TracingError::Endpoint("must be an http:// or https:// URL".to_owned());
    let uri: Uri = endpoint.parse().map_err(|_| wrong())?;
    if uri.authority().is_none() {
        return Err(wrong());
    }
    Ok(match uri.path() {
        "" | "/" => format!("{}{TRACES_PATH}", endpoint.trim_end_matches('/')),
        _ => endpoint.to_owned(),
    })
}

/// The headers of the operator's file, one a line.
fn headers(config: &Config) -> Result<HashMap<String, String>, TracingError> {
    let Some(file) = &config.tracing_headers_file else {
        return Ok(HashMap::new());
    };
    let text = secrets::read_private(file)?;
    let header = |(line, text): (usize, &str)| {
        let (name, value) = text.split_once(':').ok_or(TracingError::Header { line })?;
        let (name, value) = (name.trim(), value.trim());
        let is_header = name.parse::<HeaderName>().is_ok()
            && HeaderValue::from_str(value).is_ok()
            && !value.is_empty();
        if !is_header {
            return Err(TracingError::Header { line });
        }
        Ok((name.to_owned(), value.to_owned()))
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(header)
        .collect()
}

/// Attributes of this process.
fn resource(config: &Config) -> Resource {
    let attributes = config.tracing_attributes.iter().filter_map(|attribute| {
        let (name, value) = attribute.split_once('=')?;
        Some(KeyValue::new(name.to_owned(), value.to_owned()))
    });
    let node = config.cluster_node.clone();
    let node = node.map(|node| KeyValue::new("service.instance.id", node));
    Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(node)
        .with_attributes(attributes)
        .with_service_name(config.tracing_service_name.clone())
        .build()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_url_without_a_path_gets_that_of_traces() {
        let of = |endpoint: &str| url(endpoint).ok();
        let traces = Some("http://127.0.0.1:4318/v1/traces".to_owned());
        assert_eq!(of("http://127.0.0.1:4318"), traces);
        assert_eq!(of("http://127.0.0.1:4318/"), traces);
        assert_eq!(of("http://127.0.0.1:4318/v1/traces"), traces);
        assert_eq!(
            of("https://x.example/otlp"),
            Some("https://x.example/otlp".to_owned())
        );
        assert_eq!(of("127.0.0.1:4318/v1/traces"), None);
    }

    // Holds invariant 196.
    #[test]
    fn headers_come_from_a_private_file_and_errors_do_not_show_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("headers");
        let read = |text: &str, mode: u32| {
            std::fs::write(&file, text).unwrap();
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, permissions).unwrap();
            headers(&Config {
                tracing_headers_file: Some(file.clone()),
                ..Config::default()
            })
        };
        let found = read("Authorization: Bearer a:b=c\n\nX-Scope: kedge\n", 0o600).unwrap();
        assert_eq!(found["Authorization"], "Bearer a:b=c");
        assert_eq!(found["X-Scope"], "kedge");
        assert!(matches!(
            read("Authorization: Bearer a", 0o644),
            Err(TracingError::Headers(_))
        ));
        for bad in [
            "X-One: 1\nsecret",
            "X-One: 1\nsec ret: x",
            "X-One: 1\nsecret:",
        ] {
            let error = read(bad, 0o600).unwrap_err();
            assert!(matches!(error, TracingError::Header { line: 2 }), "{error}");
            assert!(!error.to_string().contains("sec"), "{error}");
        }
    }
}
