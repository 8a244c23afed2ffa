//! The table of rights: every kind, every rule, every position of a caller.

use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{
    ActionRule, Object, ObjectStatus, ResourceTrace, Role, Template, Who,
};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::FoldState;
use kedge_rules::rights::check_role;
use kedge_rules::world::{ActionInput, Caller};
use kedge_rules::{Refusal, object, template};

use crate::attempts::{KINDS, kind};

const CONTENT: Hash = Hash([0x77; 32]);

fn id(prefix: Prefix, number: u32) -> Id {
    Id::made_by(prefix, &Hash::ZERO, number)
}

fn made(rule: Option<(&Kind, Who)>, public_access: bool) -> Template {
    Template {
        id: id(Prefix::Template, 1),
        organization_id: id(Prefix::Organization, 1),
        name: "table".to_owned(),
        description: String::new(),
        properties: "{}".to_owned(),
        schema: None,
        max_supply: None,
        actions: rule
            .map(|(kind, who)| ActionRule {
                kind: kind.clone(),
                who,
                schema: None,
            })
            .into_iter()
            .collect(),
        public_access,
        variation_count: 0,
        trace: ResourceTrace::NEW.next(&CONTENT),
    }
}

fn owned_by(owner: &Caller, status: ObjectStatus) -> Object {
    Object {
        id: id(Prefix::Object, 1),
        organization_id: id(Prefix::Organization, 1),
        template_id: id(Prefix::Template, 1),
        variation_id: None,
        owner_id: owner.wallet_id,
        owner_address: owner.address,
        properties: "{}".to_owned(),
        status,
        trace: ResourceTrace::NEW.next(&CONTENT),
    }
}

fn caller(number: u32, of_issuer: bool, role: Role) -> Caller {
    Caller {
        wallet_id: id(Prefix::Wallet, number),
        organization_id: id(Prefix::Organization, if of_issuer { 1 } else { 2 }),
        role,
        address: Address([number as u8; 20]),
    }
}

/// A valid payload for the kind, so that only the rights decide.
fn payload(kind: &Kind) -> &'static str {
    match kind {
        Kind::SetAttributes => r#"{"attributes":{"a":1}}"#,
        Kind::DeleteAttributes => r#"{"attributes":["a"]}"#,
        _ => "{}",
    }
}

/// The expected permission; `None` for no wallet.
fn expected(kind: &Kind, rule: Option<Who>) -> Option<Who> {
    rule.or(match kind {
        Kind::Mint => Some(Who::Issuer),
        Kind::Custom(_) => None,
        _ => Some(Who::Owner),
    })
}

/// Mints an object of the template, or acts on an object of `owner`.
fn attempt(
    kind: &Kind,
    template: Template,
    asks: &Caller,
    owner: &Caller,
) -> Result<Object, Refusal> {
    let mints = *kind == Kind::Mint;
    let target = if mints {
        template.id
    } else {
        id(Prefix::Object, 1)
    };
    let input = ActionInput {
        link: None,
        allowance: None,
        kind,
        target: &target.to_string(),
        payload: payload(kind),
        signed: payload(kind),
        content: &CONTENT,
    };
    let mut world = FoldState::default();
    if mints {
        let rules = Arc::new(template.clone().into());
        world.templates.insert(template.id, rules);
        return object::mint(&world, asks, &input);
    }
    let status = if *kind == Kind::Unlock {
        ObjectStatus::Locked
    } else {
        ObjectStatus::Active
    };
    let object = owned_by(owner, status);
    object::act(&world, asks, &object, &template.into(), &input)
}

