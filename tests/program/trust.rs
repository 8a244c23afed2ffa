//! Trust of TLS clients: a server with a certificate of a private authority is refused until the user names the
//! authority.

use std::process::Command;

use crate::support::program::kedge;
use crate::tls::Place;
use crate::{done, ran};

/// A command that reads the server's domain to sign under it.
fn sign(url: &str) -> Command {
    let mut command = kedge();
    command
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR");
    command.args([
        "sign", "--kind", "lock", "--target", "obj_0", "--nonce", "1", "--url", url,
    ]);
    command.env("KEDGE_SIGNING_KEY", format!("0x{}", "11".repeat(32)));
    command
}

/// A command that calls an Ethereum node. The server is none, so it answers with a status.
fn pause(url: &str) -> Command {
    let mut command = kedge();
    command
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR");
    command.env("KEDGE_SIGNING_KEY", format!("0x{}", "11".repeat(32)));
    let contract = "0x1000000000000000000000000000000000000001";
    command.args(["contract", "pause", "--contract", contract, "--rpc", url]);
    command
}

// Holds invariant 170.
#[test]
fn servers_and_nodes_of_a_private_authority_are_trusted_when_named() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::new(directory.path());
    place.put();
    let setup = place.setup(&directory.path().join("data"));
    let server = setup.start();
    let url = setup.url().replace("http://", "https://");
    let authority = directory.path().join("authority.pem");
    std::fs::write(&authority, &place.pem).unwrap();

    for command in [sign, pause] {
        let (code, _, error) = ran(&mut command(&url));
        assert_eq!(code, Some(1));
        assert!(error.contains("certificate"), "{error}");
    }
    for trusting in [
        ("--ca-file", "the flag"),
        ("KEDGE_CA_FILE", "its variable"),
        ("SSL_CERT_FILE", "the variable of many programs"),
    ] {
        let with = |mut command: Command| {
            match trusting.0 {
                "--ca-file" => command.arg("--ca-file").arg(&authority),
                variable => command.env(variable, &authority),
            };
            command
        };
        let headers = done(&mut with(sign(&url)));
        assert!(headers.contains("x-signature"), "{}: {headers}", trusting.1);
        let (code, _, error) = ran(&mut with(pause(&url)));
        assert_eq!(code, Some(1));
        assert!(!error.contains("certificate"), "{}: {error}", trusting.1);
        assert!(error.contains("404"), "{}: {error}", trusting.1);
    }

    // A store without a certificate is an error, not an empty one.
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (name, expected) in [
        ("SSL_CERT_FILE", "SSL_CERT_FILE"),
        ("KEDGE_CA_FILE", "empty.pem"),
    ] {
        let (code, _, error) = ran(sign(&url).env(name, &empty));
        assert_eq!(code, Some(1));
        assert!(
            error.contains("whom to trust") && error.contains(expected),
            "{error}"
        );
    }
    server.stop();
}
