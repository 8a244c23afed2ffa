//! State proofs as the API gives them: what an honest one shows, and that each member, changed in turn, is refused.

use std::collections::BTreeMap;
use std::convert::Infallible;

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::AnchorProof;
use kedge_protocol::resource::Who;
use kedge_protocol::state::answer::PROOFS_MAX;
use kedge_protocol::state::entry::{EntryFields, EntryRule};
use kedge_protocol::state::trie::{NodePath, StateLeaves, StateNodes, StoredBranch, prove_state};
use kedge_protocol::state::{
    StateAnswer, StateAnswerError, StateAnswers, StateEntry, StateProof, StateProofError,
    StateTexts, state_path,
};
use kedge_protocol::{Address, Hash, Id, KeyActivation, Prefix, SequencerKeys};
use serde_json::{Value, json};

use crate::signed_log::{domain, key};
use crate::state_scene::{entry, id, object, template};

/// The texts that the scene's entries hold, except for the rules.
const TEXT: &str = "text";

const PREFIXES: [Prefix; 10] = [
    Prefix::Object,
    Prefix::Wallet,
    Prefix::Organization,
    Prefix::Template,
    Prefix::Variation,
    Prefix::Key,
    Prefix::Webhook,
    Prefix::File,
    Prefix::Dispute,
    Prefix::Action,
];

/// Leaves in memory, without branches.
struct Leaves(BTreeMap<Hash, Hash>);

impl StateNodes for Leaves {
    type Error = Infallible;

    fn branch(&self, _: &NodePath) -> Result<Option<StoredBranch>, Infallible> {
        Ok(None)
    }
}

impl StateLeaves for Leaves {
    type Error = Infallible;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), Infallible> {
        self.0
            .range(*first..=*last)
            .for_each(|(path, value)| each(path, value));
        Ok(())
    }
}

/// A state with an entry of each type, and 60 more objects.
struct Scene {
    entries: BTreeMap<Id, StateEntry>,
    leaves: Leaves,
}

impl Scene {
    fn new() -> Self {
        let mut entries: BTreeMap<Id, StateEntry> = PREFIXES
            .into_iter()
            .map(|prefix| (id(prefix, 1), entry(prefix)))
            .collect();
        let rule = |kind: &str, schema: &str| EntryRule {
            kind: kind.to_owned(),
            who: Who::Issuer,
            schema_hash: keccak(schema.as_bytes()),
        };
        let rules = vec![rule("lock", ""), rule("burn", "{}")];
        entries.insert(
            id(Prefix::Template, 1),
            template(|template| template.rules = rules),
        );
        if let Some(variation) = entries.get_mut(&id(Prefix::Variation, 1)) {
            variation.version = 1;
        }
        for number in 2..62 {
            let more = object(|object| object.serial = u64::from(number));
            entries.insert(id(Prefix::Object, number), more);
        }
        let leaf = |(id, entry): (&Id, &StateEntry)| (state_path(id), keccak(&entry.to_bytes()));
        let leaves = Leaves(entries.iter().map(leaf).collect());
        Self { entries, leaves }
    }

    fn proven(&self, keys: &[Id]) -> (Hash, Vec<StateProof>) {
        let mut paths: Vec<Hash> = keys.iter().map(state_path).collect();
        paths.sort_unstable();
        let proven = prove_state(&self.leaves, &self.leaves, &paths)
            .unwrap()
            .unwrap();
        let proofs = keys.iter().map(|key| {
            let place = paths.binary_search(&state_path(key)).unwrap();
            let entry = self.entries.get(key).map(StateEntry::to_bytes);
            StateProof {
                key: *key,
                entry: entry.unwrap_or_default(),
                nodes: proven.nodes[place].clone(),
            }
        });
        (proven.root, proofs.collect())
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            batches: 3,
            sequence: 9,
            head: keccak(b"head"),
            history: keccak(b"history"),
            state: self.proven(&[]).0,
            issued_at_ms: 7,
        }
    }

    fn answer(&self, key: Id) -> StateAnswer {
        let proof = self.proven(&[key]).1.remove(0);
        let texts = self
            .entries
            .get(&key)
            .map(|entry| texts(&entry.fields))
            .unwrap_or_default();
        let signed = signed(self.checkpoint());
        StateAnswer::new(proof, texts, (signed, Some(anchor(signed)))).unwrap()
    }
}

