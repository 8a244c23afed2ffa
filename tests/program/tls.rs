//! The server's own TLS: the certificate and protocols that callers see, renewal while the server runs, and unusable
//! certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::eventually;
use crate::support::server::{Server, Setup};

const PATIENCE: Duration = Duration::from_secs(30);
const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
const BOTH: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];

/// An authority that callers trust, and the files that the server reads.
pub(crate) struct Place {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
    roots: Arc<RootCertStore>,
    certificate_file: PathBuf,
    key_file: PathBuf,
}

/// A certificate for this machine's loopback address and its key: as PEM, and the certificate also as callers see it.
pub(crate) struct Pair {
    certificate_pem: String,
    key_pem: String,
    der: CertificateDer<'static>,
}

impl Place {
    pub(crate) fn new(directory: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let mut roots = RootCertStore::empty();
        let own = params.self_signed(&key).unwrap();
        roots.add(own.der().clone()).unwrap();
        Self {
            pem: own.pem(),
            issuer: Issuer::new(params, key),
            roots: Arc::new(roots),
            certificate_file: directory.join("certificate.pem"),
            key_file: directory.join("key.pem"),
        }
    }

    fn pair(&self) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            der: certificate.der().clone(),
        }
    }

    fn write(&self, certificate: &str, key: &str) {
        std::fs::write(&self.certificate_file, certificate).unwrap();
        std::fs::write(&self.key_file, key).unwrap();
    }

    /// Installs a certificate for the server.
    pub(crate) fn put(&self) -> Pair {
        let pair = self.pair();
        self.write(&pair.certificate_pem, &pair.key_pem);
        pair
    }

    pub(crate) fn setup(&self, data: &Path) -> Setup {
        Setup::development(data)
            .set(
                "tls_certificate_file",
                format!("\"{}\"", self.certificate_file.display()),
            )
            .set("tls_key_file", format!("\"{}\"", self.key_file.display()))
    }

    /// A client's handshake with these protocols.
    async fn shake(
        &self,
        setup: &Setup,
        protocols: &[&[u8]],
        versions: &[&'static SupportedProtocolVersion],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(("127.0.0.1", setup.port())).await?;
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }

    /// The certificate that the next caller sees.
    async fn seen(&self, setup: &Setup) -> CertificateDer<'static> {
        let stream = self.shake(setup, &[HTTP1], BOTH).await.unwrap();
        let (_, session) = stream.get_ref();
        session.peer_certificates().unwrap()[0].clone()
    }

    async fn is_seen(&self, setup: &Setup, pair: &Pair) {
        let seen = || async { (self.seen(setup).await == pair.der).then_some(()) };
        eventually("the new certificate is served", PATIENCE, seen).await;
    }
}

/// A connection that stays open.
enum Open {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

impl Open {
    async fn one(stream: TlsStream<TcpStream>) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self::One(sender)
    }

    async fn two(stream: TlsStream<TcpStream>) -> Self {
        let executor = TokioExecutor::new();
        let handshake = http2::handshake(executor, TokioIo::new(stream)).await;
        let (sender, connection) = handshake.unwrap();
        tokio::spawn(connection);
        Self::Two(sender)
    }

    async fn get(&mut self, setup: &Setup, path: &str) -> (StatusCode, HeaderMap, Bytes) {
        let authority = format!("127.0.0.1:{}", setup.port());
        let request = match self {
            Self::One(_) => Request::get(path).header("host", authority),
            Self::Two(_) => Request::get(format!("https://{authority}{path}")),
        };
        let request = request.body(Empty::new()).unwrap();
        let response = match self {
            Self::One(sender) => {
                sender.ready().await.unwrap();
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await.unwrap();
                sender.send_request(request).await
            }
        };
        let (parts, body) = response.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status, parts.headers, bytes)
    }
}

#[track_caller]
fn has_hsts(headers: &HeaderMap) {
    let field = headers.get("strict-transport-security");
    assert_eq!(field.unwrap(), "max-age=31536000");
}

// Holds invariant 141.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_see_the_certificate_and_choose_the_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::new(directory.path());
    let pair = place.put();
    let setup = place.setup(&directory.path().join("data"));
    let server = setup.start();
    assert!(place.seen(&setup).await == pair.der);

    for version in BOTH {
        for (offered, chosen) in [
            (&[H2, HTTP1][..], Some(H2)),
            (&[HTTP1, H2], Some(H2)),
            (&[H2], Some(H2)),
            (&[HTTP1], Some(HTTP1)),
            (&[], None),
        ] {
            let stream = place.shake(&setup, offered, &[*version]).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), chosen, "{offered:?}");
            let mut open = if chosen == Some(H2) {
                Open::two(stream).await
            } else {
                Open::one(stream).await
            };
            let (status, headers, _) = open.get(&setup, "/version").await;
            assert_eq!(status, 200);
            has_hsts(&headers);
            // Refusals have the header too.
            let (status, headers, _) = open.get(&setup, "/wallets/me").await;
            assert_eq!(status, 401);
            has_hsts(&headers);
            let (status, headers, _) = open.get(&setup, "/nowhere").await;
            assert_eq!(status, 404);
            has_hsts(&headers);
        }
    }
    let none = place.shake(&setup, &[b"spdy/3"], BOTH).await.unwrap_err();
    assert!(none.to_string().contains("NoApplicationProtocol"), "{none}");

    // A caller without TLS gets no answer, and does no harm.
    let plain = crate::support::http::try_get(setup.port(), "/version").await;
    assert!(plain.is_none(), "an answer in the clear");
    // Callers use the URL that tokens name.
    let stream = place.shake(&setup, &[HTTP1], BOTH).await.unwrap();
    let (status, ..) = Open::one(stream).await.get(&setup, "/readyz").await;
    assert_eq!(status, 200);
    assert!(setup.log().contains("metrics"), "the log is there");
    server.stop();
}

