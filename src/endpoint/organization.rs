//! The rows of the caller's organization: its members, its invitations, its API keys.

use hyper::Method;
use kedge_api::Page;
use kedge_api::accounts::{ApiKeyView, InvitationView, ShownInvitation, ShownKey};
use kedge_api::bodies::{InviteBody, KeyBody, RoleBody, RotateBody};
use kedge_api::resources::{Changed, WalletView};
use kedge_http::auth::rights::{Access, Right};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Area;

use super::table::{documented, handler};
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
            handler: handler!(organizations::me),
            ..documented(Method::GET, "/organizations/me", &docs::organization::ME)
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<WalletView>>,
            handler: handler!(members::members),
            ..documented(
                Method::GET,
                "/organizations/me/members",
                &docs::organization::MEMBERS,
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::OrgRole, Target::Organization),
            request: Some(schema::<RoleBody>),
            response: schema::<Changed<WalletView>>,
            handler: handler!(members::set_role),
            ..documented(
                Method::PATCH,
                "/organizations/me/members/{id}",
                &docs::organization::SET_ROLE,
            )
        },
        Endpoint {
            signs: Signs::PathMember(
                Kind::OrgMemberRemove,
                Target::Organization,
                PathMember::Wallet,
            ),
            response: schema::<Changed<WalletView>>,
            handler: handler!(members::remove),
            ..documented(
                Method::DELETE,
                "/organizations/me/members/{id}",
                &docs::organization::REMOVE_MEMBER,
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::OrgInvite, Target::Organization),
            request: Some(schema::<InviteBody>),
            status: 201,
            response: schema::<Changed<ShownInvitation>>,
            handler: handler!(members::invite),
            ..documented(
                Method::POST,
                "/organizations/me/invitations",
                &docs::organization::INVITE,
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<InvitationView>>,
            handler: handler!(members::invitations),
            ..documented(
                Method::GET,
                "/organizations/me/invitations",
                &docs::organization::INVITATIONS,
            )
        },
        Endpoint {
            signs: Signs::PathMember(
                Kind::OrgInvitationRevoke,
                Target::Organization,
                PathMember::Invitation,
            ),
            response: schema::<Changed<InvitationView>>,
            handler: handler!(members::revoke),
            ..documented(
                Method::DELETE,
                "/organizations/me/invitations/{id}",
                &docs::organization::REVOKE_INVITATION,
            )
        },
        Endpoint {
            signs: Signs::Body(Kind::KeyCreate, Target::Empty),
            request: Some(schema::<KeyBody>),
            status: 201,
            response: schema::<Changed<ShownKey>>,
            handler: handler!(keys::create),
            ..documented(Method::POST, "/api-keys", &docs::keys::CREATE)
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<ApiKeyView>>,
            handler: handler!(keys::list),
            ..documented(Method::GET, "/api-keys", &docs::keys::LIST)
        },
        Endpoint {
            response: schema::<ApiKeyView>,
            etag: true,
            handler: handler!(keys::get),
            ..documented(Method::GET, "/api-keys/{id}", &docs::keys::GET)
        },
        Endpoint {
            signs: Signs::NoBody(Kind::KeyDelete, Target::Path),
            response: schema::<Changed<ApiKeyView>>,
            handler: handler!(keys::delete),
            ..documented(Method::DELETE, "/api-keys/{id}", &docs::keys::DELETE)
        },
        Endpoint {
            right: CHANGES_KEY,
            signs: Signs::Body(Kind::KeyRotate, Target::Path),
            request: Some(schema::<RotateBody>),
            response: schema::<Changed<ShownKey>>,
            handler: handler!(keys::rotate),
            ..documented(Method::POST, "/api-keys/{id}/rotate", &docs::keys::ROTATE)
        },
    ]
}
