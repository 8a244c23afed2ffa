//! Receipts of a log whose sequencer key is rotated: each is checked with the key of its batch.

use std::io::{BufRead, BufReader};
use std::process::Child;

use kedge_protocol::signature::SigningKey;
use serde_json::Value;
use tempfile::TempDir;

use crate::{command, load, read_json, serve, server_program, text};

/// Owner of the embedded chain's contract; the first of the well-known keys.
const OWNER: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const RUN: &str = "single-updates --organizations 1 --objects 2 --connections 2 --threads 1 --warm-up-s 0 --duration-s 2 --prepared 10 --verify all";

/// A development server that also holds the next sequencer key.
struct Rotated {
    child: Child,
    url: String,
    rpc: String,
    directory: TempDir,
}

impl Drop for Rotated {
    fn drop(&mut self) {
        let _already_dead = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Rotated {
    fn start(next: &SigningKey) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let next = kedge_protocol::hash::to_hex(&next.to_bytes());
        let mut child = serve(directory.path())
            .env("KEDGE_NEXT_SEQUENCER_KEY", next)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let mut after = |words: &str| {
            let found = lines.find_map(|line| Some(line.split_once(words)?.1.trim().to_owned()));
            found.unwrap()
        };
        let url = after("listening on ");
        let rpc = after("--rpc ");
        // The pipe has to be drained.
        std::thread::spawn(move || lines.count());
        Self {
            child,
            url,
            rpc,
            directory,
        }
    }

    /// Reads a path of the server as JSON.
    fn get(&self, path: &str) -> Value {
        use std::io::{Read, Write};
        let authority = self.url.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(authority).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    fn batches(&self) -> u64 {
        self.get("/readyz")["batches"].as_u64().unwrap()
    }

    /// Announces the key that signs from this batch on, in the log and in the contract.
    fn rotate(&self, next: &SigningKey, from_batch: u64) {
        let domain = self.get("/.well-known/eip712-domain.json");
        let output = command(&server_program())
            .args(["contract", "rotate", "--rpc", &self.rpc])
            .args(["--contract", domain["verifyingContract"].as_str().unwrap()])
            .args(["--key", &next.address().to_string()])
            .args(["--from-batch", &from_batch.to_string(), "--socket"])
            .arg(self.directory.path().join("data/admin.sock"))
            .env("KEDGE_SIGNING_KEY", OWNER)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
    }

    /// A run that trusts this first key, or else the keys that the server states.
    fn run(&self, first: Option<&str>) -> Result<Value, String> {
        let report = self.directory.path().join("report.json");
        let mut load = load(RUN);
        load.args(["--url", &self.url, "--json"]).arg(&report);
        load.args(first.map(|first| format!("--sequencer={first}")));
        let output = load.output().unwrap();
        if output.status.success() {
            Ok(read_json(&report)["runs"][0].clone())
        } else {
            Err(text(&output))
        }
    }
}

/// Checks that every receipt was verified, and no problem was found.
fn check(run: &Value) {
    assert_eq!(run["problems"], Value::Array(Vec::new()));
    let verified = run["receipts_verified"].as_u64().unwrap();
    assert!(verified > 0 && run["acknowledged"] == verified, "{run}");
    assert!(run["log"]["headers_found"].as_u64().unwrap() > 0, "{run}");
}

// Holds invariant 104.
#[test]
fn receipts_are_checked_with_the_key_of_their_batch() {
    let next = SigningKey::from_bytes(&[0x5b; 32]).unwrap();
    let server = Rotated::start(&next);
    let domain = server.get("/.well-known/eip712-domain.json");
    let first = domain["sequencer"].as_str().unwrap();
    check(&server.run(None).unwrap());
    // The rotation comes early in the next run.
    let from_batch = server.batches() + 3;
    server.rotate(&next, from_batch);
    check(&server.run(Some(first)).unwrap());
    assert!(server.batches() > from_batch);
    // All of this run is after the rotation.
    check(&server.run(None).unwrap());
    check(&server.run(Some(first)).unwrap());
    // A client that trusts another first key accepts nothing.
    let reported = server.run(Some(&next.address().to_string())).unwrap_err();
    assert!(reported.contains("sequencer key"), "{reported}");
}
