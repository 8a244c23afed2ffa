//! Signing rules of endpoints.

use kedge_protocol::action::Kind;
use kedge_protocol::{Address, Id, Prefix};

/// Source of the target of a resource endpoint's action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetSource {
    /// No target: an empty text.
    Empty,
    /// `{id}` of the path.
    Path,
    /// `template_id` of the body.
    TemplateMember,
    Wallet,
    Organization,
}

/// Meaning of a path's last segment that the signed payload repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathMember {
    /// `{"address":"…"}`: a signing key of the caller's wallet.
    Address,
    /// `{"wallet_id":"…"}`: a member of the caller's organization.
    Wallet,
    /// `{"invitation_id":"…"}`: an invitation to the caller's organization.
    Invitation,
}

impl PathMember {
    /// The JSON member's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Wallet => "wallet_id",
            Self::Invitation => "invitation_id",
        }
    }

    /// Kind of the resource, for not-found errors.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Address => "key",
            Self::Wallet => "wallet",
            Self::Invitation => "invitation",
        }
    }

    /// True if a path segment has the right form. Such a text needs no escaping in JSON.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Address => text.parse::<Address>().is_ok(),
            Self::Wallet => Id::parse_as(Prefix::Wallet, text).is_ok(),
            Self::Invitation => Id::parse_as(Prefix::Action, text).is_ok(),
        }
    }
}

/// The signed content of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SigningScheme {
    /// Nothing, since it changes nothing.
    Nothing,
    /// One action of this kind; the payload is the whole body.
    Body(Kind, TargetSource),
    /// One action of this kind without a body: the payload is empty.
    NoBody(Kind, TargetSource),
    /// One action of this kind without a body; the payload is a JSON object whose only member repeats the path's last
    /// segment.
    PathMember(Kind, TargetSource, PathMember),
    /// A registration: the payload is the body's digest.
    Registration,
    /// A change of the caller's wallet: the payload is the body, or its digest if it holds a password.
    WalletUpdate,
    /// One action of the bus.
    Action,
    /// A batch of actions of the bus.
    Batch,
    /// A file: the payload is the digest of its bytes, the target its name.
    File,
}
