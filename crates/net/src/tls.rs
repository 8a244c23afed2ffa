//! TLS certificate and key from PEM files, reloaded on SIGHUP.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio_rustls::TlsAcceptor;

/// Error while loading the TLS files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("TLS: {path}: {source}", path = .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "tls_certificate_file and tls_key_file do not match: the key in {key} is not that of the certificate in {certificate}",
        key = .key.display(), certificate = .certificate.display()
    )]
    NoPair { certificate: PathBuf, key: PathBuf },
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
}

/// Certificate in use.
pub struct ServerCertificate {
    certificate_file: PathBuf,
    key_file: PathBuf,
    current: ArcSwap<ServerConfig>,
}

fn load(certificate_file: &Path, key_file: &Path) -> Result<ServerConfig, TlsError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |error: rustls::pki_types::pem::Error| TlsError::File {
            path: path.clone(),
            source: io::Error::other(error.to_string()),
        }
    };
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_file_iter(certificate_file)
            .map_err(wrong(certificate_file))?
            .collect();
    let chain = chain.map_err(wrong(certificate_file))?;
    if chain.is_empty() {
        return Err(TlsError::File {
            path: certificate_file.to_owned(),
            source: io::Error::other("holds no certificate"),
        });
    }
    let key = PrivateKeyDer::from_pem_file(key_file).map_err(wrong(key_file))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::NoPair {
                certificate: certificate_file.to_owned(),
                key: key_file.to_owned(),
            },
            other => other.into(),
        })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl ServerCertificate {
    pub fn open(certificate_file: PathBuf, key_file: PathBuf) -> Result<Self, TlsError> {
        let current = ArcSwap::from_pointee(load(&certificate_file, &key_file)?);
        Ok(Self {
            certificate_file,
            key_file,
            current,
        })
    }

    /// Reads the files again; on an error the current certificate stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let fresh = load(&self.certificate_file, &self.key_file)?;
        self.current.store(Arc::new(fresh));
        Ok(())
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }
}
