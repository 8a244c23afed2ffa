//! The quota of bytes in the log. What is stored is counted where it is written, in the commit itself; here that is
//! compared with the tier's quota, together with the bytes of requests on their way there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kedge_protocol::Id;
use kedge_storage::ReadError;

use super::RateLimits;
use crate::error::{ApiError, Code, Detail};

/// The quota's name, as `body.policy` of a refusal has it.
pub const LOG_BYTES: &str = "log-bytes";

/// How an organization stands to its quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogUse {
    /// Bytes that its requests have added.
    pub bytes: u64,
    /// How many it may have; `None` is no quota.
    pub limit: Option<u64>,
}

/// Bytes of requests that are on their way to the log.
#[derive(Default)]
pub(super) struct Arriving(Mutex<HashMap<Id, u64>>);

impl Arriving {
    fn bytes(&self) -> MutexGuard<'_, HashMap<Id, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's part of what is on its way; given back when it is dropped.
pub struct LogHold {
    arriving: Arc<Arriving>,
    organization: Id,
    bytes: u64,
}

impl Drop for LogHold {
    fn drop(&mut self) {
        let mut arriving = self.arriving.bytes();
        if let Some(bytes) = arriving.get_mut(&self.organization) {
            *bytes -= self.bytes;
            if *bytes == 0 {
                arriving.remove(&self.organization);
            }
        }
    }
}

fn exceeded(used: LogUse, limit: u64) -> ApiError {
    let message = format!(
        "the organization uses {} of its {limit} bytes in the log, and this request does not fit; \
         reads are still served; ask the operator for a larger tier",
        used.bytes
    );
    ApiError {
        detail: Detail::Limit { policy: LOG_BYTES },
        ..ApiError::new(Code::QuotaExceeded, message)
    }
}

impl RateLimits {
    /// How an organization stands to its quota.
    pub fn log_use(&self, organization: Id) -> Result<LogUse, ReadError> {
        let limit = self.account(organization)?.plan().log_bytes;
        let bytes = self.engine.published().snapshot.log_bytes(organization)?;
        Ok(LogUse { bytes, limit })
    }

    /// Refuses a write of an organization that has all its bytes: before anything is done for it.
    pub fn check_log(&self, organization: Id) -> Result<(), ApiError> {
        let used = self.log_use(organization)?;
        match used.limit {
            Some(limit) if used.bytes >= limit => Err(exceeded(used, limit)),
            _ => Ok(()),
        }
    }

    /// Holds room for a write of so many bytes until it has ended.
    pub fn hold_log(&self, organization: Id, bytes: u64) -> Result<Option<LogHold>, ApiError> {
        if self.account(organization)?.plan().log_bytes.is_none() {
            return Ok(None);
        }
        let mut arriving = self.arriving.bytes();
        // What arrives is stored before it is given back: in this order nothing is missed.
        let held = arriving.get(&organization).copied().unwrap_or(0);
        let used = self.log_use(organization)?;
        let total = used.bytes.saturating_add(held).saturating_add(bytes);
        if let Some(limit) = used.limit.filter(|limit| total > *limit) {
            return Err(exceeded(used, limit));
        }
        *arriving.entry(organization).or_default() += bytes;
        Ok(Some(LogHold {
            arriving: Arc::clone(&self.arriving),
            organization,
            bytes,
        }))
    }
}
