//! Members of the caller's organization, and its invitations.

use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_protocol::resource::{Invitation, Role, Wallet};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use crate::api::accounts::views::WalletView;
use crate::api::call::HandlerCall;
use crate::api::listing::list_own;
use crate::api::organization::views::{InvitationView, NewInvitationView};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleChange {
    /// The member, as in the path: the signed body must name it.
    wallet_id: Id,
    #[serde(rename = "role")]
    _role: Role,
}

/// `GET /organizations/me/members`
pub async fn members(call: HandlerCall) -> ApiResult<HttpReply> {
    list_own(
        &call,
        |wallet: &Wallet| Ok((!wallet.is_removed()).then_some(wallet.email.len())),
        |_, wallet| Ok(WalletView::from(wallet)),
    )
}

/// Before `PATCH /organizations/me/members/{id}`: the signed body must name the member of the path.
pub async fn check_member(call: &mut HandlerCall, submission: &mut Submission) -> ApiResult<()> {
    let member = call.id_of(Prefix::Wallet)?;
    let action = submission.actions.first();
    let payload = action.map_or("", |action| submission.text(&action.payload));
    let body: RoleChange = kedge_http::body::parse(payload)?;
    if body.wallet_id != member {
        let message = "must be the wallet of the path";
        return Err(ApiError::field("/wallet_id", "range", message));
    }
    Ok(())
}

/// The answer to `PATCH` and `DELETE /organizations/me/members/{id}`
pub fn changed(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    call.changed(committed, WalletView::from(call.made::<Wallet>(committed)?))
}

/// The answer to `POST /organizations/me/invitations`
pub fn invited(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let invitation: Invitation = call.made(committed)?;
    let shown = NewInvitationView {
        code: call.services.access.invitations.of(invitation.id),
        invitation: InvitationView::from(invitation),
    };
    call.changed(committed, shown)
}

/// The answer to `DELETE /organizations/me/invitations/{id}`
pub fn revoked(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let invitation: Invitation = call.made(committed)?;
    call.changed(committed, InvitationView::from(invitation))
}

/// `GET /organizations/me/invitations`
pub async fn invitations(call: HandlerCall) -> ApiResult<HttpReply> {
    list_own(
        &call,
        |_: &Invitation| Ok(Some(0)),
        |_, invitation| Ok(InvitationView::from(invitation)),
    )
}
