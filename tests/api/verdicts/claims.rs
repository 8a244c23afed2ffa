//! Claims, good and spoiled. Each proof of a claim is different, so the table's proofs are kept as long as they hold.

use std::collections::HashMap;
use std::sync::LazyLock;

use kedge_protocol::hash::keccak;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{
    self, CLAIM_FORMAT, CLAIM_VERSION, ClaimBinding, ClaimDisclosure, ClaimFile, ClaimLeaf,
    DisclosedText, DisclosedWords, DisclosureMask,
};
use kedge_prover::groth16::{ProofParts, ProvingKey};
use kedge_prover::keys;
use serde_json::{Value, json};

use super::table::{Good, Kind, Maker};

/// The first contract deployed by an account in the contracts' tests.
pub(crate) const RESOLVER: &str = "0x8464135c8F25Da09e49BC8782676a84730C318bC";
const CLAIMANT: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
/// The order of the field of the points' coordinates.
const BASE_FIELD: &str = "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47";
/// 2^256 in that field.
const TWO_256_REDUCED: &str = "0x0e0a77c19a07df2f666ea36f7879462c0a78eb28f5c70b3dd35d438dc58f0d9d";
/// A point of the twist outside of the group: x = 1.
const OTHER_GROUP: [&str; 4] = [
    "0x0000000000000000000000000000000000000000000000000000000000000000",
    "0x0000000000000000000000000000000000000000000000000000000000000001",
    "0x0d1271953ed9ea0836846e70a1934187998c7f790cb4d7511b7f8da82de048a4",
    "0x2869111d5381f072f8e2728fdb825a51aadd70e52c9830e9ab4b871c0531f1bb",
];

static PROVING_KEY: LazyLock<ProvingKey> = LazyLock::new(|| keys::dev_insecure_proving().unwrap());

/// The table's stored proofs, by the names of their cases.
pub(crate) struct Kept {
    pub(crate) proofs: HashMap<String, ProofParts>,
    /// Whether invalid stored proofs may be replaced by new ones.
    pub(crate) may_prove: bool,
}

impl Kept {
    /// A claim with its stored proof.
    fn claim(&self, name: &str, file: &ProofFile, choice: ClaimDisclosure) -> ClaimFile {
        let key = keys::dev_insecure();
        let mut claim = unproved(name, file, choice);
        if let Some(proof) = self.proofs.get(name) {
            claim.proof = *proof;
            if claim::verify(&claim, &file.domain, &file.sequencer, key).is_ok() {
                return claim;
            }
        }
        assert!(
            self.may_prove,
            "{name}: the proof that is kept does not hold"
        );
        let proved = claim::prove(&PROVING_KEY, file, choice, claim.binding).unwrap();
        claim.proof = proved.proof;
        assert_eq!(claim, proved);
        claim
    }
}

fn unproved(name: &str, file: &ProofFile, choice: ClaimDisclosure) -> ClaimFile {
    let text = |place, text: &str| {
        choice.mask.discloses(place).then(|| DisclosedText {
            hash: keccak(text.as_bytes()),
            text: (!choice.hashes_only).then(|| text.to_owned()),
        })
    };
    let mut claim = ClaimFile {
        format: CLAIM_FORMAT.to_owned(),
        version: CLAIM_VERSION,
        domain: file.domain,
        sequencer: file.sequencer,
        leaf: ClaimLeaf {
            sequence: file.leaf.sequence,
            timestamp_ms: file.leaf.timestamp_ms,
            content: file.leaf.content,
            integrity: file.leaf.integrity,
        },
        inclusion: file.inclusion.clone(),
        batch: file.batch,
        anchor: file.anchor.clone(),
        binding: ClaimBinding {
            resolver: RESOLVER.parse().unwrap(),
            claimant: CLAIMANT.parse().unwrap(),
            purpose: keccak(name.as_bytes()),
        },
        disclosed: DisclosedWords {
            kind: text(0, &file.action.kind),
            target: text(1, &file.action.target),
            payload: text(2, &file.action.payload),
            signer: choice.mask.discloses(3).then_some(file.action.signer),
        },
        key_hash: keys::dev_insecure().hash(),
        public_inputs: [Hash::ZERO; 13],
        proof: ProofParts {
            a: [Hash::ZERO; 2],
            b: [Hash::ZERO; 4],
            c: [Hash::ZERO; 2],
        },
    };
    claim.public_inputs = claim.statement().inputs();
    claim
}

