//! A log that wallets write, one action at a time: each record states the result of the rules.

use kedge_protocol::action::Kind;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::registry::ActionSubject;
use kedge_protocol::resource::{Invitation, ResourceTrace, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::resources::{self, RuleDecision};
use kedge_rules::rights::check_role;
use kedge_rules::{ActionInput, Caller, OPERATOR, Refusal, registration};

use crate::world::{Place, Words, action, request};

/// The operator's signing address.
pub(crate) const OPERATORS: Address = Address([0x0b; 20]);

/// The wallets of [`house`].
pub(crate) const ANN: Address = Address([1; 20]);
pub(crate) const MEMBER: Address = Address([2; 20]);
pub(crate) const STRANGER: Address = Address([3; 20]);

pub(crate) struct Log {
    pub(crate) state: FoldState,
    pub(crate) sequence: u64,
    /// The placed records.
    pub(crate) records: Vec<RequestRecord<'static>>,
}

/// Pointers and codes of a wrong payload's errors.
#[track_caller]
pub(crate) fn places<T: std::fmt::Debug>(done: Result<T, Refusal>) -> Vec<(String, String)> {
    let Err(Refusal::Invalid(fields)) = done else {
        panic!("a wrong payload was expected, not {done:?}")
    };
    fields
        .into_iter()
        .map(|field| (field.pointer, field.code.into_owned()))
        .collect()
}

#[track_caller]
pub(crate) fn wrong<T: std::fmt::Debug>(done: Result<T, Refusal>, expected: &[(&str, &str)]) {
    let found = places(done);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(pointer, code)| (pointer.as_str(), code.as_str()))
        .collect();
    assert_eq!(found, expected);
}

