//! Commands that talk to a running server: signing for curl, the demo, and zero-knowledge claims.

use std::path::Path;
use std::process::Command;

use kedge_devchain::insecure_development_keys;
use kedge_prover::keys::dev_insecure;
use serde_json::{Value, json};

use crate::support::http::{Answer, get, post};
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{PASSWORD, free_port};
use crate::{done, done_json, refused};

/// Headers for a request, as `kedge sign` prints them.
fn lines(printed: &str) -> Vec<(&str, String)> {
    let headers: Vec<_> = printed
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    assert_eq!(headers.len(), 5, "{printed}");
    headers
}

#[track_caller]
fn answered(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    answer.json()
}

/// A user with a key file, curl and `kedge sign`.
struct Person<'a> {
    setup: &'a Setup,
    folder: &'a Path,
    nonce: u64,
    token: Option<String>,
}

impl Person<'_> {
    /// Signs a body with the next nonce and sends it.
    async fn send(&mut self, path: &str, kind: &str, body: &str, more: &[&str]) -> Answer {
        self.nonce += 1;
        let file = self.folder.join("body.json");
        std::fs::write(&file, body).unwrap();
        let nonce = self.nonce.to_string();
        let mut sign = kedge();
        sign.args(["sign", "--kind", kind, "--nonce", &nonce]);
        sign.args(["--url", &self.setup.url(), "--payload"])
            .arg(&file);
        sign.arg("--key-file")
            .arg(self.folder.join("key"))
            .args(more);
        let printed = done(&mut sign);
        let mut headers = lines(&printed);
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        headers.extend(bearer.map(|bearer| ("authorization", bearer)));
        post(self.setup.port(), path, &headers, body).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sign_prints_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let setup = Setup::development(&folder.join("data"));
    let server = setup.start();
    let key = folder.join("key");
    let address = done(kedge().args(["keys", "new"]).arg(&key));
    let mut ann = Person {
        setup: &setup,
        folder,
        nonce: 0,
        token: None,
    };

    // A body with a secret is signed by its digest, and creates a wallet.
    let wallet = json!({
        "email": "ann@example.com", "password": PASSWORD, "address": address.trim(),
        "blind": "MDEyMzQ1Njc4OWFiY2RlZg==",
    });
    let (path, kind) = ("/wallets/register", "wallet.register");
    let plain = ann.send(path, kind, &wallet.to_string(), &[]).await;
    assert_eq!(
        plain.status, 401,
        "a password that is signed as it is: {}",
        plain.body
    );
    let made = ann
        .send(path, kind, &wallet.to_string(), &["--digest"])
        .await;
    let made = answered(&made, 201);
    ann.token = Some(made["access_token"].as_str().unwrap().to_owned());

    let (path, kind) = ("/templates", "template.create");
    let template = ann.send(path, kind, r#"{"name": "ticket"}"#, &[]).await;
    let template = answered(&template, 201);
    let template_id = template["id"].as_str().unwrap();
    let body = json!({ "template_id": template_id }).to_string();
    let mint = ["--target", template_id];
    let object = ann.send("/objects", "mint", &body, &mint).await;
    let object_id = answered(&object, 201)["id"].as_str().unwrap().to_owned();

    // A signature for one target is not valid for another.
    let other = ann
        .send("/objects", "mint", &body, &["--target", &object_id])
        .await;
    assert_eq!(other.status, 401, "{}", other.body);

    // On the bus, without asking the server for its domain; the action's id is known in advance.
    let domain = get(setup.port(), "/.well-known/eip712-domain.json")
        .await
        .json();
    let contract = domain["verifyingContract"].as_str().unwrap();
    let domain = format!("{}:{contract}", domain["chainId"]);
    let signed = |atomic: bool, nonce: &str| {
        let mut sign = kedge();
        sign.args(["sign", "--kind", "update", "--target", &object_id, "--json"]);
        sign.args(["--nonce", nonce, "--domain", &domain, "--deadline", "60"]);
        sign.args(atomic.then_some("--atomic"));
        sign.arg("--key-file").arg(&key);
        done_json(&mut sign)
    };
    let bearer = format!("Bearer {}", ann.token.as_deref().unwrap());
    let headers = |signed: &Value| -> Vec<(&str, String)> {
        let names = [
            "X-Signature-Address",
            "X-Signature",
            "X-Signature-Nonce",
            "X-Signature-Deadline",
            "X-Signature-Salt",
        ];
        let all = signed["headers"].as_object().unwrap();
        assert_eq!(all.len(), names.len(), "{signed}");
        let value = |name: &str| {
            let found = all.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
            found.unwrap().1.as_str().unwrap().to_owned()
        };
        let mut headers: Vec<_> = names.map(|name| (name, value(name))).into();
        headers.push(("authorization", bearer.clone()));
        headers
    };
    let action = format!(r#"{{"action_type":"update","object_id":"{object_id}","payload":{{}}}}"#);
    let batch = format!(r#"{{"actions":[{action}],"atomic":true}}"#);
    let single = signed(false, "100");
    let sent = post(setup.port(), "/ebus/actions", &headers(&single), &action).await;
    assert_eq!(answered(&sent, 201)["id"], single["action_id"]);
    let atomic = signed(true, "101");
    let refusal = post(setup.port(), "/ebus/actions", &headers(&atomic), &action).await;
    assert_eq!(refusal.status, 401, "{}", refusal.body);
    let atomic = signed(true, "102");
    let sent = post(
        setup.port(),
        "/ebus/actions/batch",
        &headers(&atomic),
        &batch,
    )
    .await;
    let sent = answered(&sent, 200);
    assert_eq!(sent["results"][0]["id"], atomic["action_id"], "{sent}");

    let mut sign = kedge();
    sign.args(["sign", "--kind", "mint", "--nonce", "1", "--key-file"])
        .arg(&key);
    sign.args(["--url", &format!("http://127.0.0.1:{}", free_port())]);
    refused(&mut sign, 1);
    let mut sign = kedge();
    sign.args(["sign", "--kind", "grow", "--nonce", "1"]);
    let reported = refused(&mut sign, 2);
    assert!(reported.contains("is not a kind of action"), "{reported}");
    server.stop();
}

/// Makes a claim that discloses these words of the file's action.
fn prove(file: &Path, disclose: &str, trust: &[String]) -> Command {
    let keys = insecure_development_keys();
    let mut prove = kedge();
    prove.args(["prove", "claim"]).arg(file);
    prove.args(["--disclose", disclose, "--dev-insecure"]);
    prove.args(["--claimant", &keys[1].address().to_string()]);
    prove.args(["--resolver", &keys[2].address().to_string()]);
    prove.args(["--purpose", &format!("0x{}", "07".repeat(32))]);
    prove.args(trust);
    prove
}

/// Checks a claim from a file, and altered ones.
fn claims(folder: &Path, proof: &Path, trust: &[String]) {
    let keys = insecure_development_keys();
    let claim = done(&mut prove(proof, "kind,payload", trust));
    let file = folder.join("claim.json");
    std::fs::write(&file, &claim).unwrap();
    let verify = |file: &Path| {
        let mut verify = kedge();
        verify.args(["verify", "claim", "--dev-insecure", "--json"]);
        verify.arg(file).args(trust);
        verify
    };
    let shown = done_json(&mut verify(&file));
    assert_eq!(shown["valid"], true);
    assert_eq!(shown["kind"], "mint");
    assert!(
        shown["payload"].as_str().unwrap().contains("seat"),
        "{shown}"
    );
    for hidden in ["target", "signer"] {
        assert_eq!(shown[hidden], "hidden");
    }
    assert_eq!(shown["claimant"], json!(keys[1].address()));
    assert_eq!(shown["resolver"], json!(keys[2].address()));
    assert!(
        shown["anchored"].as_str().unwrap().starts_with("in block"),
        "{shown}"
    );

    // It is bound to the claimant and to the disclosed words.
    let claimant = keys[1].address().to_string();
    for (from, to) in [
        (claimant.as_str(), keys[3].address().to_string()),
        ("seat", "sofa".to_owned()),
    ] {
        let spoilt = folder.join("spoilt.json");
        assert!(claim.contains(from));
        std::fs::write(&spoilt, claim.replace(from, &to)).unwrap();
        refused(&mut verify(&spoilt), 1);
    }

    // For other programs: snarkjs' files, and the call that resolves it.
    let export = done_json(kedge().args(["prove", "export"]).arg(&file));
    assert_eq!(export["resolver"], json!(keys[2].address()));
    assert_eq!(
        export["public"].as_array().unwrap().len(),
        dev_insecure().inputs()
    );
    assert_eq!(export["proof"]["protocol"], "groth16");
    let calldata = export["calldata"].as_str().unwrap();
    assert!(
        calldata.len() > 1_000 && calldata.starts_with("0x"),
        "{calldata}"
    );
}

/// Commands that need no server: the keys and the circuit.
fn circuit(folder: &Path) {
    let key = done_json(kedge().args(["prove", "key", "--dev-insecure"]));
    assert_eq!(key["hash"], json!(dev_insecure().hash()));
    let theirs: Value = serde_json::from_str(&dev_insecure().to_snarkjs().unwrap()).unwrap();
    assert_eq!(key["verification_key"], theirs);
    let file = folder.join("claim.r1cs");
    let pins = done_json(kedge().args(["prove", "circuit"]).arg(&file));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = std::fs::read_to_string(root.join("crates/prover/circuit.json")).unwrap();
    assert_eq!(pins, serde_json::from_str::<Value>(&kept).unwrap());
    assert!(std::fs::read(&file).unwrap().starts_with(b"r1cs"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_does_what_it_says_and_its_proof_is_proven_on() {
    const OBJECTS: u64 = 20;
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let chain = free_port();
    let setup = Setup::development(&folder.join("data"))
        .set("embedded_chain_listen", format!("127.0.0.1:{chain}"));
    let server = setup.start();
    let proof = folder.join("proof.json");
    let rpc = format!("http://127.0.0.1:{chain}");
    let demo = |url: &str| {
        let mut demo = kedge();
        demo.args(["demo", "--url", url, "--rpc", &rpc]);
        demo.args(["--objects", &OBJECTS.to_string(), "--socket"]);
        demo.arg(setup.data().join("admin.sock"));
        demo.arg("--save").arg(&proof);
        demo
    };
    let reported = done_json(demo(&setup.url()).arg("--json"));
    let newest = get(setup.port(), "/batches?order=desc&limit=1")
        .await
        .json();
    let sequence = newest["items"][0]["last_sequence"].as_u64().unwrap();
    let measures = reported["done"].as_array().unwrap();
    let count = |measure: &Value| measure["actions"].as_u64().unwrap();
    assert_eq!(
        measures.iter().map(count).sum::<u64>(),
        sequence,
        "{reported}"
    );
    let minted = measures.iter().find(|measure| {
        let name = measure["name"].as_str().unwrap();
        name.starts_with("mint")
    });
    assert_eq!(count(minted.unwrap()), OBJECTS);
    let proven: Vec<&str> = (reported["proven"].as_array().unwrap().iter())
        .map(|row| row["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        proven,
        [
            "every receipt",
            "offline",
            "on the chain",
            "a forgery refused"
        ]
    );

    // The suggested next command works, with the contract alone.
    let contract = reported["domain"]["verifying_contract"].as_str().unwrap();
    let trust = ["--rpc", &rpc, "--contract", contract].map(str::to_owned);
    let mut verify = kedge();
    verify
        .args(["verify", "proof", "--json"])
        .arg(&proof)
        .args(&trust);
    assert_eq!(done_json(&mut verify)["valid"], true);

    claims(folder, &proof, &trust);
    let forged = folder.join("forged.json");
    let text = std::fs::read_to_string(&proof).unwrap();
    assert!(text.contains("seat"));
    std::fs::write(&forged, text.replace("seat", "sofa")).unwrap();
    let reported = refused(&mut prove(&forged, "kind", &trust), 1);
    assert!(reported.contains("content"), "{reported}");
    refused(&mut prove(&proof, "kind,colour", &trust), 2);
    circuit(folder);

    // A second demo finds the first one's data; another URL has no server.
    let reported = done(&mut demo(&setup.url()));
    assert!(
        reported.contains("what was proven") && reported.contains("try it yourself"),
        "{reported}"
    );
    server.stop();
    let (code, _, reported) = crate::ran(&mut demo(&setup.url()));
    assert_eq!(code, Some(1));
    assert!(reported.contains("is the server running?"), "{reported}");
}
