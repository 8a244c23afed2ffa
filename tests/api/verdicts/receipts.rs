//! Receipts, good and spoiled: of one action and of many.

use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::hash::keccak;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::receipt::ReceiptLeaf;
use serde_json::{Value, json};

use super::log::Log;
use super::table::{Good, Kind, Maker, turned};

/// The checkpoint that covers every receipt of the table.
const BATCHES: u64 = 11;
/// The second action of batch 4, which has five leaves.
const SPOILED: u64 = 9;
/// Four actions in batch 4, the third of which failed.
const SPOILED_REQUEST: u64 = 7;

fn receipt(log: &Log, sequence: u64) -> Good {
    let file = log.receipt(sequence);
    let batch = log.batch_of(sequence);
    Good {
        name: format!("the receipt of action {sequence}"),
        kind: Kind::Receipt,
        contents: vec![serde_json::from_value(file["leaf"]["content"].clone()).unwrap()],
        file,
        covered: Some((BATCHES, log.batch_path(batch, BATCHES))),
    }
}

fn receipts(log: &Log, request: u64) -> Good {
    let (file, contents) = log.receipts(request);
    let batch = file["batch"]["header"]["number"].as_u64().unwrap();
    Good {
        name: format!("the receipt of request {request}"),
        kind: Kind::Receipts,
        file,
        contents,
        covered: Some((BATCHES, log.batch_path(batch, BATCHES))),
    }
}

pub(crate) fn add(maker: &mut Maker) {
    for sequence in [1, 7, 10, 33, 60, 111] {
        let good = receipt(&maker.log, sequence);
        maker.good(&good);
    }
    let good = receipt(&maker.log, SPOILED);
    maker.good(&good);
    single(maker, &good);
    maker.shapes_spoiled(&good);
    maker.spellings(&good, "sequence", SPOILED);
    signed_by_the_sequencer(maker, &good);

    for request in [8, 10, 11, 12, 13] {
        let good = receipts(&maker.log, request);
        maker.good(&good);
    }
    let good = receipts(&maker.log, SPOILED_REQUEST);
    maker.good(&good);
    many(maker, &good);
    one_content_twice(maker);
}

