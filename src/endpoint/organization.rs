//! The rows of the caller's organization: its members, its invitations, its API keys.

use hyper::Method;
use kedge_api::Page;
use kedge_api::accounts::{ApiKeyView, InvitationView, ShownInvitation, ShownKey};
use kedge_api::bodies::{InviteBody, KeyBody, RoleBody, RotateBody};
use kedge_api::resources::{Changed, WalletView};
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::row::{answer, get, handler, prepare, signed};
use super::{Endpoint, PathMember, Signs, Target, docs, schema};
use crate::listing::LIST;
use crate::routes::{keys, members, organizations};

const CHANGES_KEY: Option<Right> = Some(Right {
    area: Area::ApiKeys,
    access: Access::Update,
});

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            response: schema::<organizations::OwnOrganization>,
            etag: true,
            ..get(
                "/organizations/me",
                &docs::organization::ME,
                handler!(organizations::me),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<WalletView>>,
            ..get(
                "/organizations/me/members",
                &docs::organization::MEMBERS,
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
                &docs::organization::SET_ROLE,
                Signs::Body(Kind::OrgRole, Target::Organization),
                answer!(members::changed),
            )
        },
        Endpoint {
            response: schema::<Changed<WalletView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/members/{id}",
                &docs::organization::REMOVE_MEMBER,
                Signs::PathMember(
                    Kind::OrgMemberRemove,
                    Target::Organization,
                    PathMember::Wallet,
                ),
                answer!(members::changed),
            )
        },
        Endpoint {
            request: Some(schema::<InviteBody>),
            status: 201,
            response: schema::<Changed<ShownInvitation>>,
            ..signed(
                Method::POST,
                "/organizations/me/invitations",
                &docs::organization::INVITE,
                Signs::Body(Kind::OrgInvite, Target::Organization),
                answer!(members::invited),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<InvitationView>>,
            ..get(
                "/organizations/me/invitations",
                &docs::organization::INVITATIONS,
                handler!(members::invitations),
            )
        },
        Endpoint {
            response: schema::<Changed<InvitationView>>,
            ..signed(
                Method::DELETE,
                "/organizations/me/invitations/{id}",
                &docs::organization::REVOKE_INVITATION,
                Signs::PathMember(
                    Kind::OrgInvitationRevoke,
                    Target::Organization,
                    PathMember::Invitation,
                ),
                answer!(members::revoked),
            )
        },
        Endpoint {
            request: Some(schema::<KeyBody>),
            status: 201,
            response: schema::<Changed<ShownKey>>,
            prepare: Some(prepare!(keys::create)),
            ..signed(
                Method::POST,
                "/api-keys",
                &docs::keys::CREATE,
                Signs::Body(Kind::KeyCreate, Target::Empty),
                answer!(keys::shown),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ApiKeyView>>,
            ..get("/api-keys", &docs::keys::LIST, handler!(keys::list))
        },
        Endpoint {
            response: schema::<ApiKeyView>,
            etag: true,
            ..get("/api-keys/{id}", &docs::keys::GET, handler!(keys::get))
        },
        Endpoint {
            response: schema::<Changed<ApiKeyView>>,
            ..signed(
                Method::DELETE,
                "/api-keys/{id}",
                &docs::keys::DELETE,
                Signs::NoBody(Kind::KeyDelete, Target::Path),
                answer!(keys::deleted),
            )
        },
        Endpoint {
            right: CHANGES_KEY,
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<ShownKey>>,
            prepare: Some(prepare!(keys::rotate)),
            ..signed(
                Method::POST,
                "/api-keys/{id}/rotate",
                &docs::keys::ROTATE,
                Signs::Body(Kind::KeyRotate, Target::Path),
                answer!(keys::shown),
            )
        },
    ]
}
