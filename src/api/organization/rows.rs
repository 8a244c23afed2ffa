//! Endpoints of the caller's organization: members and invitations.

use hyper::Method;
use kedge_http::signing::{PathMember, SigningScheme, TargetSource};
use kedge_protocol::Prefix;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use crate::api::EndpointRow;
use crate::api::accounts::views::WalletView;
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::schema;
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::organization::bodies::{InviteBody, MemberRoleBody};
use crate::api::organization::views::{InvitationView, NewInvitationView};
use crate::api::organization::{handlers, members};
use crate::api::row::{IF_MATCH, TO_ACTION, TO_PROOF, answer, get, handler, prepare, signed};

pub(in crate::api) fn rows() -> impl Iterator<Item = EndpointRow> {
    members().into_iter().chain(invitations())
}

fn members() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            response: schema::<handlers::OwnOrganization>,
            etag: true,
            ..get("/organizations/me", &ME, handler!(handlers::me))
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<WalletView>>,
            ..get(
                "/organizations/me/members",
                &MEMBERS,
                handler!(members::members),
            )
        },
        EndpointRow {
            request: Some(schema::<MemberRoleBody>),
            response: schema::<ResourceChange<WalletView>>,
            prepare: Some(prepare!(members::check_member)),
            ..signed(
                Method::PATCH,
                "/organizations/me/members/{id}",
                &SET_ROLE,
                SigningScheme::Body(Kind::OrgRole, TargetSource::Organization),
                answer!(members::changed),
            )
        },
        EndpointRow {
            response: schema::<ResourceChange<WalletView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/members/{id}",
                &REMOVE_MEMBER,
                SigningScheme::PathMember(
                    Kind::OrgMemberRemove,
                    TargetSource::Organization,
                    PathMember::Wallet,
                ),
                answer!(members::changed),
            )
        },
    ]
}

fn invitations() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            request: Some(schema::<InviteBody>),
            status: 201,
            response: schema::<ResourceChange<NewInvitationView>>,
            shows_secret: true,
            ..signed(
                Method::POST,
                "/organizations/me/invitations",
                &INVITE,
                SigningScheme::Body(Kind::OrgInvite, TargetSource::Organization),
                answer!(members::invited),
            )
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<InvitationView>>,
            ..get(
                "/organizations/me/invitations",
                &INVITATIONS,
                handler!(members::invitations),
            )
        },
        EndpointRow {
            response: schema::<ResourceChange<InvitationView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/invitations/{id}",
                &REVOKE_INVITATION,
                SigningScheme::PathMember(
                    Kind::OrgInvitationRevoke,
                    TargetSource::Organization,
                    PathMember::Invitation,
                ),
                answer!(members::revoked),
            )
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Organization",
    description: "The caller's organization: its limits, its members and its invitations.",
    area: Some(Area::Wallets),
    ids: &[
        (
            "/organizations/me/members/",
            PathParameter::Id(Prefix::Wallet),
        ),
        (
            "/organizations/me/invitations/",
            PathParameter::Id(Prefix::Action),
        ),
    ],
};

const ME: EndpointDoc = EndpointDoc {
    id: "getOwnOrganization",
    heading: &HEADING,
    summary: "Read the caller's organization and its limits",
    description: "The organization with its tier and price, how many requests each limit allows, how \
        many were sent in the current window, and when each limit would run out at that pace. Only the \
        operator sets the tier.",
    ..EndpointDoc::MISSING
};

const MEMBERS: EndpointDoc = EndpointDoc {
    id: "listMembers",
    heading: &HEADING,
    summary: "List the organization's wallets",
    description: "The wallets of the caller's organization, in the order of registration.",
    links: &[AnswerLink::with_first_id("setMemberRole")],
    ..EndpointDoc::MISSING
};

const SET_ROLE: EndpointDoc = EndpointDoc {
    id: "setMemberRole",
    heading: &HEADING,
    summary: "Set a member's role",
    description: "Sets what a member may do: `owner`, `admin` or `member`. Owners and admins set \
        roles; only an owner makes or changes owners, and nobody changes their own role. \
        `wallet_id` repeats the path's, because the body is signed. `If-Match` accepts the ETag of \
        `GET /organizations/me`: every change of a role or a membership changes the organization.",
    request_headers: IF_MATCH,
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const REMOVE_MEMBER: EndpointDoc = EndpointDoc {
    id: "removeMember",
    heading: &HEADING,
    summary: "Remove a member",
    description: "Ends a wallet's membership. From then on none of its keys can sign; its logins, \
        its access tokens and the API keys that it made are refused; its e-mail address is free \
        again. It keeps what it owns. Owners and admins remove members; an owner cannot be removed, \
        and nobody removes their own wallet.",
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const INVITE: EndpointDoc = EndpointDoc {
    id: "inviteMember",
    heading: &HEADING,
    summary: "Invite someone",
    description: "Makes an invitation to the caller's organization. Its code is shown in this answer \
        and never again; `POST /wallets/register` accepts it as `invitation`. It is valid for one \
        wallet, only for its e-mail address if it names one, until it expires or is revoked, and only \
        while the wallet that made it may still invite to that role.",
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};

const INVITATIONS: EndpointDoc = EndpointDoc {
    id: "listInvitations",
    heading: &HEADING,
    summary: "List the organization's invitations",
    description: "The invitations of the caller's organization, including used, revoked and expired \
        ones, without their codes.",
    links: &[AnswerLink::with_first_id("revokeInvitation")],
    ..EndpointDoc::MISSING
};

const REVOKE_INVITATION: EndpointDoc = EndpointDoc {
    id: "revokeInvitation",
    heading: &HEADING,
    summary: "Revoke an invitation",
    description: "Revokes an unused invitation: nobody can register with its code any more. Owners \
        and admins of the organization may revoke any invitation.",
    links: &[TO_ACTION, TO_PROOF],
    ..EndpointDoc::MISSING
};
