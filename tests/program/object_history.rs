//! `kedge verify object`: a resource's own history against its proven state, from a real server and from files.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kedge_client::types::TemplateActionRule;
use kedge_client::{
    Account, NewAction, NewApiKey, NewInvitation, NewObject, NewTemplate, NewVariation, NewWebhook,
    Properties, StateQuery, TemplateChange, WebhookChange,
};
use kedge_config::secrets;
use kedge_protocol::action::Kind;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::hash::keccak;
use kedge_protocol::resource::{Area, Crud, ObjectStatus, Permission, Who};
use kedge_protocol::state::entry::ObjectEntry;
use kedge_protocol::state::trie::{NodePath, StateLeaves, StateNodes, StoredBranch, prove_state};
use kedge_protocol::state::{
    EntryFields, StateAnswer, StateEntry, StateProof, StateTexts, state_path,
};
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::{Value, json};

use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, connect, eventually, free_port, register};
use crate::{done_json, refused};

/// How long an anchor may take to become final.
const PATIENCE: Duration = Duration::from_secs(40);

/// A server with an account, whose token is in a file.
struct Scene {
    // It stops before its directory goes.
    _server: Server,
    directory: tempfile::TempDir,
    setup: Setup,
    account: Account,
    rng: Rng,
}

fn object(value: Value) -> Properties {
    let Value::Object(members) = value else {
        panic!("{value}");
    };
    members
}

impl Scene {
    async fn start(seed: &str) -> Self {
        Self::start_with(seed, |setup| setup).await
    }

