//! Root certificates for outbound TLS connections: the system's store, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name
//! instead, plus one more file. A system without a store, such as a minimal container, gets Mozilla's public roots. The
//! choice is global to the process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// Variables that replace the system's store.
const NAMED_BY: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Error while loading root certificates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error("{path}: {why}")]
    File { path: String, why: String },
    #[error("SSL_CERT_FILE or SSL_CERT_DIR: {0}")]
    Named(String),
    #[error("TLS: {0}")]
    Tls(String),
}

/// Certificates of the additional file.
static ADDED: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
static ROOTS: OnceLock<Result<Arc<RootCertStore>, TrustError>> = OnceLock::new();

/// Adds the certificates of a PEM file for the whole process. Call it once, before any connection.
///
/// # Errors
/// If the file has no certificate or cannot be read, or the store that the environment names cannot be used.
pub fn trust(file: Option<&Path>) -> Result<(), TrustError> {
    if let Some(file) = file {
        let read = certificates(file)?;
        // The first file stays if this is called again.
        let _first = ADDED.set(read);
    }
    let is_named = NAMED_BY.iter().any(|name| std::env::var_os(name).is_some());
    if file.is_some() || is_named {
        roots()?;
    }
    Ok(())
}

/// The root certificates of this process.
///
/// # Errors
/// If the store that the environment names cannot be used.
pub fn roots() -> Result<Arc<RootCertStore>, TrustError> {
    ROOTS.get_or_init(|| read().map(Arc::new)).clone()
}

/// [`roots`] plus the certificates of another PEM file.
///
/// # Errors
/// Those of [`roots`], and if the file cannot be used.
pub fn roots_with(file: &Path) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::clone(&*roots()?);
    roots.add_parsable_certificates(certificates(file)?);
    Ok(roots)
}

/// Client configuration with [`roots`].
///
/// # Errors
/// Those of [`roots`].
pub fn client_config() -> Result<ClientConfig, TrustError> {
    of(roots()?)
}

/// As [`client_config`], with the authorities of another PEM file, if there is one.
///
/// # Errors
/// As [`roots_with`].
pub fn client_config_with(file: Option<&Path>) -> Result<ClientConfig, TrustError> {
    match file {
        None => client_config(),
        Some(file) => of(roots_with(file)?),
    }
}

/// Client configuration with these root certificates.
///
/// # Errors
/// If no version of TLS is available.
pub fn of(roots: impl Into<Arc<RootCertStore>>) -> Result<ClientConfig, TrustError> {
    // The provider is explicit, so another one in the dependency tree changes nothing.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| TrustError::Tls(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn read() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let is_named = NAMED_BY.iter().any(|name| std::env::var_os(name).is_some());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() && is_named {
        let why: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let why = if why.is_empty() {
            "no certificates".to_owned()
        } else {
            why.join("; ")
        };
        return Err(TrustError::Named(why));
    }
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots.add_parsable_certificates(ADDED.get().cloned().unwrap_or_default());
    Ok(roots)
}

/// Reads a PEM file; it must have at least one certificate, and only usable ones.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let wrong = |why: String| TrustError::File {
        path: file.display().to_string(),
        why,
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let read: Result<Vec<_>, _> = read.collect();
    let read = read.map_err(|error| wrong(error.to_string()))?;
    if read.is_empty() {
        return Err(wrong("has no certificate in PEM".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &read {
        roots
            .add(certificate.clone())
            .map_err(|error| wrong(error.to_string()))?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    #[test]
    fn a_file_adds_its_authorities_and_a_wrong_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        let why = |text: &str| {
            std::fs::write(&file, text).unwrap();
            match roots_with(&file) {
                Err(TrustError::File { path, why }) => {
                    assert_eq!(path, file.display().to_string());
                    why
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(why("nothing"), "has no certificate in PEM");
        assert!(!why("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_empty());

        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        std::fs::write(&file, own.pem()).unwrap();
        let (public, with) = (roots().unwrap(), roots_with(&file).unwrap());
        assert!(!public.is_empty());
        assert_eq!(with.len(), public.len() + 1);
    }
}
