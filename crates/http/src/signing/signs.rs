//! What the requests of an endpoint sign.

use kedge_protocol::action::Kind;
use kedge_protocol::{Address, Id, Prefix};

/// Where the target of a resource endpoint's action comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// There is none: an empty text.
    Empty,
    /// `{id}` of the path.
    Path,
    /// `template_id` of the body.
    TemplateMember,
    /// The caller's wallet.
    Wallet,
    /// The caller's organization.
    Organization,
}

/// What the last part of a path names, if the signed payload repeats it.
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
    /// The member's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Wallet => "wallet_id",
            Self::Invitation => "invitation_id",
        }
    }

    /// The kind of resource that is reported as not found.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Address => "key",
            Self::Wallet => "wallet",
            Self::Invitation => "invitation",
        }
    }

    /// True if a path's text can name one. Such a text needs no escaping in JSON.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Address => text.parse::<Address>().is_ok(),
            Self::Wallet => Id::parse_as(Prefix::Wallet, text).is_ok(),
            Self::Invitation => Id::parse_as(Prefix::Action, text).is_ok(),
        }
    }
}

/// What a request signs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Signs {
    /// Nothing: it changes nothing.
    Nothing,
    /// One action of this kind; the payload is the whole body.
    Body(Kind, Target),
    /// One action of this kind without a body: the payload is empty.
    NoBody(Kind, Target),
    /// One action of this kind without a body; the payload is a JSON object whose only member
    /// repeats what the path names.
    PathMember(Kind, Target, PathMember),
    /// A registration: the payload is the body's digest.
    Registration,
    /// A change of the caller's wallet: the payload is the body, or the digest of one that holds a
    /// password.
    WalletUpdate,
    /// One action of the bus.
    Action,
    /// A batch of actions of the bus.
    Batch,
    /// A file: the payload is the digest of its bytes, the target its name.
    File,
}
