//! Webhooks over TLS: the receiver's certificate comes from a private authority, which the server trusts or not.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio_rustls::TlsAcceptor;

use super::receiver::{Reaction, Receiver};
use super::{LOOPBACK, QUICK, all_are, hook, settled};
use crate::harness::{Caller, Server};

/// An authority made for one test.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate as PEM.
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    /// A receiver with a certificate for this name.
    async fn receiver(&self, name: &str) -> Receiver {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let secret = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Receiver::start_tls(acceptor, |_, _| Reaction::Status(204)).await
    }
}

/// A server that trusts this authority in addition to the public ones.
async fn system(known: &Authority) -> (Server, Caller, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, &known.pem).unwrap();
    let option = format!("webhook_ca_file={:?}", file.to_str().unwrap());
    let server = Server::start_with(&[LOOPBACK, QUICK, &option]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    (server, ann, folder)
}

#[tokio::test]
async fn a_receiver_with_a_certificate_of_a_known_authority_is_sent_to() {
    let authority = Authority::new("known");
    let (server, ann, _folder) = system(&authority).await;
    let receiver = authority.receiver("127.0.0.1").await;
    assert!(receiver.url.starts_with("https://127.0.0.1:"));
    let (path, secret) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    ann.new_template(&server, "ticket").await;
    let messages = receiver.wait(|messages| !messages.is_empty()).await;
    assert_eq!(messages[0].signatures(), [messages[0].signature(&secret)]);
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    assert_eq!(
        (&found[0]["attempts"], &found[0]["response_status"]),
        (&json!(1), &json!(204))
    );
}

#[tokio::test]
async fn a_certificate_that_does_not_hold_is_refused_again_and_again_and_says_why() {
    let (known, stranger) = (Authority::new("known"), Authority::new("stranger"));
    let (server, ann, _folder) = system(&known).await;
    let cases = [
        (stranger.receiver("127.0.0.1").await, "UnknownIssuer"),
        (
            known.receiver("receiver.example").await,
            "not valid for name",
        ),
    ];
    let mut hooks = Vec::new();
    for (receiver, why) in &cases {
        let (path, _) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
        hooks.push((path, receiver, *why));
    }
    ann.new_template(&server, "ticket").await;
    for (path, receiver, why) in hooks {
        let found = settled(&server, &ann, &path, all_are("failed")).await;
        let failed = &found[0];
        assert_eq!(
            (&failed["attempts"], &failed["response_status"]),
            (&json!(4), &json!(null)),
            "{failed}"
        );
        let error = failed["error"].as_str().unwrap();
        assert!(
            error.starts_with("TLS: invalid peer certificate"),
            "{error}"
        );
        assert!(error.contains(why), "{error}");
        assert!(receiver.so_far().is_empty(), "something was sent");
    }
}
