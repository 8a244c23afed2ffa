//! The caller's organization.

use kedge_openapi::{Doc, Link};

use super::{IF_MATCH, TO_ACTION, TO_PROOF};

const TAG: &str = "Organization";

pub(in crate::endpoint) const ME: Doc = Doc {
    id: "getOwnOrganization",
    tag: TAG,
    summary: "Read the caller's organization and its limits",
    description: "The organization with its tier and price, how many requests each limit allows, how \
        many were sent in the current window, and when each limit would run out at that pace. Only the \
        operator sets the tier.",
    ..Doc::MISSING
};

pub(in crate::endpoint) const MEMBERS: Doc = Doc {
    id: "listMembers",
    tag: TAG,
    summary: "List the organization's wallets",
    description: "The wallets of the caller's organization, in the order of registration.",
    links: &[Link::with_parameters(
        "setMemberRole",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

pub(in crate::endpoint) const SET_ROLE: Doc = Doc {
    id: "setMemberRole",
    tag: TAG,
    summary: "Set a member's role",
    description: "Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set \
        roles; only an owner makes or changes owners, and nobody changes their own role. \
        `wallet_id` repeats the path's, because the body is signed. `If-Match` accepts the ETag of \
        `GET /organizations/me`: every change of a role or a membership changes the organization.",
    request_headers: IF_MATCH,
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const REMOVE_MEMBER: Doc = Doc {
    id: "removeMember",
    tag: TAG,
    summary: "Remove a member",
    description: "Ends a wallet's membership. From then on none of its keys can sign; its logins, \
        its access tokens and the API keys that it made are refused; its e-mail address is free \
        again. It keeps what it owns. Owners and admins remove members; an owner cannot be removed, \
        and nobody removes their own wallet.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const INVITE: Doc = Doc {
    id: "inviteMember",
    tag: TAG,
    summary: "Invite someone",
    description: "Makes an invitation to the caller's organization. Its code is shown in this answer \
        and never again; `POST /wallets/register` accepts it as `invitation`. It is valid for one \
        wallet, only for its e-mail address if it names one, until it expires or is revoked, and only \
        while the wallet that made it may still invite to that role.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};

pub(in crate::endpoint) const INVITATIONS: Doc = Doc {
    id: "listInvitations",
    tag: TAG,
    summary: "List the organization's invitations",
    description: "The invitations of the caller's organization, including used, revoked and expired \
        ones, without their codes.",
    links: &[Link::with_parameters(
        "revokeInvitation",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

pub(in crate::endpoint) const REVOKE_INVITATION: Doc = Doc {
    id: "revokeInvitation",
    tag: TAG,
    summary: "Revoke an invitation",
    description: "Revokes an unused invitation: nobody can register with its code any more. Owners \
        and admins of the organization may revoke any invitation.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};
