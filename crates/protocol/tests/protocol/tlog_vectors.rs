//! The tree that witnesses cosign, against its vectors: `vectors/tlog.json`, made by another implementation and held by
//! C2SP's own programs. Every member is named and counted, so none can be skipped unnoticed; `tlog_faults` holds the
//! evidence.

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::batch::{BATCH_TYPE, BatchHeader};
use kedge_protocol::hash::{keccak, sha256, to_hex};
use kedge_protocol::log_tree::{consistency_path, inclusion_path};
use kedge_protocol::merkle::TreeHash;
use kedge_protocol::signature::{SignatureError, SigningKey};
use kedge_protocol::tlog::checkpoint::TLOG_CHECKPOINT_TYPE;
use kedge_protocol::tlog::tile::{entry_bundle, leaf, tile_bytes};
use kedge_protocol::tlog::{
    CheckpointSubmission, LogSigner, NoteAlgorithm, NoteError, NoteRefusal, NoteSigner,
    NoteVerifier, SequencerVerifier, SignedNote, TileReader, TlogCheckpoint, TlogOrigin,
    TlogPolicy, TlogProof,
};
use kedge_protocol::tlog::{TilePath, TileRow};
use kedge_protocol::{Address, BatchKeys, Hash};
use serde_json::Value;

use crate::tlog_scene::{
    SCENE, VECTORS, bytes, domain, hash, hashes, header, list, number, origin, sequencer,
    sequencer_keys, text, trust, verifiers, word,
};

fn names(value: &Value) -> BTreeSet<&str> {
    let members = value.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}

#[test]
fn no_member_is_new() {
    let held = [
        // Words.
        "about",
        "checked_by",
        "chosen",
        "c2sp",
        "headers_about",
        "keys_about",
        "roots_about",
        // Here.
        "add_checkpoint",
        "consistency",
        "cosignatures",
        "delegate",
        "domain",
        "domain_separator",
        "headers",
        "histories",
        "inclusion",
        "last_of_300",
        "must_refuse_notes",
        "notes",
        "origin",
        "origins",
        "policy",
        "roots",
        "sequencer_keys",
        "tiles",
        "tlog_keys",
        "tlog_proof",
        "type",
        "witness_keys",
        // In `tlog_faults`.
        "faults",
    ];
    assert_eq!(names(&VECTORS), BTreeSet::from(held));
    assert_eq!(VECTORS["c2sp"], "5ba5ee8");
}

#[test]
fn types_and_domain_are_those_of_the_vectors() {
    let types = &VECTORS["type"];
    assert_eq!(types.as_object().unwrap().len(), 4);
    assert_eq!(types["TlogCheckpoint"], TLOG_CHECKPOINT_TYPE);
    assert_eq!(
        hash(&types["typehash"]),
        keccak(TLOG_CHECKPOINT_TYPE.as_bytes())
    );
    assert_eq!(types["Batch"], BATCH_TYPE);
    assert_eq!(
        hash(&types["batch_typehash"]),
        keccak(BATCH_TYPE.as_bytes())
    );
    assert_eq!(domain().separator(), hash(&VECTORS["domain_separator"]));
}

#[test]
fn origins_follow_from_urls() {
    let origins = &VECTORS["origins"];
    let suffix = text(&origins["suffix"]);
    let (mut made, mut refused) = (0, 0);
    for case in list(origins, "cases") {
        let url = text(&case["public_url"]);
        let origin = TlogOrigin::of_url(url, &domain());
        if case["origin"].is_null() {
            assert!(origin.is_err(), "{url}: {}", case["why"]);
            refused += 1;
            continue;
        }
        let origin = origin.unwrap();
        assert_eq!(origin.as_str(), text(&case["origin"]), "{url}");
        assert_eq!(
            origin.to_string(),
            format!("{}{suffix}", text(&case["host"]))
        );
        assert_eq!(TlogOrigin::parse(origin.as_str(), &domain()), Ok(origin));
        made += 1;
    }
    assert_eq!((made, refused), (24, 17));
}

#[test]
fn entries_are_the_encodings_of_headers() {
    let mut read = 0;
    for (case, of_scene) in list(&VECTORS, "headers").iter().zip(&SCENE.headers) {
        let header = header(&case["message"]);
        assert_eq!(header, *of_scene);
        let encoding = header.encoding();
        assert_eq!(encoding.to_vec(), bytes(&case["entry"]));
        assert_eq!(header.hash(), hash(&case["batch_hash"]));
        assert_eq!(leaf(&header), hash(&case["leaf"]));
        assert_eq!(BatchHeader::of_encoding(&encoding), Some(header));
        read += 1;
    }
    assert_eq!(read, 10);
    let last = &VECTORS["last_of_300"];
    let header = header(&last["message"]);
    assert_eq!(header, SCENE.headers[299]);
    assert_eq!(header.hash(), hash(&last["batch_hash"]));
    assert_eq!(leaf(&header), hash(&last["leaf"]));
}