/// The disclosed action: its sequence, the batches of its anchor, the mask, whether only hashes.
const CLAIMS: [(u64, Option<u64>, u8, bool); 12] = [
    (10, Some(11), 15, false),
    (10, Some(11), 8, false),
    (1, Some(1), 0, false),
    (3, Some(2), 1, false),
    (9, Some(5), 2, false),
    (11, Some(8), 4, false),
    (13, Some(8), 9, false),
    (49, Some(11), 6, false),
    (75, Some(8), 7, true),
    (111, Some(11), 15, true),
    (111, None, 3, false),
    (60, None, 14, false),
];

pub(crate) fn add(maker: &mut Maker, kept: &Kept) {
    let mut goods = Vec::new();
    for (sequence, batches, mask, hashes_only) in CLAIMS {
        let file: ProofFile = serde_json::from_value(maker.log.proof(sequence, batches)).unwrap();
        let choice = ClaimDisclosure {
            mask: DisclosureMask::new(mask).unwrap(),
            hashes_only,
        };
        let what = if hashes_only { "hashes" } else { "mask" };
        let anchor = if batches.is_none() {
            ", not anchored"
        } else {
            ""
        };
        let name = format!("a claim of action {sequence}, {what} {mask}{anchor}");
        let claim = kept.claim(&name, &file, choice);
        let good = Good {
            name,
            kind: Kind::Claim,
            file: json!(claim),
            contents: Vec::new(),
            covered: None,
        };
        maker.good(&good);
        goods.push(good);
    }
    let [all, signer, ..] = &goods[..] else {
        panic!("two claims");
    };
    log_says(maker, all);
    words(maker, all);
    more_words(maker, signer);
    inputs(maker, all);
    points(maker, all, signer);
    form(maker, all);
}

