//! Endpoints of the caller's organization: members and invitations.

use hyper::Method;
use kedge_http::signing::{PathMember, Signs, Target};
use kedge_protocol::action::Kind;

use crate::api::Endpoint;
use crate::api::accounts::views::WalletView;
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::Page;
use crate::api::organization::bodies::{InviteBody, RoleBody};
use crate::api::organization::views::{InvitationView, ShownInvitation};
use crate::api::organization::{handlers, members};
use crate::api::row::{IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed};

pub(in crate::api) fn rows() -> impl Iterator<Item = Endpoint> {
    members().into_iter().chain(invitations())
}

fn members() -> Vec<Endpoint> {
    vec![
        Endpoint {
            response: schema::<handlers::OwnOrganization>,
            etag: true,
            ..get("/organizations/me", &ME, handler!(handlers::me))
        },
        Endpoint {
            query: &[listing::LIST],
            response: schema::<Page<WalletView>>,
            ..get(
                "/organizations/me/members",
                &MEMBERS,
                handler!(members::members),
            )
        },
        Endpoint {
            request: Some(schema::<RoleBody>),
            response: schema::<Changed<WalletView>>,
            prepare: Some(prepare!(members::check_member)),
            ..signed(
                Method::PATCH,
                "/organizations/me/members/{id}",
                &SET_ROLE,
                Signs::Body(Kind::OrgRole, Target::Organization),
                answer!(members::changed),
            )
        },
        Endpoint {
            response: schema::<Changed<WalletView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/members/{id}",
                &REMOVE_MEMBER,
                Signs::PathMember(
                    Kind::OrgMemberRemove,
                    Target::Organization,
                    PathMember::Wallet,
                ),
                answer!(members::changed),
            )
        },
    ]
}

fn invitations() -> Vec<Endpoint> {
    vec![
        Endpoint {
            request: Some(schema::<InviteBody>),
            status: 201,
            response: schema::<Changed<ShownInvitation>>,
            shows_secret: true,
            ..signed(
                Method::POST,
                "/organizations/me/invitations",
                &INVITE,
                Signs::Body(Kind::OrgInvite, Target::Organization),
                answer!(members::invited),
            )
        },
        Endpoint {
            query: &[listing::LIST],
            response: schema::<Page<InvitationView>>,
            ..get(
                "/organizations/me/invitations",
                &INVITATIONS,
                handler!(members::invitations),
            )
        },
        Endpoint {
            response: schema::<Changed<InvitationView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/invitations/{id}",
                &REVOKE_INVITATION,
                Signs::PathMember(
                    Kind::OrgInvitationRevoke,
                    Target::Organization,
                    PathMember::Invitation,
                ),
                answer!(members::revoked),
            )
        },
    ]
}

const TAG: &str = "Organization";

const ME: Doc = Doc {
    id: "getOwnOrganization",
    tag: TAG,
    summary: "Read the caller's organization and its limits",
    description: "The organization with its tier and price, how many requests each limit allows, how \
        many were sent in the current window, and when each limit would run out at that pace. Only the \
        operator sets the tier.",
    ..Doc::MISSING
};

const MEMBERS: Doc = Doc {
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

const SET_ROLE: Doc = Doc {
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

const REMOVE_MEMBER: Doc = Doc {
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

const INVITE: Doc = Doc {
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

const INVITATIONS: Doc = Doc {
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

const REVOKE_INVITATION: Doc = Doc {
    id: "revokeInvitation",
    tag: TAG,
    summary: "Revoke an invitation",
    description: "Revokes an unused invitation: nobody can register with its code any more. Owners \
        and admins of the organization may revoke any invitation.",
    links: &[TO_ACTION, TO_PROOF],
    ..Doc::MISSING
};