fn signed(checkpoint: Checkpoint) -> SignedCheckpoint {
    checkpoint.sign(&domain().separator(), &key(1))
}

fn anchor(checkpoint: SignedCheckpoint) -> AnchorProof {
    AnchorProof {
        checkpoint,
        path: Vec::new(),
        contract: Address([9; 20]),
        transaction_hash: None,
        block_number: Some(12),
    }
}

fn texts(fields: &EntryFields) -> StateTexts {
    let text = || Some(TEXT.to_owned());
    match fields {
        EntryFields::Object(_) => StateTexts {
            properties: text(),
            ..StateTexts::default()
        },
        EntryFields::Template(_) => StateTexts {
            properties: text(),
            schema: text(),
            name: None,
            rules: Some(vec![String::new(), "{}".to_owned()]),
        },
        EntryFields::Variation(_) => StateTexts {
            properties: text(),
            name: text(),
            ..StateTexts::default()
        },
        _ => StateTexts::default(),
    }
}

fn refusal(answer: &StateAnswer) -> StateAnswerError {
    answer.verify(&domain(), &key(1).address()).unwrap_err()
}

fn read(value: &Value) -> Result<StateAnswer, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}

/// Whether the JSON is refused, as a form or by a check.
fn is_refused(value: &Value) -> bool {
    read(value).map_or(true, |answer| {
        answer.verify(&domain(), &key(1).address()).is_err()
    })
}