    async fn start_with(seed: &str, options: impl FnOnce(Setup) -> Setup) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let setup = options(Setup::development(&directory.path().join("data")));
        let server = setup.start();
        let client = connect(&setup.url()).await;
        let mut rng = Rng::seeded(seed);
        let account = register(&client, rng.key()).await;
        let token = account.access_token().unwrap();
        std::fs::write(directory.path().join("token"), token).unwrap();
        Self {
            _server: server,
            directory,
            setup,
            account,
            rng,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The command, asking the server, with the answers saved under a name.
    fn ask(&self, id: Id, saved: &str) -> Command {
        let mut command = kedge();
        let id = id.to_string();
        command.args([
            "verify",
            "object",
            &id,
            "--json",
            "--url",
            &self.setup.url(),
        ]);
        command.arg("--token-file").arg(self.path("token"));
        command.arg("--save").arg(self.path(saved));
        command
    }

    /// The command on files, with the pinned domain and key.
    fn read(&self, files: &[PathBuf]) -> Command {
        let client = self.account.client();
        let domain = client.domain();
        let domain = format!("{}:{}", domain.chain_id, domain.verifying_contract);
        let mut command = kedge();
        command.args(["verify", "object", "--json", "--domain", &domain]);
        command.args(["--sequencer", &client.sequencer().to_string()]);
        command.args(files);
        command
    }

    /// The number of batches of a checkpoint that covers a resource's last action.
    async fn covered(&self, id: Id, sequence: u64) -> u64 {
        let proven = self.account.state(id, StateQuery::over(sequence)).await;
        proven.unwrap().statement.checkpoint.batches
    }

    async fn act(&self, kind: Kind, id: Id, payload: &Value) -> u64 {
        let action = NewAction::new(kind, id, payload).unwrap();
        self.account.act(&action).await.unwrap().sequence
    }

    /// Verifies a resource from the server and from the saved answers; returns what both print.
    async fn verified(&self, id: Id, sequence: u64) -> Value {
        self.covered(id, sequence).await;
        let saved = format!("{id}.json");
        let shown = done_json(&mut self.ask(id, &saved));
        let again = done_json(&mut self.read(&[self.path(&saved)]));
        assert_eq!(shown, again);
        assert_eq!((&shown["valid"], &shown["key"]), (&json!(true), &json!(id)));
        assert_eq!(shown["last_sequence"], sequence);
        shown
    }

    /// Writes changed answers to a file of this name.
    fn write(&self, name: &str, answers: &[Value]) -> PathBuf {
        let lines: Vec<String> = answers.iter().map(Value::to_string).collect();
        let path = self.path(name);
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    }
}

fn answers(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn is_proof(answer: &Value) -> bool {
    !answer["inclusion"].is_null()
}

/// The place of the proof file of an action of this kind.
fn proof_of(answers: &[Value], kind: &str) -> usize {
    let is_it = |answer: &Value| answer["action"]["kind"] == kind;
    answers.iter().position(is_it).unwrap()
}

/// An object that every kind of action on objects has changed, and the sequence of the last one.
async fn changed_object(scene: &Scene) -> (Id, u64) {
    let template = NewTemplate {
        name: "ticket".to_owned(),
        properties: object(json!({"seat": null, "price": 12.50, "tags": ["a"]})),
        schema: Some(object(json!({"type": "object"}))),
        actions: vec![TemplateActionRule {
            kind: "x.check".to_owned(),
            who: Who::Owner,
            schema: None,
        }],
        ..NewTemplate::default()
    };
    let template = scene.account.create_template(&template).await.unwrap();
    let template = template.resource.id;
    let variation = NewVariation {
        name: "balcony".to_owned(),
        properties: object(json!({"seat": "B", "price": null})),
    };
    let variations = scene
        .account
        .create_variations(template, &[variation])
        .await;
    let minted = NewObject {
        variation_id: Some(variations.unwrap().resource.items[0].id),
        properties: object(json!({"row": {"number": 7}})),
        to: None,
    };
    let id = scene
        .account
        .mint(template, &minted)
        .await
        .unwrap()
        .resource
        .id;
    let patch = json!({"properties": {"row": {"number": 8, "side": "left"}}});
    scene.act(Kind::Update, id, &patch).await;
    scene
        .act(
            Kind::SetAttributes,
            id,
            &json!({"attributes": {"tags": null, "új": 1}}),
        )
        .await;
    scene
        .act(Kind::DeleteAttributes, id, &json!({"attributes": ["seat"]}))
        .await;
    scene.act(Kind::Emit, id, &json!({"seen": true})).await;
    scene
        .act(Kind::of_text("x.check").unwrap(), id, &json!({"gate": 3}))
        .await;
    scene.act(Kind::Lock, id, &json!({})).await;
    (id, scene.act(Kind::Unlock, id, &json!({})).await)
}

// Holds invariant 267.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_objects_history_gives_every_field_and_text_of_its_state() {
    let mut scene = Scene::start("object history").await;
    let (id, sequence) = changed_object(&scene).await;
    let shown = scene.verified(id, sequence).await;
    assert_eq!(
        (&shown["actions"], &shown["signatures_checked"]),
        (&json!(8), &json!(8))
    );
    assert_eq!(shown["texts_compared"], json!(["properties"]));
    let compared = shown["fields_compared"].as_array().unwrap();
    for name in [
        "version",
        "integrity",
        "variation_id",
        "owner_id",
        "owner_address",
        "status",
        "properties_hash",
    ] {
        assert!(compared.contains(&json!(name)), "{name}: {shown}");
    }
    let mut open: Vec<&String> = shown["not_shown"].as_object().unwrap().keys().collect();
    open.sort();
    assert_eq!(open, ["later_actions", "serial"]);
    let early = shown["batches"].as_u64().unwrap();

    // Another organization owns it, keeps its own signature to itself, and its address is not shown to this one.
    let client = scene.account.client().clone();
    let bob = register(&client, scene.rng.key()).await;
    let moved = scene.account.transfer(id, &bob.address().to_string()).await;
    let moved = moved.unwrap().resource.sequence;
    let shown = scene.verified(id, moved).await;
    assert_eq!(
        (&shown["actions"], &shown["signatures_checked"]),
        (&json!(9), &json!(9))
    );
    assert!(shown["not_shown"]["owner_id"].is_string(), "{shown}");
    let burn = NewAction::new(Kind::Burn, id, &json!({})).unwrap();
    let burned = bob.act(&burn).await.unwrap().sequence;
    let shown = scene.verified(id, burned).await;
    assert_eq!(
        (&shown["actions"], &shown["signatures_checked"]),
        (&json!(10), &json!(9))
    );
    assert!(shown["not_shown"]["signatures"].is_string(), "{shown}");

    as_it_was(&scene, id, (early, sequence));
    // What the log never made has no history.
    let nothing = "obj_5yrzzxc7r7qyrbt578rhejqh4m".parse().unwrap();
    let shown = done_json(&mut scene.ask(nothing, "nothing.json"));
    assert_eq!(shown["present"], false);
}

/// Verifies an object as of an earlier checkpoint, of so many batches, before its last two actions.
fn as_it_was(scene: &Scene, id: Id, (early, sequence): (u64, u64)) {
    // The server's list has the actions since then.
    let mut then = scene.ask(id, "then.json");
    then.args(["--checkpoint", &early.to_string()]);
    let then = done_json(&mut then);
    assert_eq!(
        (&then["actions"], &then["last_sequence"]),
        (&json!(8), &json!(sequence))
    );
    assert_eq!(then["batches"], early);
    // Files may hold later actions too.
    let mut all = answers(&scene.path("then.json"));
    let newer = answers(&scene.path(&format!("{id}.json")));
    all.extend(newer.into_iter().filter(is_proof));
    let all = scene.write("all.json", &all);
    let then = done_json(&mut scene.read(&[all]));
    assert_eq!(
        (&then["actions"], &then["later_actions_left_out"]),
        (&json!(8), &json!(2))
    );
}

/// The honest answers about an object, to change them.
struct HonestAnswers<'a> {
    scene: &'a Scene,
    all: Vec<Value>,
}