/// Kind of a refusal, in a word.
#[track_caller]
pub(crate) fn why<T: std::fmt::Debug>(done: Result<T, Refusal>) -> &'static str {
    match done {
        Err(Refusal::NotFound { .. }) => "not found",
        Err(Refusal::Forbidden(_)) => "forbidden",
        Err(Refusal::State(_)) => "state",
        Err(Refusal::Conflict(_)) => "conflict",
        Err(Refusal::EmailTaken) => "e-mail taken",
        Err(Refusal::Invalid(_)) => "invalid",
        Err(Refusal::ObjectTooLarge { .. }) => "too large",
        Ok(_) => "done",
        other => panic!("{other:?}"),
    }
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            state: FoldState::new(vec![OPERATORS]),
            sequence: 0,
            records: Vec::new(),
        }
    }

    pub(crate) fn wallet(&self, signer: Address) -> Wallet {
        let mut wallets = self.state.wallets.values();
        let found = wallets.find(|wallet| wallet.keys.contains(&signer));
        found.unwrap().clone()
    }

    pub(crate) fn caller(&self, signer: Address) -> Caller {
        let wallet = self.wallet(signer);
        Caller {
            wallet_id: wallet.id,
            organization_id: wallet.organization_id,
            role: wallet.role,
            address: wallet.address,
        }
    }

    /// The record of an action requested by the wallet of `signer`, or by the operator.
    fn record(&mut self, signer: Address, words: &Words) -> RequestRecord<'static> {
        let next = self.sequence + 1;
        let wallet = (words.kind != Kind::WalletRegister && signer != OPERATORS)
            .then(|| self.wallet(signer));
        let mut record = request(signer, wallet.as_ref(), next, next);
        if signer == OPERATORS {
            record.wallet_id = OPERATOR;
        }
        record.actions.push(action(words, 0, Place::none()));
        let content = record.content(&record.actions[0]);
        let made = |prefix| Id::made_by(prefix, &content, 0);
        let resource = match words.kind.spec().acts_on {
            ActionSubject::Resource(prefix) => Id::parse_as(prefix, &words.target),
            ActionSubject::Object(_) => Id::parse_as(Prefix::Object, &words.target),
            ActionSubject::New(Prefix::Action) => Ok(Id::of_hash(Prefix::Action, &content)),
            ActionSubject::New(prefix) => Ok(made(prefix)),
        };
        // An action that names no resource is refused before this one is compared.
        let resource = resource.unwrap_or(OPERATOR);
        let trace = self.trace(resource);
        let place = Place {
            resource,
            version: trace.version + 1,
            previous_integrity: trace.integrity,
            previous_sequence: trace.sequence,
        };
        record.actions[0] = action(words, 0, place);
        record
    }

    pub(crate) fn trace(&mut self, id: Id) -> ResourceTrace {
        let object = self.state.objects.get(&id).map(|object| object.trace);
        let image = || self.state.image(id).unwrap()?.trace().copied();
        object.or_else(image).unwrap_or(ResourceTrace::NEW)
    }

    /// Decides an action, and places it if it is allowed: the fold must come to the same decision. For objects only the
    /// fold decides.
    pub(crate) fn act(
        &mut self,
        signer: Address,
        kind: &Kind,
        target: &str,
        payload: &str,
    ) -> Result<RuleDecision, Refusal> {
        let words = Words {
            kind: kind.clone(),
            target: target.to_owned(),
            payload: payload.to_owned(),
        };
        let record = self.record(signer, &words);
        let content = record.content(&record.actions[0]);
        let input = ActionInput {
            link: None,
            allowance: None,
            kind,
            target,
            payload,
            signed: payload,
            content: &content,
        };
        let decided = match kind {
            Kind::WalletRegister => Some(registration::register(&self.state, &signer, &input)),
            kind if kind.is_bus() => None,
            kind => Some(self.decide(signer, kind, &input)),
        };
        let mut wallets = self.state.wallets.values();
        let role = wallets.find(|wallet| wallet.keys.contains(&signer));
        let role = role.map(|wallet| wallet.role);
        let images = match (self.state.apply(&record), &decided) {
            (Ok(mut images), _) => images.remove(0),
            (Err(FoldError::Refused { refusal, .. }), Some(decided)) => {
                assert_eq!(Some(&refusal), decided.as_ref().err());
                return Err(refusal);
            }
            (Err(FoldError::Refused { refusal, .. }), None) => return Err(refusal),
            (Err(error), _) => panic!("{error}"),
        };
        self.sequence = record.first_sequence;
        let mut decision = decided.unwrap_or_else(|| {
            Ok(RuleDecision {
                images: images.clone(),
                claims: Vec::new(),
                releases: Vec::new(),
                reads: Vec::new(),
            })
        })?;
        let refused = role.and_then(|role| check_role(kind, role, payload).err());
        assert_eq!(refused, None, "a role may do what the rules let it do");
        ResourceState::place_all(&mut decision.images, self.sequence, record.timestamp_ms);
        assert_eq!(decision.images, images);
        let trace = images[0].trace().unwrap();
        assert_eq!(
            (trace.sequence, trace.updated_at_ms),
            (self.sequence, record.timestamp_ms)
        );
        self.records.push(record);
        Ok(decision)
    }

    fn decide(
        &mut self,
        signer: Address,
        kind: &Kind,
        input: &ActionInput<'_>,
    ) -> Result<RuleDecision, Refusal> {
        let caller = if signer == OPERATORS {
            let organization = Id::made_by(Prefix::Organization, &Hash::ZERO, 0);
            Caller::operator(organization, signer)
        } else {
            self.caller(signer)
        };
        let base = match resources::base_id(kind, input.target)? {
            None => None,
            Some(id) => {
                let found = self.state.image(id)?;
                Some(found.ok_or_else(|| Refusal::not_found("resource", input.target))?)
            }
        };
        resources::decide(&self.state, &caller, base.as_ref(), input)
    }

    /// Registers a wallet, with further members of the payload.
    pub(crate) fn register(
        &mut self,
        signer: Address,
        email: &str,
        more: &str,
    ) -> Result<RuleDecision, Refusal> {
        let payload = format!(r#"{{"email":"{email}","address":"{signer}"{more}}}"#);
        self.act(signer, &Kind::WalletRegister, "", &payload)
    }
}

/// The resource of this type in a decision.
#[track_caller]
pub(crate) fn left<'a, T>(decision: &'a RuleDecision) -> &'a T
where
    &'a T: TryFrom<&'a ResourceState>,
{
    let mut found = decision
        .images
        .iter()
        .filter_map(|image| image.try_into().ok());
    found.next().unwrap()
}

/// An organization with an owner and a member, and another one.
pub(crate) fn house() -> Log {
    let mut log = Log::new();
    log.register(ANN, "ann@example.com", "").unwrap();
    log.register(STRANGER, "stranger@example.com", "").unwrap();
    let organization = log.wallet(ANN).organization_id.to_string();
    let done = log.act(ANN, &Kind::OrgInvite, &organization, "{}").unwrap();
    let invitation = format!(r#","invitation":"{}""#, left::<Invitation>(&done).id);
    log.register(MEMBER, "member@example.com", &invitation)
        .unwrap();
    log
}
