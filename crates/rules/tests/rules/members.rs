//! Organizations: inviting, joining, members' rights, and the end of a membership.

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{
    CustomLimits, Invitation, Organization, ResourceTrace, Role, Tier, Wallet,
};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::Refusal;
use kedge_rules::fold::FoldError;
use kedge_rules::resources::RuleDecision;
use kedge_rules::rights::check_role;
use kedge_rules::sequencer::VersionKey;
use kedge_rules::world::World;

use crate::log::{Log, OPERATORS, left, why, wrong};
use crate::world::{Place, Words, action, request};

const ROLES: [Role; 3] = [Role::Owner, Role::Admin, Role::Member];
/// The wallets of one organization, one of each role; and one of another organization.
const OWNER: Address = Address([1; 20]);
const ADMIN: Address = Address([2; 20]);
const MEMBER: Address = Address([3; 20]);
const STRANGER: Address = Address([4; 20]);
const NEW: Address = Address([5; 20]);

fn text(role: Role) -> &'static str {
    match role {
        Role::Owner => "owner",
        Role::Admin => "admin",
        Role::Member => "member",
    }
}

fn signer(role: Role) -> Address {
    match role {
        Role::Owner => OWNER,
        Role::Admin => ADMIN,
        Role::Member => MEMBER,
    }
}

/// An organization with its three members, and another organization.
struct House {
    log: Log,
    id: Id,
}

impl House {
    fn new() -> Self {
        let mut log = Log::new();
        log.register(OWNER, "owner@example.com", "").unwrap();
        log.register(STRANGER, "stranger@example.com", "").unwrap();
        let id = log.wallet(OWNER).organization_id;
        let mut house = Self { log, id };
        for role in [Role::Admin, Role::Member] {
            let invitation = house.invite(role);
            let email = format!("{}@example.com", text(role));
            house.join(signer(role), &email, invitation).unwrap();
        }
        house
    }

    fn act(&mut self, by: Address, kind: &Kind, payload: &str) -> Result<RuleDecision, Refusal> {
        self.log.act(by, kind, &self.id.to_string(), payload)
    }

