//! The caller's organization: its members and the invitations to it.

use std::sync::Arc;

use kedge_actors::api::Submission;
use kedge_api::accounts::{InvitationView, ShownInvitation};
use kedge_api::resources::{Changed, WalletView};
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_machine::image::Image;
use kedge_protocol::resource::{Invitation, Role, Wallet};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use super::{Single, single};
use crate::call::Call;
use crate::listing::{Listing, Source};

/// A member's new role.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleBody {
    /// The member, as in the path: the signed body must name them.
    wallet_id: Id,
    /// The new role.
    #[serde(rename = "role")]
    _role: Role,
}

/// `GET /organizations/me/members`
pub async fn members(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let organization_id = call.session()?.organization_id;
    let listing = Listing::of(&call, &[])?;
    listing.answer(
        &call,
        published.head.sequence,
        Source {
            fetch: |rows| Ok(published.snapshot.wallets(organization_id, rows)?),
            place: |wallet: &Wallet| wallet.trace.created_sequence,
            keep: |wallet: &Wallet| Ok((!wallet.is_removed()).then_some(wallet.email.len())),
        },
        |wallet| Ok(WalletView::from(wallet)),
    )
}

/// `PATCH /organizations/me/members/{id}`
pub async fn set_role(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_conditional()?);
    let member = call.id_of(Prefix::Wallet, "wallet")?;
    let action = submission.actions.first();
    let payload = action.map_or("", |action| submission.text(&action.payload));
    let body: RoleBody = kedge_http::body::parse(payload)?;
    if body.wallet_id != member {
        let message = "must be the wallet of the path";
        return Err(ApiError::field("/wallet_id", "range", message));
    }
    changed_member(&call, submission).await
}

/// `DELETE /organizations/me/members/{id}`
pub async fn remove(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    changed_member(&call, submission).await
}

async fn changed_member(call: &Call, submission: Arc<Submission>) -> Result<Reply, ApiError> {
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(call, &submission, &outcome)?;
    let wallet = also_made(&single, |image| match image {
        Image::Wallet(wallet) => Some(wallet),
        _ => None,
    })?;
    let answer = Changed {
        resource: WalletView::from(wallet),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(call.status(), &answer)
}

/// The invitation that an action made or changed.
fn invitation_of(single: &Single) -> Result<Invitation, ApiError> {
    also_made(single, |image| match image {
        Image::Invitation(invitation) => Some(invitation),
        _ => None,
    })
}

/// What an action on the organization made or changed besides it.
fn also_made<T>(single: &Single, pick: impl Fn(Image) -> Option<T>) -> Result<T, ApiError> {
    let found = single.images()?.into_iter().find_map(pick);
    found.ok_or_else(|| ApiError::internal(&"an action on an organization changed nothing else"))
}

/// `POST /organizations/me/invitations`
pub async fn invite(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let invitation = invitation_of(&single)?;
    let answer = Changed {
        resource: ShownInvitation {
            code: call.app.invitations.of(invitation.id),
            invitation: InvitationView::from(invitation),
        },
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(call.status(), &answer)
}

/// `DELETE /organizations/me/invitations/{id}`
pub async fn revoke(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let answer = Changed {
        resource: InvitationView::from(invitation_of(&single)?),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(call.status(), &answer)
}

/// `GET /organizations/me/invitations`
pub async fn invitations(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let organization_id = call.session()?.organization_id;
    let listing = Listing::of(&call, &[])?;
    listing.answer(
        &call,
        published.head.sequence,
        Source {
            fetch: |rows| Ok(published.snapshot.invitations(organization_id, rows)?),
            place: |invitation: &Invitation| invitation.created_sequence,
            keep: |_: &Invitation| Ok(Some(0)),
        },
        |invitation| Ok(InvitationView::from(invitation)),
    )
}
