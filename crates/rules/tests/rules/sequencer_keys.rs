//! Keys of the sequencer in the log: named by the operator, before their first batch, in order.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::SEQUENCER_KEYS_MAX;
use kedge_protocol::{Address, Hash, Id, KeyActivation, Prefix};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::{OPERATOR, Refusal};

use crate::world::{Place, Words, action, request};

const OPERATORS: Address = Address([0x0b; 20]);
const NEXT: Address = Address([0xd1; 20]);

/// A log that names keys.
struct Log {
    state: FoldState,
    sequence: u64,
}

impl Log {
    fn new() -> Self {
        Self {
            state: FoldState::new(vec![OPERATORS]),
            sequence: 0,
        }
    }

    fn name(
        &mut self,
        signer: Address,
        batch: u64,
        target: &str,
        payload: &str,
    ) -> Result<(), FoldError> {
        let next = self.sequence + 1;
        let mut record = request(signer, None, next, next);
        record.batch_number = batch;
        record.wallet_id = OPERATOR;
        let words = Words {
            kind: Kind::SystemSequencerKey,
            target: target.to_owned(),
            payload: payload.to_owned(),
        };
        record.actions.push(action(&words, 0, Place::none()));
        let content = record.content(&record.actions[0]);
        let place = Place {
            resource: Id::of_hash(Prefix::Action, &content),
            version: 1,
            previous_integrity: Hash::ZERO,
            previous_sequence: 0,
        };
        record.actions[0] = action(&words, 0, place);
        self.state.apply(&record)?;
        self.sequence = next;
        Ok(())
    }

    fn named(&mut self, batch: u64, key: Address, from_batch: u64) -> Result<(), FoldError> {
        let payload = format!(r#"{{"from_batch":{from_batch}}}"#);
        self.name(OPERATORS, batch, &key.to_string(), &payload)
    }

    /// Pointer of the refusal.
    fn refusal(result: Result<(), FoldError>) -> String {
        match result {
            Err(FoldError::Refused { refusal, .. }) => match refusal {
                Refusal::Invalid(fields) => fields[0].pointer.clone(),
                Refusal::NotFound { resource, .. } => resource.into_owned(),
                Refusal::State(_) => "state".to_owned(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

// Holds invariant 100.
#[test]
fn a_key_is_named_before_its_first_batch_by_the_operator_alone() {
    let mut log = Log::new();
    let next = NEXT.to_string();
    let stranger = log.name(Address([9; 20]), 3, &next, r#"{"from_batch":9}"#);
    assert!(
        matches!(stranger, Err(FoldError::Signer { .. })),
        "{stranger:?}"
    );
    for (batch, from_batch) in [(3, 0), (3, 2), (3, 3), (0, 0)] {
        let refused = Log::refusal(log.named(batch, NEXT, from_batch));
        assert_eq!(refused, "/from_batch", "{batch} {from_batch}");
    }
    assert_eq!(Log::refusal(log.named(3, NEXT, 1 << 53)), "/from_batch");
    log.named(3, NEXT, 4).unwrap();
    // The next key begins later than the last, whatever batch holds the action.
    assert_eq!(
        Log::refusal(log.named(3, Address([2; 20]), 4)),
        "/from_batch"
    );
    log.named(3, Address([2; 20]), 5).unwrap();
    let entries: Vec<KeyActivation> = log
        .state
        .sequencer_keys
        .iter()
        .map(|key| key.entry)
        .collect();
    let entry = |key, from_batch| KeyActivation { key, from_batch };
    assert_eq!(entries, [entry(NEXT, 4), entry(Address([2; 20]), 5)]);
    assert_eq!(log.state.sequencer_keys[1].trace.sequence, 2);
    // The largest number that every reader of JSON reads exactly.
    log.named(3, NEXT, (1 << 53) - 1).unwrap();
}

#[test]
fn a_key_is_named_in_one_way() {
    let mut log = Log::new();
    let next = NEXT.to_string();
    let zero = Address::ZERO.to_string();
    for target in ["", "0x", &next.to_lowercase(), &zero, "obj_0"] {
        let refused = log.name(OPERATORS, 0, target, r#"{"from_batch":9}"#);
        assert_eq!(Log::refusal(refused), "sequencer_key", "{target}");
    }
    for (payload, pointer) in [
        ("{}", "/from_batch"),
        (r#"{"from_batch":"9"}"#, "/from_batch"),
        (r#"{"from_batch":9,"until":10}"#, "/until"),
        (r#"{"from_batch":9,"from_batch":9}"#, ""),
        ("[9]", ""),
    ] {
        let refused = log.name(OPERATORS, 0, &next, payload);
        let found = Log::refusal(refused);
        assert!(found.starts_with(pointer), "{payload}: {found}");
    }
    assert!(log.state.sequencer_keys.is_empty());
}

#[test]
fn a_log_has_so_many_keys() {
    let mut log = Log::new();
    for from_batch in 1..SEQUENCER_KEYS_MAX as u64 {
        log.named(0, NEXT, from_batch).unwrap();
    }
    let refused = log.named(0, NEXT, SEQUENCER_KEYS_MAX as u64);
    assert_eq!(Log::refusal(refused), "state");
}
