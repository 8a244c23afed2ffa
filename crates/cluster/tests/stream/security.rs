//! TLS to the servers, and permissions to connect and publish.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_cluster::{Cluster, ClusterOptions};
use kedge_log::Log as _;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::nats::{Servers, Settings};
use super::node::{IDENTITY, Node, frames_of, options, runtime};

/// An authority, and certificates that it signed, as PEM files.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        for authority in ["authority", "other"] {
            let key = rcgen::KeyPair::generate().unwrap();
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let certificate = params.self_signed(&key).unwrap();
            put(&format!("{authority}.pem"), certificate.pem());
            let issuer = Issuer::new(params, key);
            for (part, usage) in [
                ("server", ExtendedKeyUsagePurpose::ServerAuth),
                ("node", ExtendedKeyUsagePurpose::ClientAuth),
            ] {
                let key = rcgen::KeyPair::generate().unwrap();
                let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
                params.extended_key_usages = vec![usage];
                let signed = params.signed_by(&key, &issuer).unwrap();
                put(&format!("{authority}-{part}.pem"), signed.pem());
                put(&format!("{authority}-{part}.key"), key.serialize_pem());
            }
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Configuration of a server that serves TLS and requires certificates of the authority.
    fn server_lines(&self) -> String {
        format!(
            "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
            self.path("authority-server.pem").display(),
            self.path("authority-server.key").display(),
            self.path("authority.pem").display(),
        )
    }

    /// Options of a node with a certificate of this authority.
    fn node(&self, servers: &Servers, authority: &str) -> ClusterOptions {
        ClusterOptions {
            servers: tls_urls(servers),
            ca_file: Some(self.path("authority.pem")),
            certificate_file: Some(self.path(&format!("{authority}-node.pem"))),
            key_file: Some(self.path(&format!("{authority}-node.key"))),
            require_tls: true,
            replicas_synced: 0,
            ..options(servers, "one")
        }
    }
}

fn tls_urls(servers: &Servers) -> Vec<String> {
    let urls = servers.urls().into_iter();
    urls.map(|url| url.replace("nats://", "tls://")).collect()
}

/// The error of a refused connection.
async fn refused(options: ClusterOptions) -> String {
    match Cluster::connect(options, IDENTITY).await {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// Leads, writes, and finds its frames in the stream.
fn carries_a_log(options: ClusterOptions) {
    let runtime = Arc::new(runtime());
    let mut node = Node::open(&runtime, options);
    node.lead(1);
    node.write(1).unwrap();
    assert_eq!(frames_of(&node.reader).len(), 2);
    assert!(frames_of(&node.reader) == node.stream());
}

// Holds invariant 188.
#[test]
fn nodes_and_servers_know_each_other_by_their_certificates() {
    let files = Files::new();
    let servers = Servers::start_with_lines(1, Settings::default(), &files.server_lines());
    runtime().block_on(async {
        let known = files.node(&servers, "authority");
        // The system's authorities do not know the server.
        let stranger = ClusterOptions {
            ca_file: None,
            ..known.clone()
        };
        let error = refused(stranger).await;
        assert!(error.contains("certificate"), "{error}");
        let wrong_server = ClusterOptions {
            ca_file: Some(files.path("other.pem")),
            ..known.clone()
        };
        let error = refused(wrong_server).await;
        assert!(error.contains("certificate"), "{error}");
        // The server does not know the node.
        let nameless = ClusterOptions {
            certificate_file: None,
            key_file: None,
            ..known.clone()
        };
        assert!(!refused(nameless).await.is_empty());
        assert!(!refused(files.node(&servers, "other")).await.is_empty());
    });
    carries_a_log(files.node(&servers, "authority"));

    let plain = Servers::start(1);
    let demanding = ClusterOptions {
        servers: plain.urls(),
        ..files.node(&plain, "authority")
    };
    assert!(!runtime().block_on(refused(demanding)).is_empty());
}

/// A JSON Web Token of NATS: `issuer`'s statement about `subject`.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: &Value) -> String {
    let claims = json!({
        "jti": name,
        "iat": 1_700_000_000,
        "iss": issuer.public_key(),
        "name": name,
        "sub": subject.public_key(),
        "nats": nats,
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" }));
    let signed = format!("{head}.{}", part(&claims));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Credentials of a user who may publish on these subjects.
fn credentials(folder: &Path, account: &KeyPair, name: &str, publish: &[&str]) -> PathBuf {
    let user = KeyPair::new_user();
    let nats = json!({
        "pub": { "allow": publish }, "sub": {}, "subs": -1, "data": -1, "payload": -1,
        "type": "user", "version": 2,
    });
    let path = folder.join(format!("{name}.creds"));
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        token(account, &user, name, &nats),
        user.seed().unwrap(),
    );
    fs::write(&path, text).unwrap();
    path
}

/// A server that knows users by credentials, and the account that signs them.
fn servers_with_users() -> (Servers, KeyPair) {
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let system = KeyPair::new_account();
    let unlimited = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let of_account = json!({ "limits": unlimited, "type": "account", "version": 2 });
    let mut of_system = of_account.clone();
    of_system["limits"]["mem_storage"] = json!(0);
    of_system["limits"]["disk_storage"] = json!(0);
    let of_operator = json!({ "type": "operator", "version": 2 });
    let lines = format!(
        "operator: {}\nsystem_account: {system}\nresolver: MEMORY\n\
         resolver_preload: {{ {}: {}, {system}: {} }}",
        token(&operator, &operator, "operator", &of_operator),
        account.public_key(),
        token(&operator, &account, "kedge", &of_account),
        token(&operator, &system, "system", &of_system),
        system = system.public_key(),
    );
    let servers = Servers::start_with_lines(1, Settings::default(), &lines);
    (servers, account)
}

// Holds invariant 188.
#[test]
fn only_users_with_the_right_to_publish_carry_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let (servers, account) = servers_with_users();
    // Subjects that a node publishes on; `scripts/packages/nats/kedge.conf` lists them one by one.
    let subjects = [
        "kedge.test.>",
        "$JS.API.>",
        "$JS.ACK.>",
        "$KV.KEDGE_test.>",
        "$O.KEDGE_test_files.>",
    ];
    let node = |file: Option<PathBuf>| ClusterOptions {
        credentials_file: file,
        replicas_synced: 0,
        ..options(&servers, "one")
    };
    let reader = credentials(folder.path(), &account, "reader", &["$JS.API.>"]);
    let writer = credentials(folder.path(), &account, "writer", &subjects);
    let stranger = credentials(
        folder.path(),
        &KeyPair::new_account(),
        "stranger",
        &subjects,
    );
    runtime().block_on(async {
        for file in [None, Some(stranger)] {
            let error = refused(node(file)).await;
            assert!(error.contains("authorization"), "{error}");
        }
    });
    carries_a_log(node(Some(writer.clone())));

    // A read-only user cannot open a term, and the log stays unchanged.
    let runtime = Arc::new(runtime());
    let mut following = Node::open(&runtime, node(Some(reader)));
    following.follow_to(2).unwrap();
    let end = following.log.position();
    let opened = runtime.block_on(async {
        let opening = following.cluster.begin_term(&end, 2);
        tokio::time::timeout(std::time::Duration::from_secs(3), opening).await
    });
    assert!(!matches!(opened, Ok(Ok(_))));
    let whole = Node::open(&runtime, node(Some(writer)));
    assert_eq!(whole.stream().len(), 2);
}