fn log_says(maker: &mut Maker, good: &Good) {
    maker.turned(good, "/leaf/sequence", ["place", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/content", ["inputs", "ActionNotInBatch"]);
    maker.turned(good, "/leaf/integrity", ["path", "ActionNotInBatch"]);
    maker.ways_spoiled(good);
    let checkpoint = "/anchor/checkpoint/checkpoint";
    let batches = format!("{checkpoint}/batches");
    maker.turned(good, &batches, ["anchor", "UnknownCheckpoint"]);
    maker.turned(good, &format!("{checkpoint}/history"), ["anchor", ""]);
    maker.turned(good, &format!("{checkpoint}/state"), ["anchor", ""]);
    maker.paths_spoiled(good, "/anchor/path", ["anchor", "BatchNotInHistory"]);
    let sequence = good.file["leaf"]["sequence"].clone();
    let mut inside = maker.log.message(11);
    inside.sequence = sequence.as_u64().unwrap();
    let signed = maker.log.signed_checkpoint(inside);
    let what = "a checkpoint that ends inside its batch";
    maker.spoiled(good, what, ["anchor", ""], |file| {
        file["anchor"]["checkpoint"] = signed;
    });
}

fn text(text: &str) -> Value {
    json!({"hash": keccak(text.as_bytes()), "text": text})
}

fn words(maker: &mut Maker, good: &Good) {
    for member in ["kind", "target", "payload"] {
        maker.spoiled(
            good,
            &format!("another text of the {member}"),
            ["text", ""],
            |file| {
                file["disclosed"][member]["text"] = json!("burn");
            },
        );
        let pointer = format!("/disclosed/{member}/hash");
        maker.turned(good, &pointer, ["text", "ProofRefused"]);
        let why = ["inputs", "ProofRefused"];
        maker.spoiled(good, &format!("another {member}"), why, |file| {
            file["disclosed"][member] = text("burn");
        });
        maker.spoiled(good, &format!("the {member} hidden"), why, |file| {
            file["disclosed"].as_object_mut().unwrap().remove(member);
        });
        maker.varied(good, &format!("the {member} by its hash alone"), |file| {
            let shown = file["disclosed"][member].as_object_mut().unwrap();
            shown.remove("text");
        });
    }
    let why = ["inputs", "ProofRefused"];
    maker.spoiled(good, "another signer", why, |file| {
        file["disclosed"]["signer"] = json!(Address([1; 20]));
    });
    maker.spoiled(good, "the signer hidden", why, |file| {
        file["disclosed"].as_object_mut().unwrap().remove("signer");
    });
    maker.spoiled(good, "another claimant", why, |file| {
        file["binding"]["claimant"] = json!(Address([1; 20]));
    });
    maker.turned(good, "/binding/purpose", why);
    maker.spoiled(good, "another resolver", ["inputs", ""], |file| {
        file["binding"]["resolver"] = json!(Address([1; 20]));
    });
    maker.turned(good, "/key_hash", ["key", ""]);
}

/// Hidden words that the file states nevertheless.
fn more_words(maker: &mut Maker, good: &Good) {
    let why = ["inputs", "ProofRefused"];
    maker.spoiled(good, "a kind that is hidden", why, |file| {
        file["disclosed"]["kind"] = text("update");
    });
    maker.spoiled(good, "a target of hash zero", why, |file| {
        file["disclosed"]["target"] = json!({"hash": Hash::ZERO});
    });
}

fn inputs(maker: &mut Maker, good: &Good) {
    for input in 0..13 {
        maker.turned(good, &format!("/public_inputs/{input}"), ["inputs", ""]);
    }
    // The file's words and numbers are consistent; only the proof shows the change.
    let agreed = |maker: &mut Maker, what: &str, edit: fn(&mut ClaimFile)| {
        let why = ["proof", "ProofRefused"];
        maker.spoiled(good, &format!("{what}, in its inputs too"), why, |file| {
            let mut claim: ClaimFile = serde_json::from_value(file.clone()).unwrap();
            edit(&mut claim);
            claim.public_inputs = claim.statement().inputs();
            *file = json!(claim);
        });
    };
    agreed(maker, "another kind", |claim| {
        claim.disclosed.kind = serde_json::from_value(text("burn")).unwrap();
    });
    agreed(maker, "a hidden target", |claim| {
        claim.disclosed.target = None;
    });
    agreed(maker, "another signer", |claim| {
        claim.disclosed.signer = Some(Address([1; 20]));
    });
    agreed(maker, "another claimant", |claim| {
        claim.binding.claimant = Address([1; 20]);
    });
    agreed(maker, "another purpose", |claim| {
        claim.binding.purpose = Hash::ZERO;
    });
}

/// The sum or difference of two words, if it fits a word.
fn sum(left: &Hash, right: &Hash, sign: i16) -> Hash {
    let mut carry = 0;
    let mut out = Hash::ZERO;
    for place in (0..32).rev() {
        let sum = i16::from(left.0[place]) + sign * i16::from(right.0[place]) + carry;
        carry = sum.div_euclid(256);
        out.0[place] = sum.rem_euclid(256).to_le_bytes()[0];
    }
    assert_eq!(carry, 0);
    out
}

/// A field element, subtracted from the field's order or increased by it.
fn with_order(value: &Value, negated: bool) -> Value {
    let word: Hash = serde_json::from_value(value.clone()).unwrap();
    let order: Hash = BASE_FIELD.parse().unwrap();
    json!(sum(&order, &word, if negated { -1 } else { 1 }))
}

/// A word that, subtracted from the order as words are, yields the same number as this one.
fn wrapped(value: &Value) -> Value {
    let word: Hash = serde_json::from_value(value.clone()).unwrap();
    let order: Hash = BASE_FIELD.parse().unwrap();
    let more = sum(&word, &TWO_256_REDUCED.parse().unwrap(), 1);
    json!(if more < order {
        sum(&more, &order, 1)
    } else {
        more
    })
}

fn points(maker: &mut Maker, good: &Good, other: &Good) {
    let why = ["proof", "ProofRefused"];
    for (point, numbers) in [("a", 2), ("b", 4), ("c", 2)] {
        for number in 0..numbers {
            let pointer = format!("/proof/{point}/{number}");
            maker.turned(good, &pointer, why);
            let what = format!("proof.{point}.{number} and the field's order");
            maker.spoiled(good, &what, why, |file| {
                let value = file.pointer_mut(&pointer).unwrap();
                *value = with_order(value, false);
            });
        }
    }
    maker.spoiled(good, "a second text of a's negative", why, |file| {
        let y = &mut file["proof"]["a"][1];
        *y = wrapped(y);
    });
    let negate = |file: &mut Value, places: &[&str]| {
        for pointer in places {
            let value = file.pointer_mut(pointer).unwrap();
            *value = with_order(value, true);
        }
    };
    maker.spoiled(good, "a negated", why, |file| negate(file, &["/proof/a/1"]));
    maker.spoiled(good, "c negated", why, |file| negate(file, &["/proof/c/1"]));
    maker.spoiled(good, "b negated", why, |file| {
        negate(file, &["/proof/b/2", "/proof/b/3"]);
    });
    // Anyone who has a proof can write it in another form with the same meaning.
    maker.varied(good, "a and b negated", |file| {
        negate(file, &["/proof/a/1", "/proof/b/2", "/proof/b/3"]);
    });
    maker.spoiled(good, "a and c exchanged", why, |file| {
        let a = file["proof"]["a"].take();
        file["proof"]["a"] = file["proof"]["c"].take();
        file["proof"]["c"] = a;
    });
    maker.spoiled(good, "the other order of b", why, |file| {
        let b = file["proof"]["b"].as_array_mut().unwrap();
        b.swap(0, 1);
        b.swap(2, 3);
    });
    maker.spoiled(good, "a point of another group", why, |file| {
        file["proof"]["b"] = json!(OTHER_GROUP);
    });
    for point in ["a", "b", "c"] {
        maker.spoiled(good, &format!("{point} at infinity"), why, |file| {
            for number in file["proof"][point].as_array_mut().unwrap() {
                *number = json!(Hash::ZERO);
            }
        });
    }
    maker.spoiled(good, "another claim's proof", why, |file| {
        file["proof"] = other.file["proof"].clone();
    });
}

fn form(maker: &mut Maker, good: &Good) {
    maker.shapes_spoiled(good);
    maker.spellings(good, "sequence", 10);
    maker.spoiled(good, "another format", ["format", ""], |file| {
        file["format"] = json!("kedge.proof");
    });
    let form = ["form", ""];
    maker.spoiled(good, "twelve inputs", form, |file| {
        file["public_inputs"].as_array_mut().unwrap().pop();
    });
    maker.spoiled(good, "fourteen inputs", form, |file| {
        file["public_inputs"]
            .as_array_mut()
            .unwrap()
            .push(json!(Hash::ZERO));
    });
    maker.spoiled(good, "a number of the proof in decimals", form, |file| {
        file["proof"]["a"][0] = json!("1");
    });
    maker.spoiled(good, "a proof without c", form, |file| {
        file["proof"].as_object_mut().unwrap().remove("c");
    });
    maker.spoiled(good, "null for a hidden word", form, |file| {
        file["disclosed"]["kind"] = Value::Null;
    });
    maker.spoiled(good, "null for a text", form, |file| {
        file["disclosed"]["kind"]["text"] = Value::Null;
    });
    maker.spoiled(good, "a text without its hash", form, |file| {
        file["disclosed"]["kind"]
            .as_object_mut()
            .unwrap()
            .remove("hash");
    });
    maker.spoiled(good, "a word of another name", form, |file| {
        file["disclosed"]["authority"] = json!(Hash::ZERO);
    });
    maker.spoiled(good, "the integrity before", form, |file| {
        file["leaf"]["previous_integrity"] = json!(Hash::ZERO);
    });
    maker.spoiled(good, "no member anchor", form, |file| {
        file.as_object_mut().unwrap().remove("anchor");
    });
    maker.spoiled(good, "a claimant of 19 bytes", form, |file| {
        file["binding"]["claimant"] = json!(format!("0x{}", "11".repeat(19)));
    });
}
