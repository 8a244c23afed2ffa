//! Permissions: the template's rules, defaults, and visibility.

use kedge_protocol::action::Kind;
use kedge_protocol::registry::{ActionAudience, RoleScope};
use kedge_protocol::resource::{Object, Role, Template, Who};
use serde::Deserialize;

use crate::refusal::Refusal;
use crate::world::Caller;

/// Who may request `kind` for objects of `template`; `None` for no wallet. A template's rules override the defaults.
pub fn allowed(template: &Template, kind: &Kind) -> Option<Who> {
    if let Some(rule) = template.actions.iter().find(|rule| rule.kind == *kind) {
        return Some(rule.who);
    }
    match kind.spec().audience {
        ActionAudience::Bus(by_default) => by_default,
        ActionAudience::Account(_) | ActionAudience::Operator => None,
    }
}

/// Whether the caller is an owner or admin of the template's organization.
pub fn is_issuer(template: &Template, caller: &Caller) -> bool {
    caller.organization_id == template.organization_id && may_administer(caller.role)
}

/// Whether the role manages an organization's templates.
pub fn may_administer(role: Role) -> bool {
    matches!(role, Role::Owner | Role::Admin)
}

/// Refuses a role that may not request `kind`, whatever it acts on. The rules make the same check after others.
pub fn check_role(kind: &Kind, role: Role, payload: &str) -> Result<(), Refusal> {
    /// Part of a payload that assigns a role.
    #[derive(Deserialize)]
    struct GrantedRole {
        role: Option<Role>,
    }

    let ActionAudience::Account(roles) = kind.spec().audience else {
        return Ok(());
    };
    let needed = match roles {
        RoleScope::Any => return Ok(()),
        RoleScope::Admins => Role::Admin,
        RoleScope::AdminsAndOwnersOfOwners => match serde_json::from_str(payload) {
            Ok(GrantedRole {
                role: Some(Role::Owner),
            }) => Role::Owner,
            _ => Role::Admin,
        },
    };
    match needed {
        Role::Owner if role != Role::Owner => Err(Refusal::Forbidden(
            "only an owner of the organization may do this".into(),
        )),
        _ if !may_administer(role) => Err(Refusal::Forbidden(
            "only owners and admins of the organization may do this".into(),
        )),
        _ => Ok(()),
    }
}

/// Whether the caller may know that the object exists: its organization's, its own, or public.
pub fn sees_object(object: &Object, template: &Template, caller: &Caller) -> bool {
    object.organization_id == caller.organization_id
        || object.owner_id == caller.wallet_id
        || template.public_access
}

/// Whether the caller may know that the template exists.
pub fn sees_template(template: &Template, caller: &Caller) -> bool {
    template.organization_id == caller.organization_id || template.public_access
}

/// Checks that the caller may request `kind` for an object of `template`.
pub fn check(kind: &Kind, template: &Template, owns: bool, caller: &Caller) -> Result<(), Refusal> {
    let granted = match allowed(template, kind) {
        None => {
            return Err(Refusal::Forbidden(
                format!("the template does not allow {}", kind.text()).into(),
            ));
        }
        Some(Who::Anyone) => true,
        Some(Who::Owner) => owns,
        Some(Who::Issuer) => is_issuer(template, caller),
    };
    if granted {
        return Ok(());
    }
    let needed = match allowed(template, kind) {
        Some(Who::Issuer) => "owners and admins of the template's organization",
        _ => "the object's owner",
    };
    Err(Refusal::Forbidden(
        format!("{} is reserved for {needed}", kind.text()).into(),
    ))
}
