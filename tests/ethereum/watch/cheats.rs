//! What a cheating sequencer signs: a log for each fault of the state, bent from a true one.

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::resource::ObjectStatus;
use kedge_protocol::{Hash, Id};
use serde_json::{Value, json};

use super::faulty::Show;
use super::scene::{SceneLog, SceneMember, SignedState};
use super::signed_log::key;

/// Two members with their organizations, a template of the first one's, and an object of it.
pub(crate) struct CheatedLog {
    pub(crate) scene: SceneLog,
    pub(crate) ann: SceneMember,
    bob: SceneMember,
    pub(crate) template: Id,
    pub(crate) object: Id,
    /// Answers that Ann kept.
    pub(crate) given: Vec<Value>,
    /// Ids whose state the sequencer does not show.
    pub(crate) hidden: Vec<Id>,
}

impl CheatedLog {
    fn new() -> Self {
        let mut scene = SceneLog::default();
        let (ann, bob) = (scene.register(21), scene.register(22));
        let template = scene.template(&ann);
        let object = scene.mint(&ann, template);
        Self {
            scene,
            ann,
            bob,
            template,
            object,
            given: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Ann keeps the present state of these ids.
    pub(crate) fn keep(&mut self, ids: &[Id]) {
        let state = self.scene.sign();
        let answers = ids.iter().map(|id| json!(state.answer(*id)));
        self.given.extend(answers);
    }

    /// What the sequencer shows with its present state.
    fn shows(self) -> Show {
        let state = self.scene.sign();
        self.shows_at(state.checkpoint, Some(state))
    }

    fn shows_at(self, checkpoint: SignedCheckpoint, state: Option<SignedState>) -> Show {
        Show {
            organization_id: Some(self.ann.organization),
            states: state.into_iter().collect(),
            hidden: self.hidden,
            given: self.given,
            ..Show::of_requests(self.scene.log, self.scene.requests, checkpoint)
        }
    }
}

/// Changes the state of a new log, and shows it.
pub(crate) fn bent(bend: impl FnOnce(&mut CheatedLog)) -> Show {
    let mut log = CheatedLog::new();
    bend(&mut log);
    log.shows()
}

/// Every fault of the state, some in several forms that the judges tell by different functions: its name, and what a
/// sequencer that commits it shows.
pub(crate) fn state_faults() -> Vec<(&'static str, Show)> {
    let all = [
        faults_of_kept_entries(),
        faults_of_entries(),
        faults_of_leaves(),
        faults_of_signers(),
        further_forms(),
    ];
    all.into_iter().flatten().collect()
}

/// Faults that entries of an object show next to what Ann kept of it.
fn faults_of_kept_entries() -> Vec<(&'static str, Show)> {
    let kept = |bend: fn(&mut CheatedLog)| {
        bent(|log| {
            log.keep(&[log.object]);
            // Nothing of the object's own is known but its entries.
            let (ann, template) = (&log.ann, log.template);
            log.scene.mint(ann, template);
            log.scene.requests.clear();
            bend(log);
        })
    };
    vec![
        (
            "malformed_state",
            kept(|log| {
                log.scene.bytes.insert(log.object, vec![0xc0]);
            }),
        ),
        (
            "rewritten_state",
            kept(|log| {
                log.scene.entries.remove(&log.object);
            }),
        ),
        (
            "lone_step",
            kept(|log| {
                let entry = log.scene.entries.get_mut(&log.object).unwrap();
                (entry.sequence, entry.integrity) = (5, Hash([9; 32]));
            }),
        ),
        (
            "two_faced_state",
            kept(|log| {
                let locked = ObjectStatus::Locked;
                log.scene
                    .bend_object(log.object, |object| object.status = locked);
            }),
        ),
        (
            "changed_constant",
            kept(|log| {
                let entry = log.scene.entries.get_mut(&log.object).unwrap();
                (entry.version, entry.sequence, entry.integrity) = (2, 5, Hash([9; 32]));
                log.scene
                    .bend_object(log.object, |object| object.serial = 2);
            }),
        ),
    ]
}

/// Faults that entries show next to those of other ids, and faults of checkpoints and tries.
fn faults_of_entries() -> Vec<(&'static str, Show)> {
    let unrooted = {
        let mut log = CheatedLog::new();
        log.keep(&[log.object]);
        log.scene.mint(&log.ann, log.template);
        let checkpoint = log.scene.checkpoint(Hash::ZERO);
        log.shows_at(checkpoint, None)
    };
    let broken = {
        let log = CheatedLog::new();
        let state = log.scene.sign_broken();
        log.shows_at(state.checkpoint, Some(state))
    };
    vec![
        ("unrooted_checkpoint", unrooted),
        ("broken_trie", broken),
        ("twin_state", twin_state()),
        (
            "false_address",
            bent(|log| {
                let address = key(23).address();
                log.scene
                    .bend_object(log.object, |object| object.owner_address = address);
            }),
        ),
        (
            "oversupply",
            bent(|log| {
                log.scene
                    .bend_template(log.template, |template| template.minted_count = 0);
            }),
        ),
    ]
}

/// Two objects of whose actions nothing is known have one integrity.
fn twin_state() -> Show {
    bent(|log| {
        let other = log.scene.mint(&log.ann, log.template);
        log.scene.requests.clear();
        log.keep(&[log.object]);
        let integrity = log.scene.entries[&log.object].integrity;
        log.scene.step(&log.ann, "emit", other);
        log.scene.requests.clear();
        log.scene.entries.get_mut(&other).unwrap().integrity = integrity;
        let state = log.scene.sign();
        log.given.push(json!(state.answer(other)));
    })
}

/// Faults that entries and leaves show.
fn faults_of_leaves() -> Vec<(&'static str, Show)> {
    vec![
        (
            "stale_state",
            bent(|log| {
                let before = log.scene.entries[&log.object].clone();
                log.scene.step(&log.ann, "update", log.object);
                log.scene.entries.insert(log.object, before);
            }),
        ),
        (
            "false_entry",
            bent(|log| {
                // It should be locked.
                log.scene.step(&log.ann, "lock", log.object);
            }),
        ),
        (
            "missing_state",
            bent(|log| {
                let second = log.scene.mint(&log.ann, log.template);
                log.scene.entries.remove(&second);
            }),
        ),
        (
            "false_owner",
            bent(|log| {
                log.keep(&[log.object]);
                log.scene.step(&log.ann, "emit", log.object);
                let (owner, address) = (log.bob.wallet, log.bob.key.address());
                log.scene.bend_object(log.object, |object| {
                    (object.owner_id, object.owner_address) = (owner, address);
                });
            }),
        ),
        (
            "hidden_change",
            bent(|log| {
                log.keep(&[log.object]);
                log.scene.step(&log.ann, "emit", log.object);
                let hash = Hash([9; 32]);
                log.scene
                    .bend_object(log.object, |object| object.properties_hash = hash);
            }),
        ),
        (
            "false_keys",
            bent(|log| {
                log.keep(&[log.ann.wallet]);
                log.scene.step(&log.ann, "wallet.update", log.ann.wallet);
                let stolen = key(23).address();
                log.scene.bend_wallet(log.ann.wallet, |wallet| {
                    wallet.keys.push(stolen);
                    wallet.keys.sort();
                });
            }),
        ),
        (
            "false_version",
            bent(|log| {
                log.keep(&[log.ann.wallet]);
                log.scene.mint(&log.ann, log.template);
                log.scene.step(&log.ann, "wallet.update", log.ann.wallet);
                let entry = log.scene.entries.get_mut(&log.ann.wallet).unwrap();
                entry.version += 1;
            }),
        ),
    ]
}

/// Faults of actions whose signer had no right to them.
fn faults_of_signers() -> Vec<(&'static str, Show)> {
    vec![
        (
            "trespass",
            bent(|log| {
                log.keep(&[log.object, log.template]);
                log.scene.step(&log.bob, "update", log.object);
            }),
        ),
        (
            "foreign_hand",
            bent(|log| {
                let api_key = log.scene.api_key(&log.ann, log.ann.organization);
                log.keep(&[api_key]);
                log.scene.step(&log.bob, "key.rotate", api_key);
            }),
        ),
        (
            "dead_hand",
            bent(|log| {
                log.scene.step(&log.ann, "burn", log.object);
                log.scene
                    .bend_object(log.object, |object| object.status = ObjectStatus::Burned);
                log.scene
                    .bend_template(log.template, |template| template.burned_count = 1);
                log.keep(&[log.object]);
                log.scene.step(&log.ann, "update", log.object);
                log.hidden.push(log.object);
            }),
        ),
        (
            "foreign_maker",
            bent(|log| {
                log.scene.api_key(&log.bob, log.ann.organization);
            }),
        ),
        (
            "foreign_mint",
            bent(|log| {
                log.scene.mint(&log.bob, log.template);
            }),
        ),
        (
            "live_update",
            bent(|log| {
                log.scene.step(&log.ann, "template.update", log.template);
            }),
        ),
        (
            "ghost_member",
            bent(|log| {
                let payload = format!("{{\"wallet_id\":\"{}\"}}", log.bob.wallet);
                let removal = ("org.member_remove", payload.as_str());
                log.scene.step_with(&log.ann, removal, log.ann.organization);
            }),
        ),
    ]
}

/// Further forms of the same faults.
fn further_forms() -> Vec<(&'static str, Show)> {
    let minted_for_another = bent(|log| {
        let (owner, address) = (log.bob.wallet, log.bob.key.address());
        log.scene.bend_object(log.object, |object| {
            (object.owner_id, object.owner_address) = (owner, address);
        });
    });
    let registered_by_another = bent(|log| {
        let address = key(23).address();
        log.scene
            .bend_wallet(log.ann.wallet, |wallet| wallet.address = address);
        log.scene
            .bend_object(log.object, |object| object.owner_address = address);
    });
    let shared_address = bent(|log| {
        // Nothing is known of this wallet but its entry.
        let other = log.scene.register(23).wallet;
        log.scene.requests.pop();
        let address = log.ann.key.address();
        log.scene
            .bend_wallet(other, |wallet| wallet.address = address);
        log.keep(&[other]);
    });
    let another_organization = bent(|log| {
        let organization = log.bob.organization;
        log.scene
            .bend_object(log.object, |object| object.organization_id = organization);
    });
    let unruled_kind = bent(|log| {
        log.keep(&[log.object, log.template]);
        log.scene.step(&log.ann, "x.paint", log.object);
    });
    let repeated_serial = bent(|log| {
        let second = log.scene.mint(&log.ann, log.template);
        log.scene.bend_object(second, |object| object.serial = 1);
    });
    vec![
        ("false_entry", minted_for_another),
        ("false_entry", registered_by_another),
        ("false_address", shared_address),
        ("false_address", another_organization),
        ("trespass", unruled_kind),
        ("oversupply", repeated_serial),
    ]
}
