//! Proof files, good and spoiled: of anchored and other actions, in both forms.

use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain;
use kedge_protocol::hash::keccak;
use kedge_protocol::receipt::ReceiptLeaf;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use super::log::Log;
use super::table::{Good, Kind, Maker};

/// The third action of batch 4, which has five leaves; its request's third action failed.
const SPOILED: u64 = 10;

/// Characters of every width; some parsers read half a character as the last one.
const TARGET: &str = "größer 🦀\u{fffd}";

fn proof(file: Value, name: &str) -> Good {
    Good {
        name: name.to_owned(),
        kind: Kind::Proof,
        file,
        contents: Vec::new(),
        covered: None,
    }
}

pub(crate) fn add(maker: &mut Maker) {
    for (sequence, batches) in [
        (1, 1),
        (3, 2),
        (10, 5),
        (13, 8),
        (49, 11),
        (75, 8),
        (111, 11),
    ] {
        let file = maker.log.proof(sequence, Some(batches));
        let name = format!("the proof of action {sequence} in {batches} batches");
        maker.good(&proof(file, &name));
    }
    for sequence in [9, 111] {
        let file = maker.log.proof(sequence, None);
        let name = format!("the proof of action {sequence} without an anchor");
        maker.good(&proof(file, &name));
    }
    let file = maker.log.proof_of_author(58, None);
    maker.good(&proof(file, "who did action 58, without an anchor"));
    let file = maker.log.proof_of_author(SPOILED, Some(11));
    let good = proof(file, "who did action 10");
    maker.good(&good);

    words(maker, &good);
    place(maker, &good);
    anchor(maker, &good);
    authorship(maker, &good);
    own_log(maker);
    maker.shapes_spoiled(&good);
    maker.spellings(&good, "sequence", SPOILED);
}

fn words(maker: &mut Maker, good: &Good) {
    let why = ["content", "OtherContent"];
    for (member, other) in [
        ("kind", json!("burn")),
        ("target", json!("")),
        ("payload", json!("{ }")),
        ("signer", json!(Address([1; 20]))),
    ] {
        maker.spoiled(good, &format!("another {member}"), why, |file| {
            file["action"][member] = other;
        });
    }
    maker.turned(good, "/action/authority", why);
    maker.spoiled(good, "no text for a payload", ["form", ""], |file| {
        file["action"]["payload"] = json!({});
    });
    maker.spoiled(good, "a surplus word", ["form", ""], |file| {
        file["action"]["salt"] = json!(Hash::ZERO);
    });
    maker.spoiled(
        good,
        "a sequencer that is no address",
        ["form", ""],
        |file| {
            file["sequencer"] = json!("the sequencer");
        },
    );
    maker.varied(good, "whom the file names as the sequencer", |file| {
        file["sequencer"] = json!(Address([1; 20]));
    });
}