#[test]
fn roots_and_histories_are_those_of_the_vectors() {
    for (name, count) in [("roots", 15), ("histories", 15)] {
        let sizes = VECTORS[name].as_object().unwrap();
        assert_eq!(sizes.len(), count, "{name}");
        for (size, root) in sizes {
            let size: u64 = size.parse().unwrap();
            let found = match name {
                "roots" => SCENE.root(size),
                _ => SCENE.histories[size as usize],
            };
            assert_eq!(found, hash(root), "{name} of {size}");
        }
    }
}

#[test]
fn proofs_are_made_from_tiles() {
    let tree = TreeHash::Sha256;
    let mut made = (0, 0);
    for case in list(&VECTORS, "inclusion") {
        let (size, index) = (number(&case["size"]), number(&case["index"]));
        let path = hashes(&case["path"]);
        let Ok(of_tiles) = inclusion_path(&SCENE.tree(size), index, size);
        assert_eq!(of_tiles, path, "{index} of {size}");
        let leaf = leaf(&SCENE.headers[index as usize]);
        let root = SCENE.root(size);
        let holds = |index, path: &[Hash]| {
            let held = tree.verify_proof(&root, size, &[index], &[leaf], path);
            held.is_ok()
        };
        assert!(holds(index, &path));
        assert!(!holds(index + 1, &path) && !holds(index, &[&path[..], &[leaf]].concat()));
        assert!(path.is_empty() || !holds(index, &path[1..]));
        made.0 += 1;
    }
    for case in list(&VECTORS, "consistency") {
        let (from, to) = (number(&case["from"]), number(&case["to"]));
        let proof = hashes(&case["proof"]);
        let Ok(of_tiles) = consistency_path(&SCENE.tree(to), from, to);
        assert_eq!(of_tiles, proof, "{from} to {to}");
        let roots = (SCENE.root(from), SCENE.root(to));
        let holds = |first: &Hash, proof: &[Hash]| {
            tree.verify_consistency(from, to, first, &roots.1, proof)
                .is_ok()
        };
        assert!(holds(&roots.0, &proof) && !holds(&Hash::ZERO, &proof));
        assert!(!holds(&roots.0, &[&proof[..], &[Hash::ZERO]].concat()));
        assert!(proof.is_empty() || !holds(&roots.0, &proof[1..]));
        made.1 += 1;
    }
    assert_eq!(made, (13, 9));
}

#[test]
fn tiles_and_bundles_are_those_of_the_vectors() {
    let tiles = &VECTORS["tiles"];
    assert_eq!(names(tiles), BTreeSet::from(["about", "by_size", "paths"]));
    let mut files = 0;
    for (size, listed) in tiles["by_size"].as_object().unwrap() {
        let size: u64 = size.parse().unwrap();
        let made: BTreeMap<String, Vec<u8>> = TilePath::all(size)
            .map(|path| (path.to_string(), file(path)))
            .collect();
        let listed = listed.as_object().unwrap();
        let expected: Vec<&String> = listed.keys().collect();
        assert_eq!(made.keys().collect::<Vec<_>>(), expected, "size {size}");
        for (path, bytes_of) in &made {
            let case = &listed[path];
            assert_eq!(number(&case["bytes"]), bytes_of.len() as u64, "{path}");
            assert_eq!(hash(&case["sha256"]), sha256(bytes_of), "{path} of {size}");
            if let Some(whole) = case.get("hex") {
                assert_eq!(text(whole), to_hex(bytes_of));
            }
            let parsed: TilePath = path.parse().unwrap();
            assert!(parsed.is_within(size) && !parsed.is_within(0), "{path}");
            files += 1;
        }
    }
    assert_eq!(files, 19);
}

fn file(path: TilePath) -> Vec<u8> {
    if path.row == TileRow::Entries {
        let start = path.first() as usize;
        return entry_bundle(&SCENE.headers[start..start + usize::from(path.width)]);
    }
    let Ok(hashes) = (&&*SCENE).tile(path);
    tile_bytes(&hashes)
}

