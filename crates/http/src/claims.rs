//! Checks of zero-knowledge claims about this server's log, each on its own thread, at most `CLAIM_CHECKS_MAX` at a
//! time; further claims are refused with 503, or with 429 if the organization has used its share. Texts, paths and
//! stored values are checked before curve points and the pairing. The verification key is read at the start, which
//! fails if the key must not be trusted on the log's chain.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_actors::fair::{FairPermit, FairQueue, QueueFull, share};
use kedge_actors::{Engine, PublishedState};
use kedge_config::Config;
use kedge_protocol::Code;
use kedge_protocol::claim::{ClaimFile, ClaimFileError, ClaimSummary};
use kedge_protocol::limits::CLAIM_CHECKS_MAX;
use kedge_protocol::receipt::ReceiptError;
use kedge_protocol::{BatchKeys, Id};
use kedge_prover::claim::{ClaimError, verify_proof};
use kedge_prover::groth16::{VerifyingKey, VerifyingKeyError};
use kedge_prover::keys::{self, CircuitKeyError, TEST_CHAIN_IDS};
use kedge_storage::{AnchorProgress, StoreSnapshot};

use crate::error::{ApiError, ApiResult};
use crate::limits::ShareKind;

/// `Retry-After` of a server without a verification key.
const NO_KEY_RETRY_S: u64 = 3_600;
/// Size limit of the key's file; this circuit's has 5,000 bytes.
const KEY_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Error while loading the verification key.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsKeyError {
    #[error("claims_key_file {0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("claims_key_file {0}: {1}; use the verification_key.json of the circuit's ceremony")]
    Key(PathBuf, VerifyingKeyError),
    /// The key must not be trusted on this chain.
    #[error("claims_key_file {path} cannot check claims on chain {chain_id}: {error}")]
    NotAllowed {
        path: PathBuf,
        chain_id: u64,
        error: CircuitKeyError,
    },
}

pub struct ClaimChecker {
    key: Option<Arc<VerifyingKey>>,
    turns: Arc<FairQueue<Id>>,
}

pub struct VerifiedClaim {
    pub file: ClaimFile,
    pub shown: ClaimSummary,
}

impl ClaimChecker {
    /// Reads the configured key. Without one, test chains use the development key and other chains have none.
    pub fn open(config: &Config, chain_id: u64) -> Result<Self, ClaimsKeyError> {
        let key = match &config.claims_key_file {
            Some(path) => Some(Arc::new(read_key(path, chain_id)?)),
            None => TEST_CHAIN_IDS
                .contains(&chain_id)
                .then(|| Arc::new(keys::dev_insecure().clone())),
        };
        Ok(Self {
            key,
            turns: FairQueue::new(
                CLAIM_CHECKS_MAX,
                share(CLAIM_CHECKS_MAX, config.organization_share_percent),
                usize::MAX,
            ),
        })
    }

    pub fn key(&self) -> ApiResult<&Arc<VerifyingKey>> {
        self.key.as_ref().ok_or_else(|| {
            let message = "this server accepts no claims: its operator has to name the verification \
                           key of a ceremony in the option claims_key_file";
            ApiError::unavailable(message, NO_KEY_RETRY_S)
        })
    }

    /// Checks an organization's claim on a separate thread.
    pub async fn check(
        &self,
        engine: &Engine,
        organization: Id,
        file: ClaimFile,
    ) -> ApiResult<VerifiedClaim> {
        let key = Arc::clone(self.key()?);
        let turn = self.turn(organization)?;
        let engine = engine.clone();
        // Log lines of the thread belong to the request.
        let span = tracing::Span::current();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            span.in_scope(|| checked(&engine, &key, file))
        })
        .await
        .map_err(|error| ApiError::internal(&error))?
    }

    /// A permit for one check. Claims never queue: a refusal costs the caller less time.
    fn turn(&self, organization: Id) -> ApiResult<FairPermit<Id>> {
        let turn = self.turns.try_take(organization);
        turn.map_err(|full| match full {
            QueueFull::Share => ShareKind::Claims.refused(self.turns.share()),
            QueueFull::All => ApiError::overloaded(),
        })
    }
}