/// Waits until the log has a reload's message this many times.
async fn is_logged(setup: &Setup, text: &str, times: usize) {
    let found = || async { (setup.log().matches(text).count() >= times).then_some(()) };
    eventually(text, PATIENCE, found).await;
}

async fn still_answers(open: &mut [Open], setup: &Setup) {
    for open in open {
        let (status, ..) = open.get(setup, "/version").await;
        assert_eq!(status, 200);
    }
}

// Holds invariant 141.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_renews_the_certificate_and_drops_nobody() {
    const DONE: &str = "the certificate was reloaded";
    const FAILED: &str = "the certificate could not be reloaded";
    let directory = tempfile::tempdir().unwrap();
    let place = Place::new(directory.path());
    let first = place.put();
    let setup = place.setup(&directory.path().join("data"));
    let server: Server = setup.start();
    let mut open = Vec::new();
    let stream = place.shake(&setup, &[HTTP1], BOTH).await.unwrap();
    open.push(Open::one(stream).await);
    let stream = place.shake(&setup, &[H2], BOTH).await.unwrap();
    open.push(Open::two(stream).await);
    still_answers(&mut open, &setup).await;
    assert!(place.seen(&setup).await == first.der);

    let second = place.put();
    server.signal("-HUP");
    place.is_seen(&setup, &second).await;
    is_logged(&setup, DONE, 1).await;
    still_answers(&mut open, &setup).await;

    // Half of a renewal, invalid text, and nothing at all: the certificate in use stays, and the log reports it.
    let third = place.pair();
    for (number, (certificate, key)) in (1..).zip([
        (third.certificate_pem.as_str(), second.key_pem.as_str()),
        (second.certificate_pem.as_str(), third.key_pem.as_str()),
        ("nonsense", third.key_pem.as_str()),
        (third.certificate_pem.as_str(), ""),
    ]) {
        place.write(certificate, key);
        server.signal("-HUP");
        is_logged(&setup, FAILED, number).await;
        assert!(place.seen(&setup).await == second.der);
        still_answers(&mut open, &setup).await;
    }
    assert_eq!(setup.log().matches(DONE).count(), 1, "{}", setup.log());

    place.write(&third.certificate_pem, &third.key_pem);
    server.signal("-HUP");
    place.is_seen(&setup, &third).await;
    still_answers(&mut open, &setup).await;
    drop(open);
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_during_the_start_does_not_end_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::new(directory.path());
    place.put();
    let setup = place.setup(&directory.path().join("data"));
    let mut server = setup.begin();
    is_logged(&setup, "metrics url", 1).await;
    let second = place.put();
    server.signal("-HUP");
    // The certificate may have been read before or after.
    place.is_seen(&setup, &second).await;
    assert!(server.runs(), "{}", setup.log());
    server.stop();
}

// Holds invariant 141.
#[test]
fn a_certificate_that_cannot_be_used_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::new(directory.path());
    let (own, other) = (place.pair(), place.pair());
    let data = directory.path().join("data");
    let setup = place.setup(&data);
    let certificate_file = place.certificate_file.display().to_string();
    let key_file = place.key_file.display().to_string();
    let cases = [
        (
            own.certificate_pem.as_str(),
            other.key_pem.as_str(),
            vec!["do not match", &certificate_file, &key_file],
        ),
        ("", &own.key_pem, vec!["no certificate", &certificate_file]),
        (
            &own.key_pem,
            &own.key_pem,
            vec!["no certificate", &certificate_file],
        ),
        (&own.certificate_pem, "", vec![&key_file]),
        (&own.certificate_pem, &own.certificate_pem, vec![&key_file]),
    ];
    for (certificate, key, expected) in cases {
        place.write(certificate, key);
        let (status, reported) = setup.start_refused();
        assert_eq!(status.code(), Some(1));
        for part in expected {
            assert!(reported.contains(part), "{part}: {reported}");
        }
    }
    std::fs::remove_file(&place.key_file).unwrap();
    let (_, reported) = setup.start_refused();
    assert!(
        reported.contains(&key_file) && reported.contains("No such file"),
        "{reported}"
    );

    let half =
        Setup::development(&data).set("tls_key_file", format!("\"{}\"", place.key_file.display()));
    let (_, reported) = half.start_refused();
    assert!(
        reported.contains("option tls_certificate_file"),
        "{reported}"
    );
    assert!(!data.exists(), "a refused start made something");
}