fn single(maker: &mut Maker, good: &Good) {
    maker.turned(good, "/leaf/sequence", ["place", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/timestamp_ms", ["path", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/content", ["integrity", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/previous_integrity", ["integrity", ""]);
    maker.turned(good, "/leaf/integrity", ["integrity", "ActionNotInBatch"]);
    let what = "another content and its integrity";
    maker.spoiled(good, what, ["path", "ActionNotInBatch"], |file| {
        let leaf = &mut file["leaf"];
        leaf["content"] = turned(&leaf["content"]);
        let word = |name: &str| serde_json::from_value::<Hash>(leaf[name].clone()).unwrap();
        let integrity = chain::next_integrity(&word("previous_integrity"), &word("content"));
        leaf["integrity"] = json!(integrity);
    });
    maker.spoiled(
        good,
        "later than its batch",
        ["time", "ActionNotInBatch"],
        |file| {
            let sealed_at_ms = file["batch"]["header"]["sealed_at_ms"].clone();
            file["leaf"]["timestamp_ms"] = turned(&sealed_at_ms);
        },
    );
    maker.turned(good, "/leaf_index", ["place", ""]);
    maker.spoiled(good, "a leaf index of 2^32", ["form", ""], |file| {
        file["leaf_index"] = json!(1_u64 << 32);
    });
    maker.paths_spoiled(good, "/path", ["path", "ActionNotInBatch"]);
    maker.headers_turned(good, "BatchNotInHistory");
    maker.signatures_spoiled(good, "/batch/signature", "signature");
    maker.spoiled(good, "signed by somebody else", ["signature", ""], |file| {
        let header: BatchHeader = serde_json::from_value(file["batch"]["header"].clone()).unwrap();
        let log = Log::read();
        file["batch"] = json!(header.sign(&log.domain().separator(), &log.key("alice")));
    });
    let other = Good {
        name: "another action's receipt".to_owned(),
        contents: vec![keccak(b"another content")],
        ..good.clone()
    };
    maker.spoiled(&other, "held against this one", ["content", ""], |file| {
        // Spelled differently with the same meaning, so that the file differs.
        let contract = &mut file["domain"]["verifying_contract"];
        *contract = json!(contract.as_str().unwrap().to_lowercase());
    });
}

type Bend = fn(&mut BatchHeader);

/// Headers that the sequencer might sign over one correct leaf.
fn signed_by_the_sequencer(maker: &mut Maker, good: &Good) {
    let seal = |log: &Log, leaf: &ReceiptLeaf, bend: fn(&mut BatchHeader)| {
        let mut header = Log::header_over(leaf);
        bend(&mut header);
        json!({"version": 1, "domain": log.domain(), "leaf": leaf, "leaf_index": 0, "path": [],
               "batch": log.signed(header)})
    };
    let content = good.contents[0];
    let leaf = ReceiptLeaf {
        sequence: 112,
        timestamp_ms: 1_790_000_002_000,
        content,
        previous_integrity: Hash::ZERO,
        integrity: chain::next_integrity(&Hash::ZERO, &content),
    };
    let last = ReceiptLeaf {
        sequence: u64::MAX,
        timestamp_ms: u64::MAX,
        ..leaf
    };
    let above_2_53 = ReceiptLeaf {
        sequence: (1 << 53) + 1,
        timestamp_ms: (1 << 53) + 3,
        ..leaf
    };
    let sealed = |name: &str, file: Value| Good {
        name: format!("a batch of one action: {name}"),
        file,
        covered: None,
        ..good.clone()
    };
    for (name, leaf) in [
        ("as it should be", &leaf),
        ("the last numbers", &last),
        ("numbers above 2^53", &above_2_53),
    ] {
        let file = seal(&maker.log, leaf, |_| {});
        maker.good(&sealed(name, file));
    }
    // Below, another signed header spoils the good one.
    let base = sealed("signed", seal(&maker.log, &leaf, |_| {}));
    let bends: [(&str, &'static str, Bend); 5] = [
        ("a count of 0", "count", |header| header.count = 0),
        ("a count of 501", "count", |header| header.count = 501),
        ("sealed before its action", "time", |header| {
            header.sealed_at_ms -= 1;
        }),
        ("a later first sequence", "place", |header| {
            header.first_sequence += 1;
        }),
        ("another root", "path", |header| header.root.0[31] ^= 1),
    ];
    for (what, refused, bend) in bends {
        let file = seal(&maker.log, &leaf, bend);
        maker.spoiled(&base, what, [refused, ""], |spoiled| *spoiled = file);
    }
    // Except for its size, a batch of 501 would hold the action correctly.
    let mut leaves = vec![keccak(b"another leaf"); 501];
    leaves[0] = leaf.hash().unwrap();
    let tree = BatchTree::new(&leaves);
    let mut header = Log::header_over(&leaf);
    (header.count, header.root) = (501, tree.root());
    let full = maker.log.signed(header);
    maker.spoiled(&base, "the first of 501", ["count", ""], |file| {
        file["batch"] = full;
        file["path"] = json!(tree.proof(&[0]));
    });
    let past_the_end = seal(&maker.log, &last, |header| header.count = 2);
    let what = "a place past the last sequence";
    maker.spoiled(&base, what, ["place", ""], |spoiled| {
        *spoiled = past_the_end;
        spoiled["leaf_index"] = json!(1);
    });
}

fn many(maker: &mut Maker, good: &Good) {
    let one = "/actions/1";
    maker.turned(good, &format!("{one}/index"), ["path", ""]);
    maker.turned(good, &format!("{one}/sequence"), ["place", ""]);
    maker.turned(good, &format!("{one}/timestamp_ms"), ["path", ""]);
    maker.turned(good, &format!("{one}/leaf_index"), ["place", ""]);
    maker.turned(good, &format!("{one}/previous_integrity"), ["path", ""]);
    maker.paths_spoiled(good, "/proof", ["path", ""]);
    maker.headers_turned(good, "BatchNotInHistory");
    maker.signatures_spoiled(good, "/batch/signature", "signature");
    let actions = |file: &mut Value, edit: fn(&mut Vec<Value>)| {
        edit(file["actions"].as_array_mut().unwrap());
    };
    maker.spoiled(good, "one action less", ["path", ""], |file| {
        actions(file, |actions| drop(actions.pop()));
    });
    maker.spoiled(good, "no action at all", ["path", ""], |file| {
        actions(file, Vec::clear);
    });
    maker.spoiled(good, "an action twice", ["order", ""], |file| {
        actions(file, |actions| actions.push(actions[2].clone()));
    });
    maker.spoiled(good, "actions exchanged", ["order", ""], |file| {
        actions(file, |actions| actions.swap(0, 1));
    });
    maker.spoiled(
        good,
        "an action that was not sent",
        ["actions", ""],
        |file| {
            file["actions"][2]["index"] = json!(4);
        },
    );
    maker.spoiled(good, "later than its batch", ["time", ""], |file| {
        let sealed_at_ms = file["batch"]["header"]["sealed_at_ms"].clone();
        file["actions"][0]["timestamp_ms"] = turned(&sealed_at_ms);
    });
    maker.spoiled(
        good,
        "a surplus member of an action",
        ["form", ""],
        |file| {
            file["actions"][0]["content"] = json!(Hash::ZERO);
        },
    );
    maker.spoiled(good, "an action as a list", ["form", ""], |file| {
        file["actions"][0] = json!([0, 8, 1, 0, Hash::ZERO]);
    });
    maker.turned(good, "/domain/chain_id", ["domain", ""]);
    maker.turned(good, "/version", ["version", ""]);
    maker.respelled(good, "a member twice", Some("form"), |text| {
        text.replacen("\"version\":1", "\"version\":1,\"version\":1", 1)
    });
    let mut other = Good {
        name: "the receipt of another request".to_owned(),
        ..good.clone()
    };
    other.contents[1] = keccak(b"another content");
    maker.spoiled(&other, "held against this one", ["path", ""], |file| {
        let contract = &mut file["domain"]["verifying_contract"];
        *contract = json!(contract.as_str().unwrap().to_lowercase());
    });
}

/// A sequencer that places one action twice may sign that, but cannot make a receipt for it.
fn one_content_twice(maker: &mut Maker) {
    let content = keccak(b"placed twice");
    let first = chain::next_integrity(&Hash::ZERO, &content);
    let leaf = |sequence, integrity| LogLeaf {
        sequence,
        timestamp_ms: 1_790_000_002_000,
        content,
        integrity,
    };
    let leaves = [
        leaf(112, first),
        leaf(113, chain::next_integrity(&first, &content)),
    ];
    let tree = BatchTree::new(&LogLeaf::hash_each(&leaves));
    let header = BatchHeader {
        count: 2,
        root: tree.root(),
        first_sequence: 112,
        sealed_at_ms: 1_790_000_002_000,
        ..Log::header_over(&ReceiptLeaf {
            sequence: 112,
            timestamp_ms: 1_790_000_002_000,
            content,
            previous_integrity: Hash::ZERO,
            integrity: first,
        })
    };
    let action = |leaf_index: u64, previous: Hash| {
        json!({"index": 0, "sequence": 112 + leaf_index, "timestamp_ms": 1_790_000_002_000_u64,
               "leaf_index": leaf_index, "previous_integrity": previous})
    };
    let good = Good {
        name: "one action at two places".to_owned(),
        kind: Kind::Receipts,
        file: json!({"version": 1, "domain": maker.log.domain(), "batch": maker.log.signed(header),
            "actions": [action(0, Hash::ZERO)], "proof": tree.proof(&[0])}),
        contents: vec![content],
        covered: None,
    };
    maker.good(&good);
    maker.spoiled(&good, "both of them", ["order", ""], |file| {
        file["actions"] = json!([action(0, Hash::ZERO), action(1, first)]);
        file["proof"] = json!([]);
    });
}