    /// An invitation by the owner for any e-mail address.
    fn invite(&mut self, role: Role) -> Id {
        let payload = format!(r#"{{"role":"{}"}}"#, text(role));
        let done = self.act(OWNER, &Kind::OrgInvite, &payload).unwrap();
        left::<Invitation>(&done).id
    }

    fn join(&mut self, by: Address, email: &str, invitation: Id) -> Result<RuleDecision, Refusal> {
        let more = format!(r#","invitation":"{invitation}""#);
        self.log.register(by, email, &more)
    }

    fn set_role(&mut self, by: Address, of: Id, role: Role) -> Result<RuleDecision, Refusal> {
        let payload = format!(r#"{{"wallet_id":"{of}","role":"{}"}}"#, text(role));
        self.act(by, &Kind::OrgRole, &payload)
    }

    fn remove(&mut self, by: Address, of: Id) -> Result<RuleDecision, Refusal> {
        let payload = format!(r#"{{"wallet_id":"{of}"}}"#);
        self.act(by, &Kind::OrgMemberRemove, &payload)
    }

    fn revoke(&mut self, by: Address, id: Id) -> Result<RuleDecision, Refusal> {
        let payload = format!(r#"{{"invitation_id":"{id}"}}"#);
        self.act(by, &Kind::OrgInvitationRevoke, &payload)
    }

    fn wallet_id(&self, of: Address) -> Id {
        self.log.wallet(of).id
    }

    fn version(&mut self) -> u64 {
        self.log.trace(self.id).version
    }
}

#[test]
fn nobody_invites_to_more_than_they_are() {
    let mut house = House::new();
    for by in ROLES {
        for to in ROLES {
            let payload = format!(r#"{{"role":"{}"}}"#, text(to));
            let done = house.act(signer(by), &Kind::OrgInvite, &payload);
            let may = match by {
                Role::Owner => true,
                Role::Admin => to != Role::Owner,
                Role::Member => false,
            };
            let expected = if may { "done" } else { "forbidden" };
            assert_eq!(why(done), expected, "{by:?} invites an {to:?}");
            let allowed = check_role(&Kind::OrgInvite, by, &payload);
            assert_eq!(allowed.is_ok(), may, "{by:?} invites an {to:?}");
        }
    }
    let done = house.act(STRANGER, &Kind::OrgInvite, "{}");
    assert_eq!(done, Err(Refusal::not_found("organization", &house.id)));
}

#[test]
fn an_invitation_is_for_as_long_and_as_whom_it_says() {
    let mut house = House::new();
    let before = house.log.trace(house.id);
    let payload = r#"{"email":" Ann@Example.COM ","role":"admin","expires_in_s":60}"#;
    let done = house.act(ADMIN, &Kind::OrgInvite, payload).unwrap();
    let sequence = house.log.sequence;
    let made = left::<Invitation>(&done).clone();
    let expected = Invitation {
        id: made.id,
        organization_id: house.id,
        invited_by: house.wallet_id(ADMIN),
        role: Role::Admin,
        email: Some("ann@example.com".to_owned()),
        lifetime_s: 60,
        used_by: None,
        revoked: false,
        created_sequence: sequence,
        created_at_ms: sequence * 10,
    };
    assert_eq!(made, expected);
    assert_eq!(made.id.prefix, Prefix::Action);
    let after = house.log.trace(house.id);
    assert_eq!(
        (after.version, after.sequence),
        (before.version + 1, sequence)
    );
    assert_ne!(after.integrity, before.integrity);

    let done = house.act(OWNER, &Kind::OrgInvite, "{}").unwrap();
    let made = left::<Invitation>(&done);
    assert_eq!(
        (made.role, &made.email, made.lifetime_s),
        (Role::Member, &None, 7 * 24 * 60 * 60)
    );
    for seconds in [1, 30 * 24 * 60 * 60] {
        let payload = format!(r#"{{"expires_in_s":{seconds}}}"#);
        let done = house.act(OWNER, &Kind::OrgInvite, &payload).unwrap();
        assert_eq!(left::<Invitation>(&done).lifetime_s, seconds);
    }
    for seconds in [0, 30 * 24 * 60 * 60 + 1] {
        let payload = format!(r#"{{"expires_in_s":{seconds}}}"#);
        wrong(
            house.act(OWNER, &Kind::OrgInvite, &payload),
            &[("/expires_in_s", "range")],
        );
    }
    for (payload, places) in [
        (
            r#"{"email":"ann","expires_in_s":0}"#,
            &[("/email", "format"), ("/expires_in_s", "range")][..],
        ),
        (r#"{"until":1}"#, &[("/until", "unknown")]),
        ("[]", &[("", "type")]),
    ] {
        wrong(house.act(OWNER, &Kind::OrgInvite, payload), places);
    }
}

#[test]
fn an_invitation_is_used_once() {
    let mut house = House::new();
    let invitation = house.invite(Role::Admin);
    let made_at = house.log.sequence;
    let version = house.version();
    let done = house.join(NEW, "new@example.com", invitation).unwrap();
    let wallet = left::<Wallet>(&done);
    assert_eq!(
        (wallet.organization_id, wallet.role),
        (house.id, Role::Admin)
    );
    let used = left::<Invitation>(&done);
    assert_eq!(used.used_by, Some(wallet.id));
    assert_eq!(
        (used.created_sequence, used.created_at_ms),
        (made_at, made_at * 10),
        "what is used stays where it was made"
    );
    let claims = [
        VersionKey::email("new@example.com"),
        VersionKey::address(NEW),
        VersionKey::resource(invitation),
    ];
    assert_eq!(
        (&done.claims[..], &done.releases[..]),
        (&claims[..], &[][..])
    );
    assert_eq!(done.reads, [(VersionKey::resource(house.id), version)]);
    assert_eq!(
        house.version(),
        version,
        "joining is no action on the organization"
    );
    let late = Address([6; 20]);
    let done = house.join(late, "late@example.com", invitation);
    assert_eq!(why(done), "forbidden");
    let unknown = Id::of_hash(Prefix::Action, &Hash([9; 32]));
    assert_eq!(
        why(house.join(late, "late@example.com", unknown)),
        "forbidden"
    );
    let used = house.revoke(OWNER, invitation);
    assert_eq!(why(used), "state");
}

#[test]
fn an_invitation_is_for_one_address_if_it_names_one() {
    let mut house = House::new();
    let payload = r#"{"email":"new@example.com"}"#;
    let done = house.act(OWNER, &Kind::OrgInvite, payload).unwrap();
    let invitation = left::<Invitation>(&done).id;
    let other = house.join(NEW, "other@example.com", invitation);
    assert_eq!(why(other), "forbidden");
    let done = house.join(NEW, "New@Example.com", invitation).unwrap();
    assert_eq!(left::<Wallet>(&done).role, Role::Member);
}

#[test]
fn an_invitation_is_no_more_than_its_inviter() {
    for role in [Role::Admin, Role::Member] {
        let mut house = House::new();
        let payload = format!(r#"{{"role":"{}"}}"#, text(role));
        let done = house.act(ADMIN, &Kind::OrgInvite, &payload).unwrap();
        let invitation = left::<Invitation>(&done).id;
        let admin = house.wallet_id(ADMIN);
        house.set_role(OWNER, admin, Role::Member).unwrap();
        assert_eq!(
            why(house.join(NEW, "new@example.com", invitation)),
            "forbidden"
        );
        house.set_role(OWNER, admin, Role::Admin).unwrap();
        house.remove(OWNER, admin).unwrap();
        assert_eq!(
            why(house.join(NEW, "new@example.com", invitation)),
            "forbidden"
        );
    }
    // A former owner.
    let mut house = House::new();
    let admin = house.wallet_id(ADMIN);
    house.set_role(OWNER, admin, Role::Owner).unwrap();
    let done = house.act(ADMIN, &Kind::OrgInvite, r#"{"role":"owner"}"#);
    let invitation = left::<Invitation>(&done.unwrap()).id;
    house.set_role(OWNER, admin, Role::Admin).unwrap();
    assert_eq!(
        why(house.join(NEW, "new@example.com", invitation)),
        "forbidden"
    );
    house.set_role(OWNER, admin, Role::Owner).unwrap();
    let done = house.join(NEW, "new@example.com", invitation).unwrap();
    assert_eq!(left::<Wallet>(&done).role, Role::Owner);
}

#[test]
fn an_invitation_is_revoked_once_by_who_may() {
    let mut house = House::new();
    let invitation = house.invite(Role::Member);
    let made_at = house.log.sequence;
    assert_eq!(why(house.revoke(MEMBER, invitation)), "forbidden");
    let unknown = Id::of_hash(Prefix::Action, &Hash([9; 32]));
    let not_found = Err(Refusal::not_found("invitation", &unknown));
    assert_eq!(house.revoke(OWNER, unknown), not_found);
    // It does not see or revoke those of another organization.
    let own = house.log.wallet(STRANGER).organization_id.to_string();
    let payload = format!(r#"{{"invitation_id":"{invitation}"}}"#);
    let done = house
        .log
        .act(STRANGER, &Kind::OrgInvitationRevoke, &own, &payload);
    assert_eq!(done, Err(Refusal::not_found("invitation", &invitation)));
    let done = house.act(STRANGER, &Kind::OrgInvitationRevoke, &payload);
    assert_eq!(done, Err(Refusal::not_found("organization", &house.id)));

    let version = house.version();
    let done = house.revoke(ADMIN, invitation).unwrap();
    let revoked = left::<Invitation>(&done);
    assert!(revoked.revoked && revoked.used_by.is_none());
    assert_eq!(revoked.created_sequence, made_at);
    assert_eq!(done.claims, [VersionKey::resource(invitation)]);
    assert_eq!(house.version(), version + 1);
    assert_eq!(why(house.revoke(ADMIN, invitation)), "state");
    assert_eq!(
        why(house.join(NEW, "new@example.com", invitation)),
        "forbidden"
    );
}

#[test]
fn roles_are_set_by_those_above() {
    for by in ROLES {
        for of in ROLES {
            for role in ROLES {
                let mut house = House::new();
                // A second wallet of each role, so that no wallet acts on itself.
                let invitation = house.invite(of);
                let done = house.join(NEW, "new@example.com", invitation).unwrap();
                let before = left::<Wallet>(&done).clone();
                let version = house.version();
                let done = house.set_role(signer(by), before.id, role);
                let may = match by {
                    Role::Owner => true,
                    Role::Admin => of != Role::Owner && role != Role::Owner,
                    Role::Member => false,
                };
                let reported = format!("{by:?} makes the {of:?} an {role:?}: {done:?}");
                let Ok(done) = done else {
                    assert_eq!(why(done), "forbidden", "{reported}");
                    assert!(!may, "{reported}");
                    assert_eq!(house.version(), version);
                    continue;
                };
                assert!(may, "{reported}");
                // The wallet's own history does not grow.
                assert_eq!(left::<Wallet>(&done), &Wallet { role, ..before });
                assert_eq!(house.version(), version + 1);
                assert_eq!(house.log.wallet(NEW).role, role);
            }
        }
    }
}

#[test]
fn memberships_are_of_others_in_the_same_organization() {
    let mut house = House::new();
    let (owner, admin) = (house.wallet_id(OWNER), house.wallet_id(ADMIN));
    let stranger = house.wallet_id(STRANGER);
    let unknown = Id::made_by(Prefix::Wallet, &Hash([9; 32]), 0);
    for of in [stranger, unknown] {
        let not_found = Err(Refusal::not_found("wallet", &of));
        assert_eq!(house.set_role(OWNER, of, Role::Member), not_found);
        assert_eq!(house.remove(OWNER, of), not_found);
    }
    let not_found = Err(Refusal::not_found("organization", &house.id));
    assert_eq!(house.set_role(STRANGER, admin, Role::Member), not_found);
    assert_eq!(house.remove(STRANGER, admin), not_found);
    for (by, of) in [(OWNER, owner), (ADMIN, admin)] {
        assert_eq!(why(house.set_role(by, of, Role::Member)), "forbidden");
        assert_eq!(why(house.remove(by, of)), "forbidden");
    }
    // An owner cannot be removed, not even by another owner.
    house.set_role(OWNER, admin, Role::Owner).unwrap();
    assert_eq!(why(house.remove(OWNER, admin)), "forbidden");
    let member = house.wallet_id(MEMBER);
    assert_eq!(why(house.remove(MEMBER, admin)), "forbidden");
    house.set_role(OWNER, admin, Role::Admin).unwrap();
    assert_eq!(why(house.remove(ADMIN, member)), "done");
}

#[test]
fn a_removed_member_signs_no_more_and_frees_its_email_address() {
    let mut house = House::new();
    let before = house.log.wallet(MEMBER);
    let version = house.version();
    let done = house.remove(ADMIN, before.id).unwrap();
    let removed = Wallet {
        keys: Vec::new(),
        ..before.clone()
    };
    assert_eq!(left::<Wallet>(&done), &removed);
    assert_eq!(done.releases, [VersionKey::email("member@example.com")]);
    assert_eq!((&done.claims[..], &done.reads[..]), (&[][..], &[][..]));
    assert_eq!(house.version(), version + 1);

    let not_found = Err(Refusal::not_found("wallet", &before.id));
    assert_eq!(house.remove(ADMIN, before.id), not_found);
    assert_eq!(house.set_role(OWNER, before.id, Role::Admin), not_found);
    assert_eq!(house.log.state.email_taken("member@example.com"), Ok(false));
    assert_eq!(house.log.state.address_taken(MEMBER), Ok(true));
    let sequence = house.log.sequence + 1;
    let mut record = request(MEMBER, Some(&before), sequence, sequence);
    let words = Words {
        kind: Kind::WalletUpdate,
        target: before.id.to_string(),
        payload: "{}".to_owned(),
    };
    record.actions.push(action(&words, 0, Place::none()));
    let signed = house.log.state.apply(&record);
    assert_eq!(signed, Err(FoldError::Signer { sequence }));
    // Any wallet may take the e-mail address, but none the signing address.
    let again = house.log.register(MEMBER, "again@example.com", "");
    assert_eq!(why(again), "conflict");
    house.log.register(NEW, "member@example.com", "").unwrap();
    assert_eq!(house.log.state.email_taken("member@example.com"), Ok(true));
}

#[test]
fn the_operator_sets_tiers_and_nobody_else() {
    let mut house = House::new();
    let set = |house: &mut House, payload: &str| {
        let done = house.act(OPERATORS, &Kind::SystemTier, payload)?;
        Ok::<Tier, Refusal>(left::<Organization>(&done).tier)
    };
    for (name, tier) in [
        ("enterprise", Tier::Enterprise),
        ("developer", Tier::Developer),
        ("custom", Tier::Custom(CustomLimits::default())),
        ("free", Tier::Free),
    ] {
        let version = house.version();
        let payload = format!(r#"{{"tier":"{name}"}}"#);
        assert_eq!(set(&mut house, &payload), Ok(tier));
        assert_eq!(house.version(), version + 1);
    }
    let limits = CustomLimits {
        requests_per_day: Some((1 << 53) - 1),
        log_bytes: Some(7),
        ..CustomLimits::default()
    };
    let payload = r#"{"tier":"custom","requests_per_day":9007199254740991,"log_bytes":7}"#;
    assert_eq!(set(&mut house, payload), Ok(Tier::Custom(limits)));
    for (payload, place) in [
        (
            r#"{"tier":"custom","requests_per_day":9007199254740992}"#,
            ("/requests_per_day", "range"),
        ),
        (
            r#"{"tier":"custom","requests":1}"#,
            ("/requests", "unknown"),
        ),
        (
            r#"{"tier":"custom","log_bytes":"1"}"#,
            ("/log_bytes", "type"),
        ),
        (r#"{"tier":"free","log_bytes":1}"#, ("/tier", "range")),
        (r#"{"tier":"enterprise","log_bytes":1}"#, ("/tier", "range")),
        (r#"{"log_bytes":1}"#, ("/tier", "required")),
    ] {
        wrong(set(&mut house, payload), &[place]);
    }
    let own = house.act(OWNER, &Kind::SystemTier, r#"{"tier":"free"}"#);
    assert_eq!(why(own), "forbidden");
    let nobody = Id::made_by(Prefix::Organization, &Hash([9; 32]), 0).to_string();
    for target in [nobody.as_str(), "org_1", ""] {
        let done = house
            .log
            .act(OPERATORS, &Kind::SystemTier, target, r#"{"tier":"free"}"#);
        assert_eq!(why(done), "not found", "{target}");
    }
    assert_eq!(
        house
            .log
            .trace(Id::parse_as(Prefix::Organization, &nobody).unwrap()),
        ResourceTrace::NEW
    );
}
