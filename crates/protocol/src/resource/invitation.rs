//! Invitations to an organization.

use super::Role;
use crate::ids::Id;

/// An invitation to an organization. Its identifier is that of the action that made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// Its identifier.
    pub id: Id,
    /// The organization.
    pub organization_id: Id,
    /// The inviting wallet. It must still have the right to invite when the invitation is used.
    pub invited_by: Id,
    /// The role of the wallet that joins.
    pub role: Role,
    /// The only e-mail address that may use it, in its normal form.
    pub email: Option<String>,
    /// How long it stays open, seconds.
    pub lifetime_s: u64,
    /// The wallet that used it.
    pub used_by: Option<Id>,
    /// Whether it was revoked.
    pub revoked: bool,
    /// The sequence of the action that made it.
    pub created_sequence: u64,
    /// The time of that action, milliseconds.
    pub created_at_ms: u64,
}

impl Invitation {
    /// When it expires, milliseconds.
    pub fn expires_at_ms(&self) -> u64 {
        self.created_at_ms
            .saturating_add(self.lifetime_s.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;
    use crate::ids::Prefix;

    #[test]
    fn an_invitation_expires_after_its_lifetime() {
        let id = |prefix| Id::of_hash(prefix, &Hash::ZERO);
        let mut invitation = Invitation {
            id: id(Prefix::Action),
            organization_id: id(Prefix::Organization),
            invited_by: id(Prefix::Wallet),
            role: Role::Member,
            email: None,
            lifetime_s: 60,
            used_by: None,
            revoked: false,
            created_sequence: 1,
            created_at_ms: 1_790_000_000_123,
        };
        assert_eq!(invitation.expires_at_ms(), 1_790_000_060_123);
        invitation.lifetime_s = u64::MAX;
        assert_eq!(invitation.expires_at_ms(), u64::MAX);
    }
}
