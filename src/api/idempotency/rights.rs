//! Access to stored answers: the signer must be the asker, and its role must still allow the request. Rules that depend
//! on objects' states are not checked again: a transfer takes the sender's right away, and its retry is still answered.

use kedge_actors::api::{Principal, Submission, SubmissionError};
use kedge_http::error::{ApiError, ApiResult};
use kedge_protocol::Id;
use kedge_rules::rights::check_role;
use kedge_storage::StoreSnapshot;

/// Refuses a request that its signer may not make now. Returns the signer's wallet.
pub(super) fn check(snapshot: &StoreSnapshot, submission: &Submission) -> ApiResult<Id> {
    let signer = submission.head.signer;
    let of_address = || snapshot.wallet_by_address(signer);
    let wallet = match submission.asker {
        Principal::Wallet {
            wallet_id,
            organization_id,
        } => snapshot
            .wallet(wallet_id)?
            .filter(|wallet| wallet.organization_id == organization_id)
            .ok_or(SubmissionError::NoSuchWallet)?,
        Principal::Organization { organization_id } | Principal::Operator { organization_id } => {
            of_address()?
                .filter(|wallet| wallet.organization_id == organization_id)
                .ok_or(SubmissionError::SignerNotOfOrganization)?
        }
        Principal::Registration => of_address()?.ok_or(SubmissionError::SignerNotOfWallet)?,
    };
    if !wallet.keys.contains(&signer) {
        return Err(SubmissionError::SignerNotOfWallet.into());
    }
    for action in &submission.actions {
        let payload = submission.text(&action.payload);
        check_role(&action.kind, wallet.role, payload)
            .map_err(|refusal| ApiError::from(&refusal))?;
    }
    Ok(wallet.id)
}
