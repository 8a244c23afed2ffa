//! The caller's organization.

use super::{Doc, TO_ACTION, TO_PROOF, with_parameters};

const TAG: &str = "Organization";

pub(in crate::endpoint) const ME: Doc = Doc {
    id: "getOwnOrganization",
    tag: TAG,
    summary: "Read the caller's organization and its limits",
    description: "The organization with its tier and price, how many requests each limit allows, how many \
        were sent in the window that is now, and when each limit would run out at that pace. The tier \
        is the operator's to set.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const MEMBERS: Doc = Doc {
    id: "listMembers",
    tag: TAG,
    summary: "List the organization's wallets",
    description: "The wallets of the caller's organization, in the order in which they were registered.",
    links: &[with_parameters(
        "setMemberRole",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

pub(in crate::endpoint) const SET_ROLE: Doc = Doc {
    id: "setMemberRole",
    tag: TAG,
    summary: "Set a member's role",
    description: "Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set roles; \
        only an owner makes owners or changes one, and nobody changes their own role. `wallet_id` \
        repeats the path's, because the body is what is signed.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const INVITE: Doc = Doc {
    id: "inviteMember",
    tag: TAG,
    summary: "Invite somebody",
    description: "Makes an invitation to the caller's organization. Its code is shown in this answer and \
        never again; `POST /wallets/register` takes it as `invitation`. It is good for one wallet, for \
        the e-mail address that it names if it names one, and until it ends.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const INVITATIONS: Doc = Doc {
    id: "listInvitations",
    tag: TAG,
    summary: "List the organization's invitations",
    description: "The invitations of the caller's organization, used ones and ended ones too, without \
        their codes.",
    ..Doc::MISSING
};
