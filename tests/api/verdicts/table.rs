//! The table: its cases, how a good file is spoiled, and its text.

use kedge_protocol::Hash;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_prover::claim::ClaimFile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::calls::Call;
use super::log::Log;

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The receipt of one action.
    Receipt,
    /// The receipt of all actions of a request.
    Receipts,
    Proof,
    Claim,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) valid: bool,
    /// The check that refuses it; null if it is valid.
    pub(crate) refused: Option<String>,
    pub(crate) contract: Option<Call>,
    /// For a receipt: the contents of all actions that were sent.
    pub(crate) contents: Vec<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Box<RawValue>>,
    /// The file's text, if it is not JSON or its spelling matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Row {
    pub(crate) fn text(&self) -> &str {
        let text = self.text.as_deref();
        text.or_else(|| self.file.as_deref().map(RawValue::get))
            .unwrap()
    }
}

/// A good file, and the data for queries to the contract about it.
#[derive(Clone)]
pub(crate) struct Good {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) file: Value,
    pub(crate) contents: Vec<Hash>,
    /// For a receipt: the batches of a checkpoint that covers it, and the path to its history.
    pub(crate) covered: Option<(u64, Vec<Hash>)>,
}

fn read<T: DeserializeOwned>(file: &Value) -> Option<T> {
    serde_json::from_value(file.clone()).ok()
}

impl Good {
    /// The query to the contract about the current file.
    fn ask(&self, file: &Value) -> Option<Call> {
        match self.kind {
            Kind::Receipt => {
                let (batches, path) = self.covered.as_ref()?;
                let file: Receipt = read(file)?;
                let leaf = LogLeaf {
                    sequence: file.leaf.sequence,
                    timestamp_ms: file.leaf.timestamp_ms,
                    content: file.leaf.content,
                    integrity: file.leaf.integrity,
                };
                let paths = [&file.path[..], path];
                Some(Call::verify_action(
                    *batches,
                    &file.batch.header,
                    &leaf,
                    paths,
                ))
            }
            Kind::Receipts => {
                let (batches, path) = self.covered.as_ref()?;
                let file: BatchReceipt = read(file)?;
                Some(Call::verify_batch(*batches, &file.batch.header, path))
            }
            Kind::Proof => {
                let file: ProofFile = read(file)?;
                let anchor = file.anchor.as_ref()?;
                let leaf = LogLeaf {
                    sequence: file.leaf.sequence,
                    timestamp_ms: file.leaf.timestamp_ms,
                    content: file.leaf.content,
                    integrity: file.leaf.integrity,
                };
                let batches = anchor.checkpoint.checkpoint.batches;
                let paths = [&file.inclusion.path[..], &anchor.path];
                let call = Call::verify_action(batches, &file.batch.header, &leaf, paths);
                Some(call.opened(&file.action, leaf.content))
            }
            Kind::Claim => Call::resolve(&read::<ClaimFile>(file)?),
        }
    }
}

/// Another value of the same kind: one more, or with the last digit changed.
pub(crate) fn turned(value: &Value) -> Value {
    if let Some(number) = value.as_u64() {
        return json!(number + 1);
    }
    let mut text = value.as_str().unwrap().to_owned();
    let last = if text.pop() == Some('0') { '1' } else { '0' };
    text.push(last);
    json!(text)
}

const HEADER: [&str; 9] = [
    "number",
    "first_sequence",
    "count",
    "previous_head",
    "head",
    "root",
    "history",
    "state",
    "sealed_at_ms",
];

pub(crate) struct Maker {
    pub(crate) log: Log,
    pub(crate) rows: Vec<Row>,
}

impl Maker {
    fn push(&mut self, good: &Good, name: &str, refused: Option<&str>, call: Option<Call>) {
        assert!(self.rows.iter().all(|row| row.name != name), "twice {name}");
        self.rows.push(Row {
            name: name.to_owned(),
            kind: good.kind,
            valid: refused.is_none(),
            refused: refused.map(str::to_owned),
            contract: call,
            contents: good.contents.clone(),
            file: None,
            text: None,
        });
    }

    fn push_file(
        &mut self,
        good: &Good,
        name: &str,
        refused: Option<&str>,
        contract: Option<Call>,
        file: &Value,
    ) {
        self.push(good, name, refused, contract);
        let row = self.rows.last_mut().unwrap();
        row.file = Some(to_raw_value(file).unwrap());
    }

    /// Adds a file that every party accepts.
    pub(crate) fn good(&mut self, good: &Good) {
        let call = good.ask(&good.file);
        self.push_file(good, &good.name, None, call, &good.file);
    }

    /// Adds a good file with a change that makes no difference.
    pub(crate) fn varied(&mut self, good: &Good, what: &str, edit: impl FnOnce(&mut Value)) {
        let mut file = good.file.clone();
        edit(&mut file);
        assert!(file != good.file, "{what}");
        let name = format!("{}: {what}", good.name);
        self.push_file(good, &name, None, good.ask(&file), &file);
    }