fn read_key(path: &Path, chain_id: u64) -> Result<VerifyingKey, ClaimsKeyError> {
    let of_file = |error| ClaimsKeyError::File(path.to_owned(), error);
    let bytes = std::fs::metadata(path).map_err(of_file)?.len();
    if bytes > KEY_FILE_BYTES_MAX {
        let message = format!("has {bytes} bytes; a verification key has a few thousand");
        return Err(of_file(std::io::Error::other(message)));
    }
    let text = std::fs::read_to_string(path).map_err(of_file)?;
    let key = VerifyingKey::of_snarkjs(&text)
        .map_err(|error| ClaimsKeyError::Key(path.to_owned(), error))?;
    keys::check_allowed(&key, chain_id).map_err(|error| ClaimsKeyError::NotAllowed {
        path: path.to_owned(),
        chain_id,
        error,
    })?;
    Ok(key)
}

fn checked(engine: &Engine, key: &VerifyingKey, file: ClaimFile) -> ApiResult<VerifiedClaim> {
    let keys = engine.sequencer_keys()?;
    let shown = file
        .check(engine.domain(), &keys, &key.hash())
        .map_err(|error| refused(&ClaimError::File(error)))?;
    let sequencer = keys.key_of(file.batch.header.number);
    if file.sequencer != sequencer {
        let message = format!("must be {sequencer}, whose signature the batch has");
        return Err(ApiError::field("/sequencer", "range", message));
    }
    held(&engine.published(), &file)?;
    verify_proof(&file, key).map_err(|error| refused(&error))?;
    Ok(VerifiedClaim { file, shown })
}

/// Checks that this log holds what the file claims. A signature alone shows only that the sequencer signed it.
fn held(published: &PublishedState, file: &ClaimFile) -> ApiResult<()> {
    let snapshot = &published.snapshot;
    let number = file.batch.header.number;
    if snapshot.batch(number)? != Some(file.batch) {
        let message = format!(
            "this log holds no such batch {number}, although its sequencer signed the header; \
             submit it as evidence of a fault, together with the batch that this log holds"
        );
        return Err(ApiError::new(Code::StateViolation, message));
    }
    if file.anchor.is_some() && !is_anchored(snapshot, file)? {
        let message = "the chain has not finalized the claim's anchor for this log; prove the claim \
                       from a new proof file of the action";
        return Err(ApiError::new(Code::StateViolation, message));
    }
    Ok(())
}

fn is_anchored(snapshot: &StoreSnapshot, file: &ClaimFile) -> ApiResult<bool> {
    let Some(reported) = &file.anchor else {
        return Ok(false);
    };
    let Some(last) = reported.checkpoint.checkpoint.batches.checked_sub(1) else {
        return Ok(false);
    };
    let anchor = snapshot.anchor_covering(last)?;
    Ok(anchor.is_some_and(|anchor| {
        anchor.status == AnchorProgress::Finalized
            && anchor.checkpoint == reported.checkpoint
            && anchor.contract == reported.contract
            && anchor.tx_hashes.last().copied() == reported.transaction_hash
            && anchor.block_number == reported.block_number
    }))
}