#[test]
fn paths_have_one_spelling() {
    let paths = &VECTORS["tiles"]["paths"];
    assert_eq!(
        names(paths),
        BTreeSet::from(["found", "names", "not_found"])
    );
    for case in list(paths, "names") {
        let row = match case["level"].as_u64() {
            Some(level) => TileRow::Level(level.try_into().unwrap()),
            None => TileRow::Entries,
        };
        let path = TilePath {
            row,
            index: number(&case["n"]),
            width: number(&case["width"]).try_into().unwrap(),
        };
        assert_eq!(path.to_string(), text(&case["path"]));
        assert_eq!(text(&case["path"]).parse(), Ok(path));
    }
    let is_found = |path: &Value| {
        let path = text(path).parse::<TilePath>();
        path.is_ok_and(|path| path.is_within(300))
    };
    let found = list(&paths["found"], "paths");
    assert!(found.iter().all(is_found));
    let missing = list(&paths["not_found"], "paths");
    for path in missing {
        assert!(!is_found(path), "{path}");
    }
    let counts = (list(paths, "names").len(), found.len(), missing.len());
    assert_eq!(counts, (9, 8, 28));
}

#[test]
fn keys_are_made_from_their_seeds() {
    let keys = list(&VECTORS, "sequencer_keys");
    for key in keys {
        let private = SigningKey::from_bytes(&word(&key["private"])).unwrap();
        let address: Address = text(&key["address"]).parse().unwrap();
        assert_eq!(private.address(), address);
        let verifier = SequencerVerifier {
            origin: TlogOrigin::parse(origin(), &domain()).unwrap(),
            key: address,
        };
        assert_eq!(const_hex::encode(verifier.key_id()), key["line_key_id"]);
        assert_eq!(verifier.to_string(), text(&key["vkey"]));
    }
    let delegate = &VECTORS["delegate"];
    let private = SigningKey::from_bytes(&word(&delegate["private"])).unwrap();
    assert_eq!(private.address().to_string(), text(&delegate["address"]));

    let logs = [
        ("ed25519", NoteAlgorithm::Ed25519),
        ("mldsa", NoteAlgorithm::MlDsa44),
    ];
    let logs = logs.map(|(name, algorithm)| (&VECTORS["tlog_keys"][name], origin(), algorithm));
    let witnesses = [
        ("w1_0x04", NoteAlgorithm::TimedEd25519),
        ("w1_0x06", NoteAlgorithm::MlDsa44),
        ("w2_0x04", NoteAlgorithm::TimedEd25519),
    ];
    let witnesses = witnesses.map(|(name, algorithm)| {
        let key = &VECTORS["witness_keys"][name];
        (key, text(&key["name"]), algorithm)
    });
    for (key, name, algorithm) in logs.into_iter().chain(witnesses) {
        let signer = NoteSigner::from_seed(name, algorithm, &word(&key["seed"])).unwrap();
        let verifier = signer.verifier();
        assert_eq!(verifier.to_string(), text(&key["vkey"]));
        assert_eq!(format!("{signer:?}"), format!("NoteSigner({verifier})"));
        let read: NoteVerifier = text(&key["vkey"]).parse().unwrap();
        assert_eq!((read.name(), read.algorithm()), (name, algorithm));
        assert_eq!(read.public_key(), verifier.public_key());
        if let Some(id) = key.get("key_id") {
            assert_eq!(const_hex::encode(read.key_id()), text(id));
        }
        if let Some(public) = key.get("public") {
            assert_eq!(read.public_key(), bytes(public));
        }
    }
    let counts = ["tlog_keys", "witness_keys"].map(|group| names(&VECTORS[group]).len());
    assert_eq!((keys.len(), counts), (2, [2, 3]));
}

fn log_signer() -> LogSigner {
    let seed = |name: &str| word(&VECTORS["tlog_keys"][name]["seed"]);
    let origin = TlogOrigin::parse(origin(), &domain()).unwrap();
    LogSigner::from_seeds(origin, &seed("ed25519"), &seed("mldsa")).unwrap()
}

/// The note of the log at a size, with all three lines.
fn note(batches: u64) -> SignedNote {
    let checkpoint = TlogCheckpoint {
        batches,
        root: SCENE.root(batches),
        history: SCENE.histories[batches as usize],
    };
    let key = sequencer(batches);
    let signed = checkpoint.sign(&domain().separator(), &key);
    log_signer().note(&signed, key.address()).unwrap()
}