impl HonestAnswers<'_> {
    /// Expects that changed answers are refused with these words.
    fn refused(&self, change: &dyn Fn(&mut Vec<Value>), expected: &[&str]) {
        let mut changed = self.all.clone();
        change(&mut changed);
        let path = self.scene.write("changed.json", &changed);
        let error = refused(&mut self.scene.read(&[path]), 1);
        for part in expected {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    fn place(&self, kind: &str) -> usize {
        proof_of(&self.all, kind)
    }

    fn change_state(&self) {
        self.refused(
            &|all| all[0]["fields"]["status"] = json!("locked"),
            &["status: the answer says \"locked\", the proof shows \"active\""],
        );
        self.refused(
            &|all| all[0]["texts"]["properties"] = json!("{}"),
            &["texts.properties: the answer says \"{}\""],
        );
        self.refused(
            &|all| all.push(json!({"items": []})),
            &["value", "not a state proof, a proof file"],
        );
    }

    fn change_actions(&self) {
        for (kind, version) in [("mint", 1), ("emit", 5), ("unlock", 8)] {
            let made = format!("the action that made version {version}");
            self.refused(
                &|all| drop(all.remove(self.place(kind))),
                &[&made, "is missing"],
            );
        }
        let (update, lock) = (self.place("update"), self.place("lock"));
        self.refused(
            &|all| all[update]["action"]["payload"] = json!("{\"properties\":{}}"),
            &["the action's words do not hash to the leaf's content"],
        );
        self.refused(
            &|all| all[update]["authorship"]["nonce"] = json!("7777"),
            &["authorship"],
        );
        self.refused(
            &|all| all[lock]["leaf"]["previous_integrity"] = json!(Hash::ZERO),
            &["the integrity does not follow"],
        );
    }

    fn leave_out(&self) {
        self.refused(
            &|all| all.retain(|answer| answer["first_root"].is_null()),
            &["the consistency proof from", "GET /consistency?from="],
        );
        for of in ["template_id", "variation_id"] {
            let of = &self.all[0]["fields"][of];
            self.refused(
                &|all| all.retain(|answer| answer["key"] != *of),
                &["the replay needs the state proof of", of.as_str().unwrap()],
            );
        }
        // Without its own state proof the first one is another resource's, of which there is no action.
        let key = &self.all[0]["key"];
        self.refused(
            &|all| all.retain(|answer| answer["key"] != *key),
            &["is missing"],
        );
    }
}

// Holds invariant 267.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_answers_are_refused_with_what_is_wrong() {
    let scene = Scene::start("changed answers").await;
    let (id, sequence) = changed_object(&scene).await;
    scene.verified(id, sequence).await;
    let all = answers(&scene.path(&format!("{id}.json")));
    assert_eq!(all[0]["key"], json!(id));
    let honest = HonestAnswers { scene: &scene, all };
    honest.change_state();
    honest.change_actions();
    honest.leave_out();

    // An action of another object, with everything that places it in the same log.
    let template = honest.all[0]["fields"]["template_id"].as_str().unwrap();
    let template: Id = template.parse().unwrap();
    let other = scene.account.mint(template, &NewObject::default()).await;
    let other = other.unwrap().resource;
    scene.covered(other.id, other.sequence).await;
    done_json(&mut scene.ask(other.id, "other.json"));
    let later = answers(&scene.path("other.json"));
    let batches = later[0]["checkpoint"]["checkpoint"]["batches"].to_string();
    let mut same = scene.ask(id, "same.json");
    let shown = done_json(same.args(["--checkpoint", &batches]));
    let mut mixed = answers(&scene.path("same.json"));
    let proofs = later.iter().filter(|answer| answer["key"].is_null());
    mixed.extend(proofs.cloned());
    let path = scene.write("mixed.json", &mixed);
    let error = refused(&mut scene.read(std::slice::from_ref(&path)), 1);
    let expected = format!("not on {id}, at sequence {}", other.sequence);
    assert!(error.contains(&expected), "{error}");
    // With its own state it is another resource of the files.
    mixed.push(later[0].clone());
    let path = scene.write("both.json", &mixed);
    let both = done_json(&mut scene.read(&[path]));
    assert_eq!(both["actions"], shown["actions"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_confirms_an_anchored_history() {
    let port = free_port();
    let chain = format!("127.0.0.1:{port}");
    let scene = Scene::start_with("anchored history", |setup| {
        let setup = setup.set("anchor_interval_s", 1);
        setup.set("embedded_chain_listen", &chain)
    });
    let scene = scene.await;
    let (id, sequence) = changed_object(&scene).await;
    let anchored = || async {
        let query = StateQuery::over(sequence);
        let answer = scene.account.state_as_sent(id, query).await.unwrap();
        answer.anchor.map(|_| answer.checkpoint.checkpoint.batches)
    };
    let batches = eventually("the state is anchored", PATIENCE, anchored).await;
    let mut ask = scene.ask(id, "anchored.json");
    ask.args(["--checkpoint", &batches.to_string()]);
    let shown = done_json(&mut ask);
    assert_eq!(shown["actions"], 8);
    let rpc = format!("http://{chain}");
    let mut read = scene.read(&[scene.path("anchored.json")]);
    let shown = done_json(read.args(["--rpc", &rpc]));
    let said = shown["anchored"].as_str().unwrap();
    assert!(said.contains("asked at the finalized block"), "{said}");
    // Files of one anchored checkpoint need no proof between neighbouring sizes.
    let answers = answers(&scene.path("anchored.json"));
    let between = answers
        .iter()
        .filter(|answer| !answer["first_root"].is_null());
    for answer in between {
        let (from, to) = (
            answer["from"].as_u64().unwrap(),
            answer["to"].as_u64().unwrap(),
        );
        assert!(from == batches || to == batches, "{from} to {to}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_says_what_it_needs() {
    let scene = Scene::start("needs").await;
    let (id, _) = changed_object(&scene).await;
    let (url, id) = (scene.setup.url(), id.to_string());
    let mut none = kedge();
    none.args(["verify", "object", &id, "--url", &url]);
    let error = refused(&mut none, 2);
    assert!(error.contains("--token-file or --api-key-file"), "{error}");
    let mut two = scene.read(&[]);
    two.args([&id, &id]);
    assert!(refused(&mut two, 2).contains("name one resource"));
    let mut nowhere = scene.read(&[]);
    nowhere.arg(&id);
    assert!(refused(&mut nowhere, 2).contains("name the server to ask"));
    let mut both = scene.read(&[scene.path("token")]);
    both.args(["--server", &url]);
    assert!(refused(&mut both, 2).contains("--server is for a history"));
    let mut absent = scene.read(&[scene.path("absent.json")]);
    assert!(refused(&mut absent, 2).contains("absent.json"));
    let mut text = scene.read(&[scene.path("token")]);
    assert!(refused(&mut text, 1).contains("token"));
}

// Holds invariant 267.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_templates_history_gives_its_state_and_what_was_made_from_it() {
    let scene = Scene::start("templates").await;
    let account = scene.account.clone();
    // A template that changes while no object of it lives, and an object that was minted before.
    let new = NewTemplate {
        name: "card".to_owned(),
        properties: object(json!({"kind": "first"})),
        ..NewTemplate::default()
    };
    let template = account.create_template(&new).await.unwrap().resource.id;
    let minted = account
        .mint(template, &NewObject::default())
        .await
        .unwrap()
        .resource
        .id;
    let burned = scene.act(Kind::Burn, minted, &json!({})).await;
    let change = TemplateChange {
        properties: Some(object(json!({"kind": "second"}))),
        ..TemplateChange::default()
    };
    account.update_template(template, &change).await.unwrap();
    let variations: Vec<NewVariation> = ["one", "two"]
        .map(|name| NewVariation {
            name: name.to_owned(),
            properties: object(json!({"name": name})),
        })
        .into();
    let made = account
        .create_variations(template, &variations)
        .await
        .unwrap();
    let last = account.action(made.action_id).await.unwrap().sequence;
    let shown = scene.verified(template, last).await;
    assert_eq!(shown["actions"], 3);
    assert_eq!(
        shown["texts_compared"],
        json!(["properties", "rules", "schema"])
    );
    let shown = scene.verified(minted, burned).await;
    assert_eq!(shown["actions"], 2);
    assert_eq!(shown["texts_compared"], json!(["properties"]));
    let second = made.resource.items[1].id;
    let shown = scene.verified(second, last).await;
    assert_eq!(shown["texts_compared"], json!(["name", "properties"]));
}

// Holds invariant 267.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_keeps_a_history_that_gives_its_state() {
    let mut scene = Scene::start("deleted resources").await;
    let account = scene.account.clone();
    let webhook = NewWebhook {
        url: "https://example.com/hook".to_owned(),
        events: vec!["*".to_owned()],
        active: true,
        description: String::new(),
    };
    let webhook = account.create_webhook(&webhook).await.unwrap().resource.id;
    let off = WebhookChange {
        active: Some(false),
        ..WebhookChange::default()
    };
    account.update_webhook(webhook, &off).await.unwrap();
    let deleted = account.delete_webhook(webhook).await.unwrap().action_id;
    let key = NewApiKey {
        name: "reader".to_owned(),
        permissions: vec![Permission {
            resource: Area::Objects,
            crud: Crud {
                read: true,
                ..Crud::default()
            },
        }],
        expires_at: None,
    };
    let key = account
        .create_api_key(&key)
        .await
        .unwrap()
        .resource
        .api_key
        .id;
    let ended = account.delete_api_key(key).await.unwrap().action_id;
    let stored = account.upload("letter.txt", b"dear reader").await.unwrap();
    let wallet = account.me().await.unwrap();
    let added = account
        .add_signer(&scene.rng.key())
        .await
        .unwrap()
        .action_id;
    let invitation = NewInvitation {
        email: None,
        role: None,
        expires_in_s: None,
    };
    let invited = account
        .invite(wallet.organization_id, &invitation)
        .await
        .unwrap();
    for (id, action, actions) in [
        (webhook, deleted, 3),
        (key, ended, 2),
        (stored.resource.id, stored.action_id, 1),
        (wallet.id, added, 2),
        (wallet.organization_id, invited.action_id, 2),
    ] {
        let sequence = account.action(action).await.unwrap().sequence;
        let shown = scene.verified(id, sequence).await;
        assert_eq!(shown["actions"], actions, "{shown}");
        assert_eq!(shown["signatures_checked"], actions, "{shown}");
    }
}

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
        let leaves = self.0.range(*first..=*last);
        leaves.for_each(|(path, value)| each(path, value));
        Ok(())
    }
}

/// The state proofs of a sequencer that signs another state: `lie` changes the entry and the texts of the first one.
fn signed_lie(
    scene: &Scene,
    honest: &[StateAnswer],
    lie: &dyn Fn(&mut StateEntry, &mut StateTexts),
) -> Vec<Value> {
    let checkpoint = honest[0].checkpoint.checkpoint;
    let mut entries: Vec<(Id, StateEntry, StateTexts)> = honest
        .iter()
        .map(|answer| {
            let entry = StateEntry::decode(&answer.key, &answer.entry, checkpoint.sequence);
            (answer.key, entry.unwrap(), answer.texts.clone())
        })
        .collect();
    let (_, entry, texts) = &mut entries[0];
    lie(entry, texts);
    let leaf =
        |(id, entry, _): &(Id, StateEntry, StateTexts)| (state_path(id), keccak(&entry.to_bytes()));
    let leaves = Leaves(entries.iter().map(leaf).collect());
    let paths: Vec<Hash> = leaves.0.keys().copied().collect();
    let proven = prove_state(&leaves, &leaves, &paths).unwrap().unwrap();
    let key = scene.setup.data().join("keys/sequencer.key");
    let key = secrets::development_key(&key).unwrap();
    let checkpoint = Checkpoint {
        state: proven.root,
        ..checkpoint
    };
    let digest = checkpoint.digest(&scene.account.client().domain().separator());
    let signed = SignedCheckpoint {
        checkpoint,
        signature: key.sign(&digest),
    };
    let answers = entries.into_iter().map(|(key, entry, texts)| {
        let place = paths.binary_search(&state_path(&key)).unwrap();
        let proof = StateProof {
            key,
            entry: entry.to_bytes(),
            nodes: proven.nodes[place].clone(),
        };
        let answer = StateAnswer::new(proof, texts, (signed, None)).unwrap();
        serde_json::to_value(answer).unwrap()
    });
    answers.collect()
}

/// The state proofs of an object and of what is around it, to sign others in their place.
struct SignedLies<'a> {
    scene: &'a Scene,
    states: Vec<StateAnswer>,
    /// The other answers.
    rest: Vec<Value>,
}

