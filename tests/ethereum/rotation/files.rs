//! Files of a log with rotated keys, for every verifier.

use std::path::{Path, PathBuf};
use std::process::Command;

use kedge_client::{Account, ProofForm};
use kedge_protocol::eip712::Domain;
use kedge_protocol::export::ExportChecker;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::{BatchKeys, Id, Prefix, SequencerKeys};
use serde_json::{Value, json};

use super::{LIMIT, Rotated, kedge};
use crate::support::{checkpoint_over, eventually};

/// The whole export, with the account's requests.
async fn export_of(account: &Account) -> String {
    let header = account.client().highest_header().unwrap().header;
    checkpoint_over(account.client(), header.last_sequence()).await;
    let mut export = account.export(0).await.unwrap();
    let mut text = String::new();
    while let Some(line) = export.line().await.unwrap() {
        text.push_str(std::str::from_utf8(&line).unwrap());
        text.push('\n');
    }
    text
}

/// Files that their owners have kept.
pub(crate) struct Files {
    receipts: Vec<PathBuf>,
    proofs: Vec<PathBuf>,
    export: PathBuf,
    keys: PathBuf,
    first: PathBuf,
    cases: PathBuf,
}

impl Files {
    pub(crate) async fn write(
        folder: &Path,
        ann: &Account,
        keys: &SequencerKeys,
        receipts: &[Receipt],
    ) -> Self {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut files = Self {
            receipts: Vec::new(),
            proofs: Vec::new(),
            export: write("export.ndjson", export_of(ann).await),
            keys: write("keys.json", serde_json::to_string(keys).unwrap()),
            first: write(
                "first.json",
                json!([{"key": keys.first(), "from_batch": 0}]).to_string(),
            ),
            cases: PathBuf::new(),
        };
        let mut cases = Vec::new();
        // The last receipt under each key, and its proof.
        for (i, entry) in keys.entries().iter().enumerate() {
            let of_key = |receipt: &&Receipt| {
                keys.entry_of(receipt.batch.header.number).from_batch == entry.from_batch
            };
            let receipt = receipts.iter().rev().find(of_key).unwrap();
            let text = serde_json::to_string(receipt).unwrap();
            let (receipt_text, content) = (text.clone(), receipt.leaf.content);
            files
                .receipts
                .push(write(&format!("receipt-{i}.json"), text));
            let id = Id::of_hash(Prefix::Action, &content);
            let anchored = || async {
                let proof = ann.proof(id, ProofForm::Authorship).await.unwrap();
                proof.anchor.is_some().then_some(proof)
            };
            let proof = eventually("the proof is anchored", LIMIT, anchored).await;
            let text = serde_json::to_string(&proof).unwrap();
            cases.push(json!({"receipt": receipt_text, "content": content, "proof": text}));
            files.proofs.push(write(&format!("proof-{i}.json"), text));
        }
        let domain = ann.client().domain();
        let reported =
            json!({"domain": domain, "keys": keys, "cases": cases, "export": files.export});
        files.cases = write("cases.json", reported.to_string());
        files
    }

    /// Every verifier: the command line with a list of keys and with the contract's, the library, and the JavaScript
    /// client. With the first key alone all of them refuse the later keys' batches.
    pub(crate) fn check(&self, rotated: &Rotated) {
        let (domain, contract) = (rotated.domain(), rotated.contract.to_string());
        let listed = |keys: &Path| {
            let keys = keys.to_str().unwrap();
            [&["--domain", &domain, "--keys", keys].map(str::to_owned)[..]].concat()
        };
        let asked = ["--rpc", &rotated.rpc_url, "--contract", &contract].map(str::to_owned);
        let run = |what: &str, file: &Path, trust: &[String]| {
            let mut arguments = vec!["verify", what, file.to_str().unwrap()];
            arguments.extend(trust.iter().map(String::as_str));
            let output = kedge(&arguments);
            let reported = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.success(), reported)
        };
        let mut of_files = vec![("export", &self.export)];
        of_files.extend(self.receipts.iter().map(|file| ("receipt", file)));
        of_files.extend(self.proofs.iter().map(|file| ("proof", file)));
        for (what, file) in of_files {
            for trust in [&listed(&self.keys)[..], &asked[..]] {
                let (holds, reported) = run(what, file, trust);
                assert!(holds, "{what} {}: {reported}", file.display());
            }
            if *file == self.proofs[0] {
                // The key that signed its anchor depends on the time of anchoring.
                continue;
            }
            let of_first_key = *file == self.receipts[0];
            let (holds, reported) = run(what, file, &listed(&self.first));
            assert_eq!(holds, of_first_key, "{what} {}: {reported}", file.display());
        }
        self.check_library();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js/check-rotated.mjs");
        let node = Command::new("node")
            .arg(script)
            .arg(&self.cases)
            .output()
            .unwrap();
        let reported = String::from_utf8_lossy(&node.stderr);
        assert!(node.status.success(), "{reported}");
    }

    fn check_library(&self) {
        let text = std::fs::read_to_string(&self.export).unwrap();
        let read = |path: &Path| -> SequencerKeys {
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
        };
        let cases: Value =
            serde_json::from_str(&std::fs::read_to_string(&self.cases).unwrap()).unwrap();
        let domain: Domain = serde_json::from_value(cases["domain"].clone()).unwrap();
        let (keys, first) = (read(&self.keys), read(&self.first));
        let check = |keys: &SequencerKeys| -> Result<u64, String> {
            let mut checker = ExportChecker::new(domain, keys);
            for line in text.lines() {
                checker.line(line).map_err(|error| error.to_string())?;
            }
            checker
                .finish()
                .map(|shown| shown.batches)
                .map_err(|error| error.to_string())
        };
        let second = keys.entries()[1].from_batch;
        assert!(check(&keys).unwrap() > second);
        let refused = check(&first).unwrap_err();
        assert!(refused.contains("signed by"), "{refused}");
        // A list with a rotation moved by one batch is a different list.
        let mut moved = keys.entries().to_vec();
        moved[1].from_batch += 1;
        let moved = SequencerKeys::new(moved).unwrap();
        assert_eq!(moved.key_of(second), keys.first());
        assert!(check(&moved).is_err());
    }
}