#[test]
fn notes_are_made_and_opened() {
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let cases = list(&VECTORS, "notes");
    for case in cases {
        let batches = number(&case["batches"]);
        let made = note(batches);
        let parts = &case["tlog_checkpoint"];
        let message = &parts["message"];
        let opened = trust.open(made.to_string().as_bytes()).unwrap();
        let checkpoint = opened.signed.checkpoint;
        assert_eq!(checkpoint.batches, number(&message["batches"]));
        assert_eq!(checkpoint.root, hash(&message["root"]));
        assert_eq!(checkpoint.history, hash(&message["history"]));
        assert_eq!(checkpoint.hash(), hash(&parts["struct_hash"]));
        assert_eq!(
            checkpoint.digest(&domain().separator()),
            hash(&parts["digest"])
        );
        assert_eq!(
            opened.signed.signature.to_string(),
            text(&parts["signature"])
        );
        let by = keys.key_of_checkpoint(batches);
        let named = list(&VECTORS, "sequencer_keys").iter();
        let mut named = named.filter(|key| key["name"] == parts["by"]);
        assert_eq!(text(&named.next().unwrap()["address"]), by.to_string());

        assert_eq!(made.body.to_string(), text(&case["text"]));
        let lines = ["ed25519", "mldsa", "ours"].map(|name| text(&case["lines"][name]));
        let made_lines: Vec<String> = made.lines.iter().map(ToString::to_string).collect();
        assert_eq!(made_lines, lines);
        let whole = made.to_string();
        assert_eq!(
            whole,
            format!("{}\n{}\n", text(&case["text"]), lines.join("\n"))
        );
        assert_eq!(sha256(whole.as_bytes()), hash(&case["note_sha256"]));
        assert_eq!(SignedNote::parse(whole.as_bytes()).as_ref(), Ok(&made));
        assert_eq!(opened.origin.as_str(), origin());
        let times: Vec<u64> = opened
            .cosignatures
            .iter()
            .map(|one| one.timestamp_s)
            .collect();
        assert_eq!(times, [0, 0]);
        assert!(opened.witnesses().is_empty());

        let message = NoteAlgorithm::MlDsa44.message(origin(), 0, &made.body);
        assert_eq!(message.unwrap(), bytes(&case["mldsa_cosigned_message"]));
    }
    assert_eq!(cases.len(), 4);
}

/// The lines of witnesses under the note of 10 batches.
fn cosignatures(of: &[Value]) -> String {
    let line = |name: &Value| format!("{}\n", text(&VECTORS["cosignatures"][text(name)]));
    of.iter().map(line).collect()
}

// Holds invariant 273.
#[test]
fn cosignatures_are_made_and_counted() {
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let of_log = note(10);
    let cosignatures_of = &VECTORS["cosignatures"];
    let times = cosignatures_of["timestamps"].as_object().unwrap();
    assert_eq!(cosignatures_of.as_object().unwrap().len(), 2 + times.len());
    for (name, time) in times {
        let key = &VECTORS["witness_keys"][name];
        let verifier: NoteVerifier = text(&key["vkey"]).parse().unwrap();
        let seed = word(&key["seed"]);
        let signer = NoteSigner::from_seed(verifier.name(), verifier.algorithm(), &seed).unwrap();
        let line = signer.sign(&of_log.body, number(time)).unwrap();
        assert_eq!(line.to_string(), text(&cosignatures_of[name]), "{name}");
        let cosigned = format!("{of_log}{line}\n");
        let opened = trust.open(cosigned.as_bytes()).unwrap();
        let last = opened.cosignatures.last().unwrap();
        assert_eq!(
            (last.timestamp_s, last.key_id),
            (number(time), verifier.key_id())
        );
        assert_eq!(opened.witnesses(), BTreeSet::from([verifier.name()]));
    }

    let policy = &VECTORS["policy"];
    let read = TlogPolicy::parse(text(&policy["tlog_policy"])).unwrap();
    assert_eq!((read.logs().len(), read.witnesses().len()), (1, 2));
    let mut counts = (0, 0);
    for (name, is_enough) in [("enough", true), ("not_enough", false)] {
        for of in list(policy, name) {
            let lines = cosignatures(of.as_array().unwrap());
            let opened = trust.open(format!("{of_log}{lines}").as_bytes()).unwrap();
            assert_eq!(read.is_met(&opened), is_enough, "{of}");
            *(if is_enough {
                &mut counts.0
            } else {
                &mut counts.1
            }) += 1;
        }
    }
    assert_eq!((times.len(), counts), (3, (3, 4)));
}

