//! Registering a wallet, and its organization if that is new.

use kedge_protocol::limits::EMAIL_BYTES_MAX;
use kedge_protocol::resource::{Organization, Role, Tier, Trace, Wallet};
use kedge_protocol::{Address, Id, Prefix};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::text::{self, Problems};
use crate::world::{Input, World};

/// What a registration's record keeps: the members of its body that are not secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The address for logging in, as given.
    pub email: String,
    /// A name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// The address that signs.
    pub address: Address,
    /// The new organization's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
}

/// The e-mail address in the one form that is stored and looked up.
pub fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Makes a wallet and its organization. `signer` must be the address that is registered.
pub fn register<W: World>(
    world: &W,
    signer: &Address,
    input: &Input<'_>,
) -> Result<(Wallet, Organization), Refusal> {
    let registration: Registration = text::read(input.payload)?;
    let email = normal_email(&registration.email);
    let mut problems = Problems::default();
    if !is_email(&email) {
        problems.add(
            "/email",
            "format",
            "must be an e-mail address such as ann@example.com",
        );
    }
    if let Some(nickname) = &registration.nickname {
        problems.name("/nickname", nickname);
    }
    if let Some(name) = &registration.organization_name {
        problems.name("/organization_name", name);
    }
    if registration.address != *signer {
        problems.add(
            "/address",
            "range",
            "must be the address that signs the request",
        );
    }
    problems.finish()?;
    if world.email_taken(&email)? {
        return Err(Refusal::EmailTaken);
    }
    if world.address_taken(registration.address)? {
        return Err(Refusal::Conflict(
            "the address belongs to a wallet already; an address belongs to one wallet for ever"
                .into(),
        ));
    }
    let local_part = email.split('@').next().unwrap_or_default().to_owned();
    let organization = Organization {
        id: Id::made_by(Prefix::Organization, input.content, 1),
        name: registration.organization_name.unwrap_or(local_part),
        tier: Tier::Free,
        trace: Trace::NEW.next(input.content),
    };
    let wallet = Wallet {
        id: Id::made_by(Prefix::Wallet, input.content, 0),
        organization_id: organization.id,
        role: Role::Owner,
        nickname: registration.nickname,
        email,
        address: registration.address,
        keys: vec![registration.address],
        trace: Trace::NEW.next(input.content),
    };
    Ok((wallet, organization))
}

/// A practical check: one @, a local part, a dotted or single-label host of letters, digits and
/// hyphens. Whether mail arrives is not known from the text.
fn is_email(email: &str) -> bool {
    let Some((local, host)) = email.rsplit_once('@') else {
        return false;
    };
    let local_fits = !local.is_empty()
        && local.len() <= 64
        && !local.contains('@')
        && local.chars().all(|c| !c.is_whitespace() && !c.is_control());
    let label_fits = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    email.len() <= EMAIL_BYTES_MAX && local_fits && host.split('.').all(label_fits)
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn email_forms() {
        for good in ["a@b", "ann.lee+x@example.com", "ü@bücher.example"] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "", "a", "@b", "a@", "a@b@c", "a b@c", "a@-b", "a@b..c", "a@b c",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