#[test]
fn who_may_do_what() {
    for kind in Kind::BUILT_IN.iter().filter(|kind| kind.is_bus()) {
        assert!(KINDS.contains(&kind.text()), "{} is missing", kind.text());
    }
    let mut cases = 0;
    for number in 0..KINDS.len() as u8 {
        let kind = kind(number);
        // A transfer needs a recipient; it has a separate case below.
        if kind == Kind::Transfer {
            continue;
        }
        for rule in [None, Some(Who::Owner), Some(Who::Issuer), Some(Who::Anyone)] {
            for bits in 0..8u8 {
                let (owns, of_issuer, public) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                for role in [Role::Owner, Role::Admin, Role::Member] {
                    let template = made(rule.map(|who| (&kind, who)), public);
                    let asks = caller(1, of_issuer, role);
                    let owner = if owns {
                        asks
                    } else {
                        caller(2, false, Role::Owner)
                    };
                    let done = attempt(&kind, template, &asks, &owner);
                    let mints = kind == Kind::Mint;
                    let sees = of_issuer || public || (owns && !mints);
                    let manages = of_issuer && role != Role::Member;
                    let may = match expected(&kind, rule) {
                        None => false,
                        Some(Who::Anyone) => true,
                        Some(Who::Owner) => owns && !mints,
                        Some(Who::Issuer) => manages,
                    };
                    let reported = format!(
                        "{kind:?} {rule:?} owns {owns} issuer's {of_issuer} {role:?} public {public}: {done:?}"
                    );
                    match done {
                        Ok(next) => {
                            assert!(sees && may, "{reported}");
                            assert_eq!(next.trace.version, if mints { 1 } else { 2 }, "{reported}");
                        }
                        Err(Refusal::NotFound { .. }) => assert!(!sees, "{reported}"),
                        Err(Refusal::Forbidden(_)) => assert!(sees && !may, "{reported}"),
                        Err(other) => panic!("{other:?}: {reported}"),
                    }
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 9 * 4 * 8 * 3);
}

#[test]
fn templates_and_variations_are_for_owners_and_admins_of_the_organization() {
    let world = FoldState::default();
    for role in [Role::Owner, Role::Admin, Role::Member] {
        let create = ActionInput {
            link: None,
            allowance: None,
            kind: &Kind::TemplateCreate,
            target: "",
            payload: r#"{"name":"new"}"#,
            signed: r#"{"name":"new"}"#,
            content: &CONTENT,
        };
        let created = template::create(&world, &caller(1, true, role), &create);
        assert_eq!(
            created.is_ok(),
            role != Role::Member,
            "{role:?}: {created:?}"
        );
        for (of_issuer, public) in [(true, false), (true, true), (false, false), (false, true)] {
            let target = made(None, public);
            let text = target.id.to_string();
            let add = ActionInput {
                link: None,
                allowance: None,
                kind: &Kind::TemplateVariations,
                target: &text,
                payload: r#"{"name":"v"}"#,
                signed: r#"{"name":"v"}"#,
                content: &CONTENT,
            };
            let added = template::add_variations(&caller(1, of_issuer, role), &target, &add);
            match added {
                Ok((next, variations)) => {
                    assert!(of_issuer && role != Role::Member);
                    assert_eq!((next.variation_count, variations.len()), (1, 1));
                }
                Err(Refusal::NotFound { .. }) => assert!(!of_issuer && !public),
                Err(Refusal::Forbidden(_)) => assert!(role == Role::Member || !of_issuer),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

// Holds invariant 19.
/// The kind alone decides some refusals for members; the rules refuse them too, each in a separate test.
#[test]
fn a_members_role_excludes_what_administers_the_organization() {
    for kind in Kind::BUILT_IN {
        let administers = match kind.text() {
            "wallet.register" | "wallet.update" | "wallet.key_add" | "wallet.key_remove"
            | "file.create" => false,
            text => text.contains('.') && !text.starts_with("system."),
        };
        for role in [Role::Owner, Role::Admin, Role::Member] {
            let may = !administers || role != Role::Member;
            let checked = check_role(kind, role, "{}");
            assert_eq!(checked.is_ok(), may, "{} as {role:?}", kind.text());
        }
    }
}

/// Actions that a status allows, for every caller.
#[test]
fn locked_objects_are_only_unlocked_and_burned_ones_are_gone() {
    let owner = caller(1, true, Role::Owner);
    let template = made(None, false);
    let world = FoldState::default();
    for number in 1..9u8 {
        let kind = kind(number);
        for status in [
            ObjectStatus::Active,
            ObjectStatus::Locked,
            ObjectStatus::Burned,
        ] {
            let target = id(Prefix::Object, 1).to_string();
            let input = ActionInput {
                link: None,
                allowance: None,
                kind: &kind,
                target: &target,
                payload: payload(&kind),
                signed: payload(&kind),
                content: &CONTENT,
            };
            let done = object::act(
                &world,
                &owner,
                &owned_by(&owner, status),
                &template.clone().into(),
                &input,
            );
            let unlocks = kind == Kind::Unlock;
            let allowed = match status {
                ObjectStatus::Active => !unlocks,
                ObjectStatus::Locked => unlocks,
                ObjectStatus::Burned => false,
            };
            let refused_for_state = matches!(done, Err(Refusal::State(_)));
            assert_eq!(
                refused_for_state, !allowed,
                "{kind:?} on {status:?}: {done:?}"
            );
        }
    }
}
