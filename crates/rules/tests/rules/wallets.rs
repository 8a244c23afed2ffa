//! Wallets: registration, and changes of themselves.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::WALLET_KEYS_MAX;
use kedge_protocol::resource::{Organization, Role, Tier, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::Refusal;
use kedge_rules::fold::FoldError;
use kedge_rules::json::quoted;
use kedge_rules::resources::{self, RuleDecision};
use kedge_rules::sequencer::VersionKey;
use kedge_rules::world::{ActionInput, Caller, StepAllowance, World};

use crate::log::{Log, left, why, wrong};
use crate::world::{Place, Words, action, request};

const ANN: Address = Address([1; 20]);
const BOB: Address = Address([2; 20]);

fn two() -> Log {
    let mut log = Log::new();
    log.register(ANN, "ann@example.com", "").unwrap();
    log.register(BOB, "bob@example.com", "").unwrap();
    log
}

/// An action of a wallet on itself.
fn own(log: &mut Log, by: Address, kind: &Kind, payload: &str) -> Result<RuleDecision, Refusal> {
    let target = log.wallet(by).id.to_string();
    log.act(by, kind, &target, payload)
}

fn key(log: &mut Log, by: Address, kind: &Kind, address: Address) -> Result<RuleDecision, Refusal> {
    own(log, by, kind, &format!(r#"{{"address":"{address}"}}"#))
}

#[test]
fn a_registration_makes_a_wallet_and_its_organization() {
    let mut log = Log::new();
    let done = log.register(ANN, " Ann@Example.COM ", "").unwrap();
    let wallet = left::<Wallet>(&done);
    assert_eq!(
        (wallet.role, &wallet.nickname, wallet.email.as_str()),
        (Role::Owner, &None, "ann@example.com")
    );
    assert_eq!((wallet.address, &wallet.keys[..]), (ANN, &[ANN][..]));
    let organization = left::<Organization>(&done);
    assert_eq!(
        (organization.id, organization.name.as_str()),
        (wallet.organization_id, "ann")
    );
    assert_eq!(organization.tier, Tier::Free);
    assert_eq!((wallet.trace.version, organization.trace.version), (1, 1));
    assert_ne!(wallet.trace.integrity, organization.trace.integrity);
    let claims = [
        VersionKey::email("ann@example.com"),
        VersionKey::address(ANN),
    ];
    assert_eq!(done.claims, claims);
    assert!(done.releases.is_empty() && done.reads.is_empty());

    let more = r#","nickname":"Bob","organization_name":"The Bobs""#;
    let done = log.register(BOB, "bob@example.com", more).unwrap();
    assert_eq!(left::<Wallet>(&done).nickname.as_deref(), Some("Bob"));
    assert_eq!(left::<Organization>(&done).name, "The Bobs");
}

#[test]
fn a_registration_that_is_wrong_says_all_that_is() {
    let mut log = two();
    let new = Address([3; 20]);
    wrong(
        log.act(
            new,
            &Kind::WalletRegister,
            "",
            &format!(
                r#"{{"email":"@","address":"{ANN}","nickname":"","organization_name":"a\nb"}}"#
            ),
        ),
        &[
            ("/email", "format"),
            ("/nickname", "required"),
            ("/organization_name", "format"),
            ("/address", "range"),
        ],
    );
    let taken = log.register(new, "ANN@example.com", "");
    assert_eq!(taken, Err(Refusal::EmailTaken));
    assert_eq!(why(log.register(ANN, "new@example.com", "")), "conflict");
    wrong(
        log.register(new, "new@example.com", r#","password":"x""#),
        &[("/password", "unknown")],
    );
    log.register(new, "new@example.com", "").unwrap();
}

/// Characters are counted, and the bound is for every name.
#[test]
fn names_have_1_to_200_characters() {
    let mut log = two();
    let mut named = |name: &str| {
        let payload = format!(r#"{{"nickname":{}}}"#, quoted(name));
        own(&mut log, ANN, &Kind::WalletUpdate, &payload)
    };
    for good in ["a", " a ", &"é".repeat(200)] {
        let done = named(good).unwrap();
        assert_eq!(left::<Wallet>(&done).nickname.as_deref(), Some(good));
    }
    for (bad, code) in [
        ("", "required"),
        (" \t", "required"),
        (&*"é".repeat(201), "range"),
        ("a\u{7f}", "format"),
        ("a\nb", "format"),
    ] {
        wrong(named(bad), &[("/nickname", code)]);
    }
}

#[test]
fn an_update_changes_what_it_names() {
    let mut log = two();
    let before = log.wallet(ANN);
    let update = |log: &mut Log, payload: &str| own(log, ANN, &Kind::WalletUpdate, payload);
    let done = update(&mut log, r#"{"nickname":"Ann"}"#).unwrap();
    let named = left::<Wallet>(&done).clone();
    let expected = Wallet {
        nickname: Some("Ann".to_owned()),
        trace: named.trace,
        ..before.clone()
    };
    assert_eq!((&named, named.trace.version), (&expected, 2));
    assert!(done.claims.is_empty() && done.releases.is_empty());
    // The same address in another spelling is not a new one.
    let done = update(&mut log, r#"{"email":" ANN@example.com"}"#).unwrap();
    assert_eq!(left::<Wallet>(&done).email, "ann@example.com");
    assert_eq!(left::<Wallet>(&done).nickname.as_deref(), Some("Ann"));
    assert!(done.claims.is_empty() && done.releases.is_empty());

    let done = update(&mut log, r#"{"email":"Lee@example.com","nickname":null}"#).unwrap();
    let moved = left::<Wallet>(&done);
    assert_eq!(
        (moved.email.as_str(), &moved.nickname),
        ("lee@example.com", &None)
    );
    assert_eq!(done.claims, [VersionKey::email("lee@example.com")]);
    assert_eq!(done.releases, [VersionKey::email("ann@example.com")]);
    assert_eq!(log.state.email_taken("ann@example.com"), Ok(false));
    assert_eq!(log.state.email_taken("lee@example.com"), Ok(true));

    let taken = update(&mut log, r#"{"email":"BOB@example.com"}"#);
    assert_eq!(taken, Err(Refusal::EmailTaken));
    wrong(
        update(&mut log, r#"{"email":"","nickname":" "}"#),
        &[("/email", "format"), ("/nickname", "required")],
    );
    wrong(
        update(&mut log, r#"{"role":"owner"}"#),
        &[("/role", "unknown")],
    );
    let version = log.trace(before.id).version;
    assert_eq!(version, 4, "a refused update is no version");
}

#[test]
fn a_wallet_changes_only_itself() {
    let mut log = two();
    let id = log.wallet(BOB).id;
    let bob = id.to_string();
    let payload = format!(r#"{{"address":"{BOB}"}}"#);
    for (kind, payload) in [
        (Kind::WalletUpdate, "{}"),
        (Kind::WalletKeyAdd, &payload),
        (Kind::WalletKeyRemove, &payload),
    ] {
        let done = log.act(ANN, &kind, &bob, payload);
        assert_eq!(done, Err(Refusal::not_found("wallet", &id)), "{kind:?}");
        for target in ["", "wal_1", &bob.replace("wal", "org")] {
            let done = log.act(ANN, &kind, target, payload);
            assert_eq!(done, Err(Refusal::not_found("wallet", target)), "{kind:?}");
        }
    }
}

#[test]
fn an_address_signs_for_one_wallet_for_ever() {
    let mut log = two();
    let second = Address([3; 20]);
    let (add, remove) = (Kind::WalletKeyAdd, Kind::WalletKeyRemove);
    assert_eq!(why(key(&mut log, ANN, &add, ANN)), "conflict");
    assert_eq!(why(key(&mut log, ANN, &add, BOB)), "conflict");
    let done = key(&mut log, ANN, &add, second).unwrap();
    let wallet = left::<Wallet>(&done).clone();
    assert_eq!(
        (&wallet.keys[..], wallet.trace.version),
        (&[ANN, second][..], 2)
    );
    assert_eq!(
        wallet.address, ANN,
        "the address that registered stays the wallet's"
    );
    assert_eq!(done.claims, [VersionKey::address(second)]);
    assert_eq!(why(key(&mut log, BOB, &add, second)), "conflict");
    assert_eq!(why(log.register(second, "new@example.com", "")), "conflict");

    let unknown = Address([4; 20]);
    let done = key(&mut log, ANN, &remove, unknown);
    assert_eq!(done, Err(Refusal::not_found("key", &unknown)));
    // The second key signs, even the removal of the first.
    let done = key(&mut log, second, &remove, ANN).unwrap();
    let wallet = left::<Wallet>(&done);
    assert_eq!((&wallet.keys[..], wallet.trace.version), (&[second][..], 3));
    assert!(done.claims.is_empty() && done.releases.is_empty());
    let sequence = log.sequence + 1;
    let mut record = request(ANN, Some(wallet), sequence, sequence);
    let words = Words {
        kind: Kind::WalletUpdate,
        target: wallet.id.to_string(),
        payload: "{}".to_owned(),
    };
    record.actions.push(action(&words, 0, Place::none()));
    assert_eq!(
        log.state.apply(&record),
        Err(FoldError::Signer { sequence })
    );
    assert_eq!(why(key(&mut log, second, &remove, second)), "state");
    // A former key belongs to no other wallet, and may return without a claim: it was claimed before.
    assert_eq!(why(key(&mut log, BOB, &add, ANN)), "conflict");
    let done = key(&mut log, second, &add, ANN).unwrap();
    assert_eq!(left::<Wallet>(&done).keys, [second, ANN]);
    assert!(done.claims.is_empty());
    let id = log.wallet(ANN).id;
    let found = log.state.wallet_by_address(second).unwrap().unwrap();
    assert_eq!((found.wallet_id, found.address), (id, ANN));
}

// Holds invariant 217.
/// A request must state the key's consent. A log that is older than this rule holds additions without one.
#[test]
fn a_request_states_the_keys_consent_and_a_replay_takes_both_forms() {
    let mut log = two();
    let wallet = log.wallet(ANN);
    let target = wallet.id.to_string();
    let caller = Caller {
        wallet_id: wallet.id,
        organization_id: wallet.organization_id,
        role: wallet.role,
        address: ANN,
    };
    let new = Address([3; 20]);
    let bare = format!(r#"{{"address":"{new}"}}"#);
    let stated = format!(r#"{{"address":"{new}","possession":"0x"}}"#);
    let allowance = StepAllowance::default();
    let decided = |payload: &str, allowance: Option<&StepAllowance>| {
        let input = ActionInput {
            kind: &Kind::WalletKeyAdd,
            target: &target,
            payload,
            signed: payload,
            content: &Hash([1; 32]),
            link: None,
            allowance,
        };
        let base = wallet.clone().into();
        resources::decide(&log.state, &caller, Some(&base), &input).map(|_| ())
    };
    for none in [&bare, &stated.replace(r#""0x""#, "null")] {
        wrong(
            decided(none, Some(&allowance)),
            &[("/possession", "required")],
        );
        assert_eq!(decided(none, None), Ok(()));
    }
    for allowance in [Some(&allowance), None] {
        assert_eq!(decided(&stated, allowance), Ok(()));
    }
    wrong(
        decided(&stated.replace(r#""0x""#, "7"), None),
        &[("/possession", "type")],
    );
    own(&mut log, ANN, &Kind::WalletKeyAdd, &stated).unwrap();
    assert_eq!(log.wallet(ANN).keys, [ANN, new]);
}

#[test]
fn a_wallet_has_so_many_keys() {
    let mut log = two();
    let address = |number: usize| Address([100 + number as u8; 20]);
    for number in 1..WALLET_KEYS_MAX {
        key(&mut log, ANN, &Kind::WalletKeyAdd, address(number)).unwrap();
    }
    assert_eq!(log.wallet(ANN).keys.len(), 16);
    let more = key(&mut log, ANN, &Kind::WalletKeyAdd, address(16));
    assert_eq!(why(more), "state");
    key(&mut log, ANN, &Kind::WalletKeyRemove, address(3)).unwrap();
    let keys = log.wallet(ANN).keys;
    assert!(keys.len() == 15 && !keys.contains(&address(3)));
    key(&mut log, ANN, &Kind::WalletKeyAdd, address(16)).unwrap();
    wrong(
        own(&mut log, ANN, &Kind::WalletKeyAdd, r#"{"address":"0x1"}"#),
        &[("/address", "type")],
    );
    let id = Id::made_by(Prefix::Wallet, &Hash::ZERO, 7).to_string();
    let done = log.act(ANN, &Kind::WalletUpdate, &id, "{}");
    assert_eq!(why(done), "not found");
}