impl SignedLies<'_> {
    fn write(&self, name: &str, lie: &dyn Fn(&mut StateEntry, &mut StateTexts)) -> PathBuf {
        let mut all = signed_lie(self.scene, &self.states, lie);
        all.extend(self.rest.iter().cloned());
        self.scene.write(name, &all)
    }

    /// Expects that a lie is refused with these words.
    fn refused(&self, lie: &dyn Fn(&mut StateEntry, &mut StateTexts), expected: &[&str]) {
        let path = self.write("lie.json", lie);
        let error = refused(&mut self.scene.read(&[path]), 1);
        for part in expected {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    fn about_fields(&self) {
        let stranger = Id::of_hash(Prefix::Wallet, &keccak(b"stranger"));
        self.refused(
            &|entry, texts| {
                let object = object_in(entry);
                object.status = ObjectStatus::Locked;
                object.properties_hash = keccak(b"{\"price\":1}");
                texts.properties = Some("{\"price\":1}".to_owned());
            },
            &[
                "status: the state says \"locked\", the history gives \"active\"",
                "properties_hash: the state says",
                "texts.properties: the state says \"{\\\"price\\\":1}\", the history gives",
            ],
        );
        self.refused(
            &|entry, _| object_in(entry).owner_id = stranger,
            &["owner_id: the state says", "the history gives"],
        );
        self.refused(
            &|entry, _| object_in(entry).variation_id = None,
            &["variation_id: the state says null, the history gives"],
        );
    }

    fn about_actions(&self) {
        self.refused(
            &|entry, _| entry.version += 1,
            &["says version 9, but its integrity is that of 8 actions"],
        );
        self.refused(
            &|entry, _| entry.version -= 1,
            &["says version 7, but its integrity is that of more actions"],
        );
        self.refused(
            &|entry, _| entry.sequence -= 1,
            &["says that its last action is at sequence"],
        );
        // The state as it was before the last action.
        let lock = &self.rest[proof_of(&self.rest, "lock")]["leaf"];
        let then = lock["sequence"].as_u64().unwrap();
        let integrity: Hash = lock["integrity"].as_str().unwrap().parse().unwrap();
        self.refused(
            &|entry, _| {
                (entry.version, entry.sequence, entry.integrity) = (7, then, integrity);
                object_in(entry).status = ObjectStatus::Locked;
            },
            &["ignores the action at sequence", "evidence"],
        );
    }
}

fn object_in(entry: &mut StateEntry) -> &mut ObjectEntry {
    match &mut entry.fields {
        EntryFields::Object(object) => object,
        other => panic!("{other:?}"),
    }
}

// Holds invariant 267.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_state_that_the_history_does_not_make_is_shown_by_field() {
    let scene = Scene::start("signed lies").await;
    let (id, sequence) = changed_object(&scene).await;
    scene.verified(id, sequence).await;
    let honest = answers(&scene.path(&format!("{id}.json"))).into_iter();
    let (states, rest): (Vec<Value>, Vec<Value>) =
        honest.partition(|answer| !answer["key"].is_null());
    let states = states.into_iter().map(serde_json::from_value);
    let lies = SignedLies {
        scene: &scene,
        states: states.map(Result::unwrap).collect(),
        rest,
    };
    let path = lies.write("as_is.json", &|_, _| {});
    done_json(&mut scene.read(&[path]));
    lies.about_fields();
    lies.about_actions();
}
