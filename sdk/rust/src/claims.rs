//! Zero-knowledge claims: proving and verifying them. Requires the feature `claims`.

use std::sync::Arc;

use kedge_protocol::proof::ProofFile;
use kedge_prover::keys;

use crate::client::Client;
use crate::error::{ClientError, ClientResult, VerificationError};

pub use kedge_prover::claim::{
    ClaimBinding, ClaimDisclosure, ClaimError, ClaimFile, ClaimSummary, DisclosureMask,
};
pub use kedge_prover::groth16::{ProvingKey, VerifyingKey, zkey};
pub use kedge_prover::keys::{dev_insecure, dev_insecure_proving};

impl Client {
    /// Proves chosen words of a proof file's action, for one claimant, contract and purpose. Verifies the file first.
    /// Takes several seconds on a separate thread.
    pub async fn prove_claim(
        &self,
        key: Arc<ProvingKey>,
        file: ProofFile,
        choice: ClaimDisclosure,
        binding: ClaimBinding,
    ) -> ClientResult<ClaimFile> {
        file.verify(&self.domain(), &self.sequencer_keys())
            .map_err(VerificationError::from)?;
        self.check_key(key.verifying())?;
        let proving = tokio::task::spawn_blocking(move || {
            kedge_prover::claim::prove(&key, &file, choice, binding)
        });
        match proving.await {
            Ok(Ok(claim)) => Ok(claim),
            Ok(Err(error)) => Err(ClientError::Usage(format!("no claim was proved: {error}"))),
            Err(error) => Err(ClientError::Usage(format!(
                "proving stopped early: {error}"
            ))),
        }
    }

    /// Verifies a claim for this client's log, with a verifying key that the caller trusts. Only the chain can confirm
    /// the checkpoint that the claim refers to.
    pub fn verify_claim(
        &self,
        claim: &ClaimFile,
        key: &VerifyingKey,
    ) -> ClientResult<ClaimSummary> {
        self.check_key(key)?;
        let verified =
            kedge_prover::claim::verify(claim, &self.domain(), &self.sequencer_keys(), key);
        verified.map_err(|error| VerificationError::Claim(error).into())
    }

    fn check_key(&self, key: &VerifyingKey) -> ClientResult<()> {
        keys::check_allowed(key, self.domain().chain_id)
            .map_err(|error| ClientError::Usage(error.to_string()))
    }
}
