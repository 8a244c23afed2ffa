//! Outcome of a requested anchor: the block that contains it, or the error.

use std::time::Duration;

use kedge_protocol::Id;
use kedge_storage::{AnchorProgress, StoreReadError};

use super::obstacles::AnchorObstacles;
use crate::engine::Engine;
use crate::messages::AnchorReport;

/// Time between looks at the outcome.
const LOOK: Duration = Duration::from_millis(50);

/// Time after which the sender has taken a step on the anchor: before that, an error may be of an earlier one.
const STEP_GRACE: Duration = Duration::from_secs(6);

/// Progress of an anchor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorOutcome {
    pub number: Option<u64>,
    pub id: Option<Id>,
    pub batches: u64,
    /// `None` if the log holds no such anchor.
    pub status: Option<AnchorProgress>,
    pub block_number: Option<u64>,
}

impl Engine {
    /// Waits until a block contains an anchor that was begun, at most `limit`. After the limit its transaction is on
    /// its way, and the node has accepted it.
    ///
    /// # Errors
    /// Why the anchor failed, or could not be sent.
    pub async fn anchored(
        &self,
        report: &AnchorReport,
        limit: Duration,
    ) -> Result<AnchorOutcome, String> {
        let env = &self.inner.options.env;
        let begun = env.now();
        let waiting = async {
            loop {
                let outcome = self.outcome(report, env.now() >= begun + STEP_GRACE)?;
                let is_over = outcome.block_number.is_some() || outcome.status.is_none();
                if is_over {
                    return Ok(outcome);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(limit, waiting).await {
            Ok(outcome) => outcome,
            Err(_) => match self.outcome(report, true)? {
                outcome if outcome.status == Some(AnchorProgress::Pending) => Err(format!(
                    "the anchor of {} batches was not sent within {limit:?}; the server tries again",
                    outcome.batches
                )),
                outcome => Ok(outcome),
            },
        }
    }

    fn outcome(&self, report: &AnchorReport, has_stepped: bool) -> Result<AnchorOutcome, String> {
        let row = match report.number {
            Some(number) => self.published().snapshot.anchor(number),
            None => Ok(None),
        };
        let row = row.map_err(|error: StoreReadError| error.to_string())?;
        let status = row.as_ref().map(|row| row.status);
        let block_number = row.as_ref().and_then(|row| row.block_number);
        let trouble = self.inner.anchor_trouble.load();
        let of = |trouble: Option<&(u64, String)>| AnchorObstacles::of(trouble, report.batches);
        let failed = trouble
            .as_ref()
            .and_then(|trouble| of(trouble.failed.as_ref()));
        if status == Some(AnchorProgress::Failed) {
            let why = failed.unwrap_or_else(|| "see the server's log".to_owned());
            return Err(format!(
                "the anchor of {} batches failed: {why}",
                report.batches
            ));
        }
        if let Some(trouble) = trouble.as_ref().filter(|_| block_number.is_none()) {
            let held = of(trouble.held.as_ref());
            let step = trouble.step.clone().filter(|_| has_stepped);
            if let Some(why) = held.or(step) {
                return Err(format!(
                    "the anchor of {} batches is stored and not in a block: {why}. The server tries again",
                    report.batches
                ));
            }
        }
        Ok(AnchorOutcome {
            number: report.number,
            id: report.id,
            batches: report.batches,
            status,
            block_number,
        })
    }
}