#[test]
fn a_witness_is_sent_the_logs_own_lines() {
    let case = &VECTORS["add_checkpoint"];
    assert_eq!(case.as_object().unwrap().len(), 3);
    let body = text(&case["body"]);
    let Ok(proof) = consistency_path(&SCENE.tree(10), 7, 10);
    let cosigned = format!("{}{}", note(10), text(&case["answer"]));
    let cosigned = SignedNote::parse(cosigned.as_bytes()).unwrap();
    assert_eq!(cosigned.lines.len(), 4);
    let submission = CheckpointSubmission::new(7, proof, cosigned.clone());
    assert_eq!(submission.to_string(), body);
    assert_eq!(CheckpointSubmission::parse(body.as_bytes()), Ok(submission));
    let (keys, known) = (sequencer_keys(), verifiers());
    let opened = trust(&keys, &known).check(&cosigned).unwrap();
    assert_eq!(opened.witnesses(), BTreeSet::from(["witness.example/w1"]));
}

#[test]
fn proof_files_are_made_and_checked() {
    let case = &VECTORS["tlog_proof"];
    assert_eq!(case.as_object().unwrap().len(), 3);
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let file = text(&case["file"]);
    let proof = TlogProof::parse(file.as_bytes()).unwrap();
    assert_eq!(proof.to_string(), file);
    let Ok(path) = inclusion_path(&SCENE.tree(10), 3, 10);
    assert_eq!((proof.header, &proof.path), (SCENE.headers[3], &path));
    let mut of_log = note(10);
    of_log.lines.remove(1);
    assert_eq!(proof.note.body, of_log.body);
    assert_eq!(proof.note.lines[..2], of_log.lines[..]);
    let opened = proof.check(&trust).unwrap();
    let policy = TlogPolicy::parse(text(&VECTORS["policy"]["tlog_policy"])).unwrap();
    assert!(policy.is_met(&opened));

    let mut refused = 0;
    for case in list(case, "must_refuse") {
        let read = TlogProof::parse(text(&case["proof"]).as_bytes());
        let checked = read.and_then(|proof| proof.check(&trust));
        assert!(checked.is_err(), "{}", case["why"]);
        refused += 1;
    }
    assert_eq!(refused, 12);
}

/// What the vectors call the check that refuses a note.
fn reason(refusal: &NoteRefusal) -> &'static str {
    match refusal {
        NoteRefusal::SequencerLines(0) => "0 lines of ours",
        NoteRefusal::SequencerLines(_) => "2 lines of ours",
        NoteRefusal::SequencerForm => "our line has 97 bytes, or v",
        NoteRefusal::OtherSequencer { .. } => "not by the sequencer key",
        NoteRefusal::Signature(SignatureError::HighS) => "high s",
        NoteRefusal::KnownKey(_) => "the line of a known key fails",
        NoteRefusal::Origin(_) => "origin",
        NoteRefusal::Form(error) => match error {
            NoteError::Lines => "three lines of text",
            NoteError::Empty => "an empty log has no note",
            NoteError::Size => "size",
            NoteError::Root => "root",
            NoteError::Shape => "no empty line, or signature lines",
            NoteError::Signature(_) => "signature line, or base64 of a line",
            NoteError::Characters => "control characters, or UTF-8",
            NoteError::TooLong(_) | NoteError::TooMany => "limit",
        },
        NoteRefusal::Signature(_) => "no signature",
    }
}

// Holds invariant 273.
#[test]
fn what_must_be_refused_is_refused() {
    let (keys, known) = (sequencer_keys(), verifiers());
    let trust = trust(&keys, &known);
    let (mut refused, mut passed) = (0, 0);
    for case in list(&VECTORS["must_refuse_notes"], "cases") {
        let why = &case["why"];
        let note = match case.get("note") {
            Some(note) => text(note).as_bytes().to_vec(),
            None => bytes(&case["note_hex"]),
        };
        let opened = trust.open(&note);
        if case["by"] == "note" {
            let stated = text(&case["refused_by"]);
            let stated = if stated.starts_with("the line of ") {
                "the line of a known key fails"
            } else {
                stated
            };
            let found = reason(&opened.unwrap_err());
            assert!(found.contains(stated), "{why}: {found}, not {stated}");
            refused += 1;
        } else {
            // With the headers a reader sees that one of the roots differs.
            let checkpoint = opened.unwrap().signed.checkpoint;
            let size = checkpoint.batches;
            let of_log = (SCENE.root(size), SCENE.histories[size as usize]);
            assert_ne!((checkpoint.root, checkpoint.history), of_log, "{why}");
            passed += 1;
        }
    }
    assert_eq!((refused, passed), (47, 2));
}
