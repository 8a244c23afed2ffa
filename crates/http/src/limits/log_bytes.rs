//! Quota of bytes in the log. The commit itself counts stored bytes; this module compares them, plus the bytes of
//! requests in flight, with the tier's quota.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_protocol::Code;
use kedge_protocol::Id;
use kedge_protocol::resource::Tier;
use kedge_storage::StoreReadError;
use parking_lot::{Mutex, MutexGuard};

use super::RateLimits;
use super::policy::{DISK_SHARE, LOG_BYTES};
use crate::error::{ApiError, ApiResult, ErrorDetail};

/// An organization's use of its quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogUse {
    /// Bytes that its requests have added.
    pub bytes: u64,
    /// Quota in bytes; `None` is unlimited.
    pub limit: Option<u64>,
}

/// Bytes of requests on their way to the log, by organization.
#[derive(Default)]
pub(super) struct LogBytesInFlight(Mutex<HashMap<Id, u64>>);

impl LogBytesInFlight {
    fn bytes(&self) -> MutexGuard<'_, HashMap<Id, u64>> {
        self.0.lock()
    }
}

/// A request's part of the bytes in flight, released on drop.
pub struct LogBytesHold {
    arriving: Arc<LogBytesInFlight>,
    organization: Id,
    bytes: u64,
}

impl Drop for LogBytesHold {
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
        detail: ErrorDetail::Limit { policy: LOG_BYTES },
        ..ApiError::new(Code::QuotaExceeded, message)
    }
}

impl RateLimits {
    pub fn log_use(&self, organization: Id) -> Result<LogUse, StoreReadError> {
        let limit = self.account(organization)?.plan().log_bytes;
        let bytes = self.engine.published().snapshot.log_bytes(organization)?;
        Ok(LogUse { bytes, limit })
    }

    /// Refuses writes of a tier that must leave the remaining disk space to others, so that many organizations of one
    /// tier cannot fill the disk.
    pub fn check_disk(&self, tier: &Tier) -> ApiResult<()> {
        let kept = self.disk_reserves.of(tier);
        if !self.enforced || kept == 0 || self.engine.disk_free_bytes() >= kept {
            return Ok(());
        }
        let message = format!(
            "the service's disk is almost full, and writes of this tier ({}) leave its last {kept} bytes to others; \
             reads are still served; try again later, or ask the operator for room or another tier",
            tier.name()
        );
        Err(ApiError {
            detail: ErrorDetail::Limit { policy: DISK_SHARE },
            ..ApiError::new(Code::QuotaExceeded, message)
        })
    }

    /// Refuses a write of an organization over its quota, or of an exhausted tier, before any work is done. Returns the
    /// tier.
    pub fn check_log(&self, organization: Id) -> ApiResult<Tier> {
        let tier = self.account(organization)?.plan().tier;
        self.check_disk(&tier)?;
        let used = self.log_use(organization)?;
        match used.limit {
            Some(limit) if used.bytes >= limit => Err(exceeded(used, limit)),
            _ => Ok(tier),
        }
    }

    /// Reserves `bytes` until the write has ended.
    pub fn hold_log(&self, organization: Id, bytes: u64) -> ApiResult<Option<LogBytesHold>> {
        let plan = self.account(organization)?.plan();
        self.check_disk(&plan.tier)?;
        if plan.log_bytes.is_none() {
            return Ok(None);
        }
        let mut arriving = self.arriving.bytes();
        // A write is stored before its reservation is released, so reading in this order misses nothing.
        let held = arriving.get(&organization).copied().unwrap_or(0);
        let used = self.log_use(organization)?;
        let total = used.bytes.saturating_add(held).saturating_add(bytes);
        if let Some(limit) = used.limit.filter(|limit| total > *limit) {
            return Err(exceeded(used, limit));
        }
        *arriving.entry(organization).or_default() += bytes;
        Ok(Some(LogBytesHold {
            arriving: Arc::clone(&self.arriving),
            organization,
            bytes,
        }))
    }
}
