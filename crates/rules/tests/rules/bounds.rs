//! The limit of an organization's API keys, over a whole log.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::KEYS_MAX;
use kedge_protocol::resource::Wallet;
use kedge_protocol::{Address, Id, Prefix};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::resources::{self, RuleDecision};
use kedge_rules::{ActionInput, Caller, Refusal};

use crate::world::{Place, Words, action, request};

const SIGNER: Address = Address([7; 20]);
const KEY: &str = r#"{"name":"robot","permissions":[{"resource":"objects","crud":{"create":false,"read":true,"update":false,"delete":false}}]}"#;

/// A log with one wallet.
struct Log {
    state: FoldState,
    sequence: u64,
}

impl Log {
    fn wallet(&self) -> Option<&Wallet> {
        self.state.wallets.values().next()
    }

    /// Places an action; `resource` returns its resource, by its content, and the trace.
    fn place(
        &mut self,
        kind: Kind,
        (target, payload): (&str, &str),
        resource: Option<Place>,
    ) -> Result<Id, FoldError> {
        let next = self.sequence + 1;
        let mut record = request(SIGNER, self.wallet(), next, next);
        let prefix = match kind {
            Kind::WalletRegister => Prefix::Wallet,
            _ => Prefix::Key,
        };
        let words = Words {
            kind,
            target: target.to_owned(),
            payload: payload.to_owned(),
        };
        record.actions.push(action(&words, 0, Place::none()));
        let content = record.content(&record.actions[0]);
        let made = Place {
            resource: Id::made_by(prefix, &content, 0),
            ..Place::none()
        };
        let place = resource.unwrap_or(made);
        record.actions[0] = action(&words, 0, place);
        self.state.apply(&record)?;
        self.sequence = next;
        Ok(place.resource)
    }

    fn new_key(&mut self) -> Result<Id, FoldError> {
        self.place(Kind::KeyCreate, ("", KEY), None)
    }

    fn end_key(&mut self, id: Id) {
        let trace = *self.state.others[&id].trace().unwrap();
        let place = Place {
            resource: id,
            version: trace.version + 1,
            previous_integrity: trace.integrity,
            previous_sequence: trace.sequence,
        };
        let target = id.to_string();
        self.place(Kind::KeyDelete, (&target, ""), Some(place))
            .unwrap();
    }

    fn decide(&self, content: u8) -> RuleDecision {
        let wallet = self.wallet().unwrap();
        let caller = Caller {
            wallet_id: wallet.id,
            organization_id: wallet.organization_id,
            role: wallet.role,
            address: wallet.address,
        };
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &Kind::KeyCreate,
            target: "",
            payload: KEY,
            signed: KEY,
            content: &kedge_protocol::Hash([content; 32]),
        };
        resources::decide(&self.state, &caller, None, &input).unwrap()
    }
}

// Holds invariant 53.
#[test]
fn live_keys_are_bounded_and_no_two_take_one_place() {
    let mut log = Log {
        state: FoldState::new(Vec::new()),
        sequence: 0,
    };
    let registration = format!(r#"{{"email":"ann@example.com","address":"{SIGNER}"}}"#);
    log.place(Kind::WalletRegister, ("", &registration), None)
        .unwrap();
    // Two decisions on one state: different keys, the same number.
    let (one, other) = (log.decide(1), log.decide(2));
    assert!(matches!(one.images[..], [ResourceState::ApiKey(_)]));
    assert_ne!(one.images, other.images);
    assert_eq!(one.claims.len(), 1);
    assert_eq!(one.claims, other.claims);
    let first = log.new_key().unwrap();
    assert_ne!(log.decide(3).claims, one.claims);
    for _ in 1..KEYS_MAX {
        log.new_key().unwrap();
    }
    let full = log.new_key().unwrap_err();
    assert!(
        matches!(
            full,
            FoldError::Refused {
                refusal: Refusal::State(_),
                ..
            }
        ),
        "{full}"
    );
    // An ended key makes room for another, with a new number.
    log.end_key(first);
    let place = log.decide(4).claims;
    log.new_key().unwrap();
    assert!(log.new_key().is_err());
    assert_ne!(place, one.claims);
}