/// The caller's error for a wrong claim file.
fn refused(error: &ClaimError) -> ApiError {
    let prove_again = "prove the claim again: each of its words is bound into the proof";
    let from_file = "prove the claim again from a proof file of this server";
    let (pointer, advice) = match error {
        ClaimError::File(file) => match file {
            ClaimFileError::Format(_) => ("/format".to_owned(), "send a claim file"),
            ClaimFileError::Version(_) => ("/version".to_owned(), "use an older program"),
            ClaimFileError::OtherDomain => {
                ("/domain".to_owned(), "send it to the server of that log")
            }
            ClaimFileError::OtherKey { .. } => {
                let advice = "prove the claim with the key that this server checks with";
                ("/key_hash".to_owned(), advice)
            }
            ClaimFileError::Text(name) => {
                let advice = "give the text that was proved, or its hash alone";
                (format!("/disclosed/{name}/text"), advice)
            }
            ClaimFileError::Input(place) => (format!("/public_inputs/{place}"), prove_again),
            ClaimFileError::Receipt(error) => (receipt_pointer(error).to_owned(), from_file),
            ClaimFileError::Anchor(_) => ("/anchor".to_owned(), from_file),
        },
        ClaimError::Point(error) => {
            let advice = "send the proof's numbers as they were made";
            (format!("/proof/{}", error.part), advice)
        }
        ClaimError::ProofRefused => ("/proof".to_owned(), prove_again),
    };
    ApiError::field(&pointer, "range", format!("is wrong: {error}; {advice}"))
}

fn receipt_pointer(error: &ReceiptError) -> &'static str {
    match error {
        ReceiptError::Signature(_) | ReceiptError::OtherSequencer { .. } => "/batch/signature",
        ReceiptError::Count(_) => "/batch/header/count",
        ReceiptError::Place { .. } => "/leaf/sequence",
        ReceiptError::Time => "/leaf/timestamp_ms",
        ReceiptError::Path(_) => "/inclusion/path",
        _ => "/batch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(claims_key_file: Option<&Path>, chain_id: u64) -> Result<ClaimChecker, String> {
        let config = Config {
            claims_key_file: claims_key_file.map(Path::to_owned),
            ..Config::default()
        };
        ClaimChecker::open(&config, chain_id).map_err(|error| error.to_string())
    }

    fn refusal(claims_key_file: &Path, chain_id: u64) -> String {
        open(Some(claims_key_file), chain_id).err().unwrap()
    }

    #[test]
    fn test_chains_have_the_development_key_and_others_none() {
        for chain_id in TEST_CHAIN_IDS {
            let claims = open(None, chain_id).unwrap();
            assert_eq!(claims.key().unwrap().hash(), keys::dev_insecure().hash());
        }
        let claims = open(None, 1).unwrap();
        let refused = claims.key().err().unwrap();
        assert_eq!(refused.code, Code::Unavailable);
        assert!(refused.message.contains("claims_key_file"));
    }

    #[test]
    fn a_key_is_read_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("verification_key.json");
        assert!(refusal(&path, 1_337).contains("verification_key.json"));
        let text = keys::dev_insecure().to_snarkjs().unwrap();
        std::fs::write(&path, &text).unwrap();
        assert!(open(Some(&path), 1_337).unwrap().key().is_ok());
        assert!(refusal(&path, 1).contains("DEV-INSECURE"));
        std::fs::write(&path, &text[1..]).unwrap();
        assert!(refusal(&path, 1_337).contains("not a verification key"));
        std::fs::write(&path, vec![b' '; 2 << 20]).unwrap();
        assert!(refusal(&path, 1_337).contains("bytes"));
    }

    // Holds invariant 80.
    #[test]
    fn so_many_are_checked_at_one_time() {
        let claims = open(None, 1_337).unwrap();
        let organization = |number: usize| Id {
            prefix: kedge_protocol::Prefix::Organization,
            bytes: [number as u8; 16],
        };
        let mut turns = Vec::new();
        for number in 0..CLAIM_CHECKS_MAX {
            turns.push(claims.turn(organization(number)).unwrap());
            if turns.len() < CLAIM_CHECKS_MAX {
                let refused = claims.turn(organization(number)).err().unwrap();
                assert_eq!(refused.code, Code::RateLimited);
            }
        }
        let other = organization(CLAIM_CHECKS_MAX);
        let refused = claims.turn(other).err().unwrap();
        assert_eq!(refused.code, Code::Unavailable);
        turns.pop();
        assert!(claims.turn(other).is_ok());
    }
}