    /// Adds a spoiled file, the check that refuses it, and the contract's error, empty if the contract does not get the
    /// spoiled part.
    pub(crate) fn spoiled(
        &mut self,
        good: &Good,
        what: &str,
        [refused, contract]: [&'static str; 2],
        edit: impl FnOnce(&mut Value),
    ) {
        let mut file = good.file.clone();
        edit(&mut file);
        assert!(file != good.file, "{what}");
        let name = format!("{}: {what}", good.name);
        let asked = good.ask(&file);
        let call = asked.filter(|asked| good.ask(&good.file).as_ref() != Some(asked));
        let call = call.map(|call| Call {
            refused: Some(contract.to_owned()),
            ..call
        });
        assert_eq!(call.is_none(), contract.is_empty(), "{name}");
        self.push_file(good, &name, Some(refused), call, &file);
    }

    /// Changes one member; the case is named after its pointer.
    pub(crate) fn turned(&mut self, good: &Good, pointer: &str, why: [&'static str; 2]) {
        let what = format!("{} turned", pointer[1..].replace('/', "."));
        self.spoiled(good, &what, why, |file| {
            let value = file.pointer_mut(pointer).unwrap();
            *value = turned(value);
        });
    }

    /// Changes every member of the header in turn: no signature covers the result, and no history holds it.
    pub(crate) fn headers_turned(&mut self, good: &Good, contract: &'static str) {
        for member in HEADER {
            self.turned(
                good,
                &format!("/batch/header/{member}"),
                ["signature", contract],
            );
        }
    }

    /// Spoils the leaf's time, and the leaf's path to the signed header.
    pub(crate) fn ways_spoiled(&mut self, good: &Good) {
        let why = ["path", "ActionNotInBatch"];
        self.spoiled(good, "an earlier time", why, |file| {
            let time_ms = file["leaf"]["timestamp_ms"].as_u64().unwrap();
            file["leaf"]["timestamp_ms"] = json!(time_ms - 1);
        });
        let why = ["time", "ActionNotInBatch"];
        self.spoiled(good, "later than its batch", why, |file| {
            file["leaf"]["timestamp_ms"] = turned(&file["batch"]["header"]["sealed_at_ms"]);
        });
        self.turned(good, "/inclusion/leaf_index", ["place", ""]);
        self.paths_spoiled(good, "/inclusion/path", ["path", "ActionNotInBatch"]);
        self.headers_turned(good, "BatchNotInHistory");
        self.signatures_spoiled(good, "/batch/signature", "signature");
    }

    /// Spoils a list of hashes in every way; the contract gets it as an argument or not at all.
    pub(crate) fn paths_spoiled(&mut self, good: &Good, pointer: &str, why: [&'static str; 2]) {
        self.turned(good, &format!("{pointer}/0"), why);
        let name = pointer[1..].replace('/', ".");
        let list = |file: &mut Value, edit: fn(&mut Vec<Value>)| {
            edit(file.pointer_mut(pointer).unwrap().as_array_mut().unwrap());
        };
        self.spoiled(good, &format!("{name} shorter"), why, |file| {
            list(file, |path| drop(path.pop()));
        });
        self.spoiled(good, &format!("{name} longer"), why, |file| {
            list(file, |path| path.push(json!(Hash::ZERO)));
        });
        self.spoiled(good, &format!("{name} the other way round"), why, |file| {
            list(file, |path| path.reverse());
        });
    }

    /// Malformed signatures, and one by another key; signatures are not sent to the contract.
    pub(crate) fn signatures_spoiled(&mut self, good: &Good, pointer: &str, refused: &'static str) {
        let name = pointer[1..].replace('/', ".");
        let bytes = |file: &Value| {
            let text = file.pointer(pointer).unwrap().as_str().unwrap();
            kedge_protocol::hash::from_hex::<65>(text).unwrap()
        };
        let [why_form, why] = [["signature", ""], [refused, ""]];
        let written = |bytes: &[u8]| json!(kedge_protocol::hash::to_hex(bytes));
        self.spoiled(good, &format!("{name} with a high s"), why_form, |file| {
            let mut high = bytes(file);
            negate_s(&mut high);
            *file.pointer_mut(pointer).unwrap() = written(&high);
        });
        self.spoiled(good, &format!("{name} with another v"), why, |file| {
            let mut other = bytes(file);
            other[64] = 27 + 28 - other[64];
            *file.pointer_mut(pointer).unwrap() = written(&other);
        });
        self.spoiled(good, &format!("{name} with a v of 29"), why_form, |file| {
            let mut other = bytes(file);
            other[64] = 29;
            *file.pointer_mut(pointer).unwrap() = written(&other);
        });
        self.spoiled(good, &format!("{name} with no r"), why_form, |file| {
            let mut other = bytes(file);
            other[..32].fill(0);
            *file.pointer_mut(pointer).unwrap() = written(&other);
        });
        self.spoiled(
            good,
            &format!("{name} of 64 bytes"),
            ["signature", ""],
            |file| {
                let short = bytes(file);
                *file.pointer_mut(pointer).unwrap() = written(&short[..64]);
            },
        );
    }

    /// Adds a text: another spelling of a good file, or one that every reader must refuse.
    pub(crate) fn respelled(
        &mut self,
        good: &Good,
        what: &str,
        refused: Option<&'static str>,
        edit: impl FnOnce(String) -> String,
    ) {
        let before = good.file.to_string();
        let text = edit(before.clone());
        assert!(text != before, "{what}");
        let name = format!("{}: {what}", good.name);
        self.push(good, &name, refused, None);
        self.rows.last_mut().unwrap().text = Some(text);
    }

    /// Spellings on which JSON parsers differ; `member` is a numeric member of the file, `number` its value.
    pub(crate) fn spellings(&mut self, good: &Good, member: &str, number: u64) {
        let stands = format!("\"{member}\":{number}");
        let form = Some("form");
        for (what, other) in [
            ("a number with a zero in front", format!("0{number}")),
            ("a number with a fraction", format!("{number}.0")),
            ("a number with an exponent", format!("{number}e0")),
            ("a number with a sign", format!("-{number}")),
            ("a number as a text", format!("\"{number}\"")),
            ("a number twice", format!("{number},\"{member}\":{number}")),
            ("a number of 65 bits", "18446744073709551616".to_owned()),
        ] {
            self.respelled(good, what, form, |text| {
                text.replacen(&stands, &format!("\"{member}\":{other}"), 1)
            });
        }
        self.respelled(good, "something behind", form, |text| text + " {}");
        self.respelled(good, "cut off", form, |mut text| {
            text.pop();
            text
        });
        self.respelled(good, "in a list", form, |text| format!("[{text}]"));
        self.respelled(good, "white space and escapes", None, |text| {
            let version = "\"\\u0076ersion\" :\r\n\t 1";
            format!("\n{} ", text.replacen("\"version\":1", version, 1))
        });
    }

    /// Violations of the format, wherever they are in the file.
    pub(crate) fn shapes_spoiled(&mut self, good: &Good) {
        let form = ["form", ""];
        for place in ["", "/domain", "/batch", "/batch/header"] {
            let what = format!("a surplus member in {:?}", place.replace('/', " "));
            self.spoiled(good, &what, form, |file| {
                file.pointer_mut(place).unwrap()["surplus"] = json!(1);
            });
        }
        self.spoiled(good, "no domain", form, |file| {
            file.as_object_mut().unwrap().remove("domain");
        });
        self.spoiled(good, "a domain as a list", form, |file| {
            let domain = &file["domain"];
            file["domain"] = json!([domain["chain_id"], domain["verifying_contract"]]);
        });
        self.spoiled(good, "null for a header", form, |file| {
            file["batch"]["header"] = Value::Null;
        });
        self.spoiled(good, "a word of 31 bytes", form, |file| {
            file["batch"]["header"]["state"] = json!(format!("0x{}", "00".repeat(31)));
        });
        self.spoiled(good, "a word without 0x", form, |file| {
            file["batch"]["header"]["state"] = json!("0".repeat(64));
        });
        self.spoiled(good, "an address with a wrong checksum", form, |file| {
            let text = file["domain"]["verifying_contract"].as_str().unwrap();
            file["domain"]["verifying_contract"] = json!(text.replacen("Fb", "fB", 1));
        });
        self.turned(good, "/domain/chain_id", ["domain", ""]);
        self.spoiled(good, "another log's contract", ["domain", ""], |file| {
            file["domain"]["verifying_contract"] = json!(kedge_protocol::Address([1; 20]));
        });
        self.turned(good, "/version", ["version", ""]);
        self.varied(good, "addresses in one case", |file| {
            let contract = &mut file["domain"]["verifying_contract"];
            *contract = json!(contract.as_str().unwrap().to_lowercase());
        });
        self.varied(good, "words in capitals", |file| {
            let root = &mut file["batch"]["header"]["root"];
            *root = json!(
                root.as_str()
                    .unwrap()
                    .to_uppercase()
                    .replacen("0X", "0x", 1)
            );
        });
        self.varied(good, "a signature with v of 0 or 1", |file| {
            let signature = &mut file["batch"]["signature"];
            let text = signature.as_str().unwrap();
            let (start, v) = text.split_at(130);
            *signature = json!(format!("{start}{}", if v == "1b" { "00" } else { "01" }));
        });
    }
}

/// Negates s and adapts v: the other form of the same signature.
fn negate_s(signature: &mut [u8; 65]) {
    // The order of secp256k1.
    let order = kedge_protocol::hash::from_hex::<32>(
        "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
    )
    .unwrap();
    let mut borrow = 0;
    for place in (0..32).rev() {
        let difference = i16::from(order[place]) - i16::from(signature[32 + place]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + place] = difference.rem_euclid(256).to_le_bytes()[0];
    }
    signature[64] = 27 + 28 - signature[64];
}