#[test]
fn an_answer_shows_the_entry_of_each_type_and_absence() {
    let scene = Scene::new();
    for prefix in PREFIXES {
        let answer = scene.answer(id(prefix, 1));
        let text = serde_json::to_string(&answer).unwrap();
        let answer: StateAnswer = serde_json::from_str(&text).unwrap();
        let shown = answer.verify(&domain(), &key(1).address()).unwrap();
        assert_eq!(shown.entry.as_ref(), scene.entries.get(&answer.key));
        assert_eq!((shown.checkpoint.batches, shown.anchored), (3, true));
        assert!(shown.to_string().starts_with("after sequence 9, "));
        if prefix == Prefix::Action {
            continue;
        }
        let absent = scene.answer(id(prefix, 200));
        assert_eq!((absent.present, absent.fields.as_ref()), (false, None));
        assert!(
            serde_json::to_string(&absent)
                .unwrap()
                .contains(r#""entry":"0x""#)
        );
        let shown = absent.verify(&domain(), &key(1).address()).unwrap();
        assert_eq!(shown.entry, None);
        assert!(shown.to_string().contains("had made nothing under"));
    }
}

#[test]
fn the_absence_of_an_action_shows_nothing() {
    let answer = Scene::new().answer(id(Prefix::Action, 200));
    let expected = StateAnswerError::Proof(StateProofError::AbsentAction);
    assert_eq!(refusal(&answer), expected);
}

#[test]
fn each_member_that_is_changed_is_refused() {
    let scene = Scene::new();
    let (mut refused, mut kept) = (0, 0);
    for prefix in PREFIXES {
        let answer = serde_json::to_value(scene.answer(id(prefix, 1))).unwrap();
        assert!(!is_refused(&answer));
        for name in answer.as_object().unwrap().keys() {
            let mut other = answer.clone();
            other.as_object_mut().unwrap().remove(name);
            assert!(is_refused(&other), "without {name}");
        }
        let mut more = answer.clone();
        more["more"] = json!(1);
        assert!(is_refused(&more));
        let mut paths = Vec::new();
        leaves_of(&answer, &mut String::new(), &mut paths);
        for path in paths {
            for change in [json!("x"), json!("1"), json!(null), json!([]), json!(77)] {
                let mut other = answer.clone();
                let place = other.pointer_mut(&path).unwrap();
                if *place == change {
                    continue;
                }
                *place = change;
                let is_free = [
                    "/anchor",
                    "/anchor/block_number",
                    "/anchor/transaction_hash",
                ]
                .contains(&path.as_str());
                // An anchor that is not there, and where the chain has it, is the server's word alone.
                if is_free || is_number_in_text(&answer, &other, &path) {
                    kept += 1;
                    continue;
                }
                // Only the times of two signatures may differ, and each has its own.
                assert!(is_refused(&other), "{path}: {other}");
                refused += 1;
            }
        }
    }
    assert!(refused > 500 && kept < 200, "{refused} {kept}");
}

fn is_number_in_text(answer: &Value, other: &Value, path: &str) -> bool {
    let texts = [answer, other].map(|value| value.pointer(path).unwrap().to_string());
    path.starts_with("/fields") && texts[0].trim_matches('"') == texts[1].trim_matches('"')
}

/// Pointers to all values that are no objects.
fn leaves_of(value: &Value, path: &mut String, out: &mut Vec<String>) {
    let Value::Object(members) = value else {
        out.push(path.clone());
        return;
    };
    for (name, value) in members {
        let end = path.len();
        *path = format!("{path}/{name}");
        leaves_of(value, path, out);
        path.truncate(end);
    }
}

#[test]
fn nodes_and_entries_of_another_id_are_refused() {
    let scene = Scene::new();
    let answer = scene.answer(id(Prefix::Object, 1));
    let other = scene.answer(id(Prefix::Object, 2));
    let with = |change: &dyn Fn(&mut StateAnswer)| {
        let mut changed = answer.clone();
        change(&mut changed);
        refusal(&changed)
    };
    with(&|changed| changed.nodes.clone_from(&other.nodes));
    with(&|changed| changed.key = other.key);
    with(&|changed| drop(changed.nodes.pop()));
    with(&|changed| changed.nodes.push(vec![0xc0]));
    let entry = with(&|changed| changed.entry.clone_from(&other.entry));
    assert_eq!(entry, StateProofError::OtherEntry.into());
    let hidden = with(&|changed| {
        changed.entry.clear();
        (changed.present, changed.fields) = (false, None);
    });
    assert_eq!(hidden, StateProofError::Present.into());
    assert_eq!(
        with(&|changed| changed.present = false),
        StateAnswerError::Present
    );
    let many = with(&|changed| changed.nodes = vec![vec![0; 40]; 66]);
    assert_eq!(many, StateAnswerError::Nodes);
}

#[test]
fn fields_and_texts_that_differ_are_named() {
    let scene = Scene::new();
    let differing = |answer: StateAnswer| match refusal(&answer) {
        StateAnswerError::Differs { members, .. } => members.join(" "),
        error => panic!("{error}"),
    };
    let mut answer = scene.answer(id(Prefix::Template, 1));
    let fields = answer.fields.as_mut().unwrap();
    fields.insert("version".to_owned(), json!(9));
    fields.insert("more".to_owned(), json!(true));
    fields.remove("schema_hash");
    answer.texts.properties = Some("{}".to_owned());
    answer.texts.rules = Some(vec![String::new()]);
    answer.texts.name = Some(TEXT.to_owned());
    assert_eq!(
        differing(answer),
        "fields.more fields.schema_hash fields.version texts.properties texts.name texts.rules"
    );
    let mut swapped = scene.answer(id(Prefix::Template, 1));
    swapped.texts.rules.as_mut().unwrap().reverse();
    assert_eq!(differing(swapped), "texts.rules");
    let mut wallet = scene.answer(id(Prefix::Wallet, 1));
    wallet.texts.schema = Some(String::new());
    assert_eq!(differing(wallet), "texts.schema");
    let mut absent = scene.answer(id(Prefix::Object, 200));
    absent.texts.properties = Some(String::new());
    assert_eq!(refusal(&absent), StateAnswerError::OfNothing);
    let mut bare = scene.answer(id(Prefix::Object, 1));
    bare.fields = None;
    assert_eq!(refusal(&bare), StateAnswerError::NoFields);
}

#[test]
fn numbers_may_be_decimal_texts_and_addresses_have_a_checksum_or_not() {
    let scene = Scene::new();
    let mut answer = serde_json::to_value(scene.answer(id(Prefix::Template, 1))).unwrap();
    assert_eq!(answer["fields"]["max_supply"], "9");
    answer["fields"]["max_supply"] = json!(9);
    answer["fields"]["version"] = json!("2");
    assert!(!is_refused(&answer));
    answer["fields"]["version"] = json!("02");
    assert!(is_refused(&answer));
    answer["fields"]["version"] = json!(2.0);
    assert!(is_refused(&answer));
    let mut answer = serde_json::to_value(scene.answer(id(Prefix::Action, 1))).unwrap();
    answer["fields"]["address"] = json!(format!("0x{}", "ab".repeat(20)));
    assert!(!is_refused(&answer));
    let text = answer.to_string();
    let twice = text.replacen(r#""version":2"#, r#""version":2,"version":2"#, 1);
    assert!(serde_json::from_str::<StateAnswer>(&text).is_ok());
    let error = serde_json::from_str::<StateAnswer>(&twice).unwrap_err();
    assert!(error.to_string().contains("occurs twice"), "{error}");
}

#[test]
fn a_text_that_the_server_no_longer_has_is_left_out() {
    let mut answer = Scene::new().answer(id(Prefix::Object, 1));
    answer.texts = StateTexts::default();
    assert!(answer.verify(&domain(), &key(1).address()).is_ok());
}

#[test]
fn the_key_of_the_last_batch_signs_the_checkpoint() {
    let scene = Scene::new();
    let answer = scene.answer(id(Prefix::Object, 1));
    let keys = |from_batch| {
        let activation = |key, from_batch| KeyActivation { key, from_batch };
        let entries = vec![
            activation(key(1).address(), 0),
            activation(key(2).address(), from_batch),
        ];
        SequencerKeys::new(entries).unwrap()
    };
    assert!(answer.verify(&domain(), &keys(3)).is_ok());
    let expected = StateAnswerError::OtherSequencer {
        expected: key(2).address(),
        found: key(1).address(),
    };
    assert_eq!(answer.verify(&domain(), &keys(2)), Err(expected));
}

#[test]
fn a_checkpoint_without_a_root_or_a_batch_shows_nothing() {
    let scene = Scene::new();
    let with = |change: &dyn Fn(&mut Checkpoint)| {
        let mut answer = scene.answer(id(Prefix::Object, 1));
        let mut checkpoint = answer.checkpoint.checkpoint;
        change(&mut checkpoint);
        answer.checkpoint = signed(checkpoint);
        answer.anchor = None;
        refusal(&answer)
    };
    let rootless = with(&|checkpoint| checkpoint.state = Hash::ZERO);
    assert_eq!(rootless, StateProofError::NoRoot.into());
    let empty = with(&|checkpoint| checkpoint.batches = 0);
    assert_eq!(empty, StateAnswerError::EmptyLog);
    // The entry's sequence is 5.
    let early = with(&|checkpoint| checkpoint.sequence = 4);
    assert!(matches!(
        early,
        StateAnswerError::Proof(StateProofError::Entry(_))
    ));
}

#[test]
fn the_anchor_is_of_the_same_checkpoint_whenever_it_was_signed() {
    let scene = Scene::new();
    let with = |change: &dyn Fn(&mut AnchorProof)| {
        let mut answer = scene.answer(id(Prefix::Object, 1));
        change(answer.anchor.as_mut().unwrap());
        answer.verify(&domain(), &key(1).address())
    };
    let again = |change: &dyn Fn(&mut Checkpoint)| {
        with(&|anchor| {
            let mut checkpoint = anchor.checkpoint.checkpoint;
            change(&mut checkpoint);
            anchor.checkpoint = signed(checkpoint);
        })
    };
    assert!(again(&|checkpoint| checkpoint.issued_at_ms += 1).is_ok());
    let other: [fn(&mut Checkpoint); 5] = [
        |checkpoint| checkpoint.batches += 1,
        |checkpoint| checkpoint.sequence += 1,
        |checkpoint| checkpoint.head = Hash::ZERO,
        |checkpoint| checkpoint.history = Hash::ZERO,
        |checkpoint| checkpoint.state = Hash::ZERO,
    ];
    for change in other {
        assert_eq!(again(&change), Err(StateAnswerError::OtherAnchor));
    }
    let path = with(&|anchor| anchor.path.push(Hash::ZERO));
    assert_eq!(path, Err(StateAnswerError::AnchorPath));
    let unsigned = with(&|anchor| anchor.checkpoint.checkpoint.issued_at_ms += 1);
    assert!(matches!(
        unsigned,
        Err(StateAnswerError::OtherSequencer { .. } | StateAnswerError::Checkpoint(_))
    ));
}

fn list(scene: &Scene, keys: &[Id]) -> StateAnswers {
    let proofs = scene.proven(keys).1;
    let proofs = proofs.into_iter().map(|proof| {
        let entry = scene.entries.get(&proof.key);
        let texts = entry.map(|entry| texts(&entry.fields)).unwrap_or_default();
        (proof, texts)
    });
    StateAnswers::new(proofs, (signed(scene.checkpoint()), None)).unwrap()
}

#[test]
fn proofs_of_a_list_share_their_nodes() {
    let scene = Scene::new();
    let keys: Vec<Id> = (1..40)
        .map(|number| id(Prefix::Object, number))
        .chain([id(Prefix::Template, 1), id(Prefix::Wallet, 77)])
        .collect();
    let answers = list(&scene, &keys);
    let text = serde_json::to_string(&answers).unwrap();
    let answers: StateAnswers = serde_json::from_str(&text).unwrap();
    let shown = answers.verify(&domain(), &key(1).address()).unwrap();
    assert_eq!(shown.iter().map(|one| one.key).collect::<Vec<_>>(), keys);
    assert_eq!(shown.iter().filter(|one| one.entry.is_some()).count(), 40);
    let single: usize = answers.proofs.iter().map(|proof| proof.nodes.len()).sum();
    assert!(answers.nodes.len() * 3 < single * 2);
}

#[test]
fn a_list_has_one_form() {
    let scene = Scene::new();
    let keys: Vec<Id> = (1..9).map(|number| id(Prefix::Object, number)).collect();
    let with = |change: &dyn Fn(&mut StateAnswers)| {
        let mut answers = list(&scene, &keys);
        change(&mut answers);
        answers.verify(&domain(), &key(1).address()).unwrap_err()
    };
    let is_common = |error| matches!(error, StateAnswerError::CommonNodes(_));
    assert!(is_common(with(&|list| list.nodes.push(vec![0xc0; 40]))));
    assert!(is_common(with(&|list| drop(list.nodes.pop()))));
    assert!(is_common(with(&|list| {
        list.nodes[1] = list.nodes[0].clone();
    })));
    assert!(is_common(with(&|list| list.proofs.reverse())));
    let swapped = with(&|list| {
        let nodes = list.proofs[0].nodes.clone();
        list.proofs[1].nodes = nodes;
    });
    assert!(
        is_common(swapped.clone()) || matches!(swapped, StateAnswerError::Listed { index: 1, .. })
    );
    let texts = with(&|list| list.proofs[3].texts.properties = Some(String::new()));
    assert!(texts.to_string().starts_with("proof 3: texts.properties"));
    let many = with(&|list| list.proofs = vec![list.proofs[0].clone(); PROOFS_MAX + 1]);
    assert_eq!(many, StateAnswerError::Proofs);
}

#[test]
fn a_malformed_entry_makes_no_answer() {
    let scene = Scene::new();
    let mut proof = scene.proven(&[id(Prefix::Object, 1)]).1.remove(0);
    proof.entry.push(0);
    let signed = signed(scene.checkpoint());
    assert!(StateAnswer::new(proof, StateTexts::default(), (signed, None)).is_err());
}