fn place(maker: &mut Maker, good: &Good) {
    maker.turned(good, "/leaf/sequence", ["place", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/content", ["content", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/previous_integrity", ["integrity", ""]);
    maker.turned(good, "/leaf/integrity", ["integrity", "ActionNotInBatch"]);
    maker.ways_spoiled(good);
}

fn anchor(maker: &mut Maker, good: &Good) {
    let checkpoint = "/anchor/checkpoint/checkpoint";
    let batches = format!("{checkpoint}/batches");
    maker.turned(good, &batches, ["anchor", "UnknownCheckpoint"]);
    for member in ["sequence", "head", "history", "state", "issued_at_ms"] {
        maker.turned(good, &format!("{checkpoint}/{member}"), ["anchor", ""]);
    }
    maker.signatures_spoiled(good, "/anchor/checkpoint/signature", "anchor");
    maker.paths_spoiled(good, "/anchor/path", ["anchor", "BatchNotInHistory"]);
    let log = Log::read();
    let what = "a checkpoint before its batch";
    maker.spoiled(good, what, ["anchor", "BatchNotInHistory"], |file| {
        file["anchor"]["checkpoint"] = log.proof(3, Some(2))["anchor"]["checkpoint"].clone();
    });
    let what = "the checkpoint of other batches";
    maker.spoiled(good, what, ["anchor", "BatchNotInHistory"], |file| {
        file["anchor"]["checkpoint"] = log.proof(3, Some(8))["anchor"]["checkpoint"].clone();
    });
    let what = "a checkpoint that ends inside its batch";
    maker.spoiled(good, what, ["anchor", ""], |file| {
        let mut inside = log.message(11);
        inside.sequence = SPOILED;
        file["anchor"]["checkpoint"] = log.signed_checkpoint(inside);
    });
    maker.varied(good, "what the file says of the transaction", |file| {
        file["anchor"]["contract"] = json!(Address([1; 20]));
        file["anchor"]["transaction_hash"] = json!(keccak(b"a transaction"));
        file["anchor"]["block_number"] = json!(u64::MAX);
    });
    let form = ["form", ""];
    maker.spoiled(good, "no member anchor", form, |file| {
        file.as_object_mut().unwrap().remove("anchor");
    });
    for member in ["path", "transaction_hash", "block_number"] {
        maker.spoiled(good, &format!("no {member} of the anchor"), form, |file| {
            file["anchor"].as_object_mut().unwrap().remove(member);
        });
    }
    maker.spoiled(good, "a contract that is no address", form, |file| {
        file["anchor"]["contract"] = json!("0x00");
    });
    maker.spoiled(good, "a transaction that is no word", form, |file| {
        file["anchor"]["transaction_hash"] = json!(1);
    });
    maker.spoiled(good, "a block as a text", form, |file| {
        file["anchor"]["block_number"] = json!("1");
    });
    maker.spoiled(good, "a surplus member of the checkpoint", form, |file| {
        file["anchor"]["checkpoint"]["id"] = json!("anc_0");
    });
}

fn authorship(maker: &mut Maker, good: &Good) {
    let why = ["authorship", ""];
    for member in [
        "deadline",
        "index",
        "salt",
        "action_hashes/0",
        "action_hashes/2",
    ] {
        maker.turned(good, &format!("/authorship/{member}"), why);
    }
    maker.signatures_spoiled(good, "/authorship/signature", "authorship");
    let other = |file: &mut Value, member: &str, value: Value| file["authorship"][member] = value;
    maker.spoiled(good, "another nonce", why, |file| {
        other(file, "nonce", json!("99"));
    });
    maker.spoiled(good, "all or none", why, |file| {
        other(file, "atomic", json!(true));
    });
    maker.spoiled(good, "an action hash more", why, |file| {
        let hashes = file["authorship"]["action_hashes"].as_array_mut().unwrap();
        hashes.push(json!(Hash::ZERO));
    });
    maker.spoiled(good, "an index past all actions", why, |file| {
        other(file, "index", json!(4));
    });
    maker.spoiled(good, "501 action hashes", why, |file| {
        let own = file["authorship"]["action_hashes"][3].clone();
        other(file, "action_hashes", json!(vec![own; 501]));
    });
    let form = ["form", ""];
    let nonce = good.file["authorship"]["nonce"].as_str().unwrap();
    for (what, value) in [
        ("a nonce with a sign", json!(format!("+{nonce}"))),
        ("a nonce with a zero in front", json!(format!("0{nonce}"))),
        ("a nonce in hex", json!("0x7")),
        ("a nonce of nothing", json!("")),
        ("a nonce as a number", json!(7)),
        ("a nonce of 65 bits", json!("18446744073709551616")),
    ] {
        maker.spoiled(good, what, form, |file| other(file, "nonce", value));
    }
    maker.spoiled(good, "a number for a flag", form, |file| {
        other(file, "atomic", json!(0));
    });
    maker.spoiled(good, "null for the authorship", form, |file| {
        file["authorship"] = Value::Null;
    });
    maker.spoiled(good, "no salt", form, |file| {
        file["authorship"].as_object_mut().unwrap().remove("salt");
    });
}

/// An action of a log that only the sequencer signed, with content that no rule of the service allows.
fn own_log(maker: &mut Maker) {
    let log = Log::read();
    let signed = |kind: &str, deadline_s: u64, bend: fn(&mut BatchHeader)| {
        let key = log.key("alice");
        let salt = keccak(b"a salt");
        let words = ActionWords {
            kind: keccak(kind.as_bytes()),
            target: keccak(TARGET.as_bytes()),
            payload: keccak(b"{\"a\": \"\\u0000\"}"),
        };
        let head = RequestHead {
            signer: key.address(),
            nonce: u64::MAX,
            deadline_s,
            atomic: true,
        };
        let hashes = [words.action_hash(&salt)];
        let separator = log.domain().separator();
        let signature = key.sign(&head.digest(&separator, &hashes));
        let authority = chain::authority(&signature, &salt);
        let content = chain::content(&words, &head.signer, &authority);
        let leaf = ReceiptLeaf {
            sequence: 112,
            timestamp_ms: 1_790_000_002_000,
            content,
            previous_integrity: Hash::ZERO,
            integrity: chain::next_integrity(&Hash::ZERO, &content),
        };
        let mut header = Log::header_over(&leaf);
        bend(&mut header);
        json!({"version": 1, "domain": log.domain(), "sequencer": log.sequencer(),
            "action": {"kind": kind, "target": TARGET, "payload": "{\"a\": \"\\u0000\"}",
                       "signer": head.signer, "authority": authority},
            "leaf": leaf, "inclusion": {"leaf_index": 0, "path": []},
            "batch": log.signed(header), "anchor": null,
            "authorship": {"signature": signature, "nonce": head.nonce.to_string(),
                "deadline": deadline_s, "atomic": true, "index": 0, "salt": salt,
                "action_hashes": hashes}})
    };
    let good = proof(
        signed("emit", 1_790_000_002, |_| {}),
        "a request that came at its deadline",
    );
    maker.good(&good);
    maker.respelled(&good, "half a character", Some("form"), |text| {
        text.replace('\u{fffd}', "\\ud800")
    });
    let far = signed("emit", u64::MAX, |_| {});
    maker.good(&proof(far, "a request with the last deadline"));
    let other = signed("a kind of later days", 1_790_000_002, |_| {});
    maker.good(&proof(other, "an action of a kind that is not known yet"));
    let late = signed("emit", 1_790_000_001, |_| {});
    let what = "placed after its deadline";
    maker.spoiled(&good, what, ["authorship", ""], |file| *file = late);
    let none = signed("emit", 1_790_000_002, |header| header.count = 0);
    maker.spoiled(&good, "a count of 0", ["count", ""], |file| *file = none);
}
