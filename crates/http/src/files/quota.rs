//! Quota of file bytes by organization, including uploads in flight.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_protocol::Code;
use kedge_protocol::Id;
use kedge_protocol::resource::FileRecord;
use kedge_storage::{RowPage, StoreReadError, StoreSnapshot};
use parking_lot::Mutex;

use crate::error::{ApiError, ApiResult};

/// Organizations that stay cached without uploads.
const IDLE_MAX: usize = 10_000;
/// Rows summed up in one step.
const PIECE_ROWS: usize = 256;

pub(super) struct UploadQuotas {
    bytes_max: u64,
    organizations: Mutex<HashMap<Id, UploadUsage>>,
}

#[derive(Default)]
struct UploadUsage {
    /// Bytes of the files that the log names; `None` until they are summed up.
    kept: Option<u64>,
    /// Bytes of uploads in flight.
    reserved: u64,
    uploads: usize,
    /// Number of ended uploads: a sum made meanwhile may lack their bytes.
    ended: u64,
}

/// Quota reserved by one upload, returned on drop.
pub(super) struct QuotaReservation {
    quotas: Arc<UploadQuotas>,
    organization: Id,
    bytes: u64,
    kept: bool,
}

impl UploadQuotas {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            organizations: Mutex::default(),
        }
    }

    fn with<T>(&self, organization: Id, act: impl FnOnce(&mut UploadUsage) -> T) -> T {
        // A panic under the lock leaves plain numbers.
        let mut organizations = self.organizations.lock();
        let usage = organizations.entry(organization).or_default();
        let made = act(usage);
        if usage.uploads == 0 && organizations.len() > IDLE_MAX {
            organizations.remove(&organization);
        }
        made
    }

    /// Begins an upload with nothing reserved. Each call of `snapshot` returns the store's current state. Blocks while
    /// the organization's files are summed up, which is rare.
    pub(super) fn begin(
        self: &Arc<Self>,
        organization: Id,
        snapshot: impl Fn() -> StoreSnapshot,
    ) -> Result<QuotaReservation, StoreReadError> {
        self.with(organization, |usage| usage.uploads += 1);
        let reservation = QuotaReservation {
            quotas: Arc::clone(self),
            organization,
            bytes: 0,
            kept: false,
        };
        loop {
            let (known, ended) = self.with(organization, |usage| (usage.kept, usage.ended));
            if known.is_some() {
                return Ok(reservation);
            }
            let kept = add_up(&snapshot(), organization)?;
            self.with(organization, |usage| {
                if usage.ended == ended {
                    usage.kept = Some(kept);
                }
            });
        }
    }
}

fn add_up(snapshot: &StoreSnapshot, organization: Id) -> Result<u64, StoreReadError> {
    let mut page = RowPage {
        after: None,
        descending: false,
        limit: PIECE_ROWS,
    };
    let mut bytes = 0u64;
    loop {
        let files = snapshot.listed::<FileRecord>(organization, page)?;
        for file in &files {
            bytes = bytes.saturating_add(file.size_bytes);
        }
        match files.last() {
            Some(last) => page.after = Some(last.trace.created_sequence),
            None => return Ok(bytes),
        }
    }
}

impl QuotaReservation {
    /// Reserves quota for `bytes` in total; refuses more than the quota.
    pub(super) fn grow(&mut self, bytes: u64) -> ApiResult<()> {
        let more = bytes.saturating_sub(self.bytes);
        let most = self.quotas.bytes_max;
        let taken = self.quotas.with(self.organization, |usage| {
            let used = usage.kept.unwrap_or(0).saturating_add(usage.reserved);
            if used.saturating_add(more) > most {
                return Err(used);
            }
            usage.reserved += more;
            Ok(())
        });
        taken.map_err(|used| {
            ApiError::new(
                Code::PayloadTooLarge,
                format!(
                    "the organization's files would exceed its {most} bytes; {used} are in use, \
                     including uploads in progress"
                ),
            )
        })?;
        self.bytes += more;
        Ok(())
    }

    /// Notes that the log names the file now.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for QuotaReservation {
    fn drop(&mut self) {
        self.quotas.with(self.organization, |usage| {
            usage.reserved -= self.bytes;
            usage.uploads -= 1;
            usage.ended += 1;
            usage.kept = match usage.kept {
                Some(kept) if self.kept => Some(kept.saturating_add(self.bytes)),
                // With an unknown outcome, the sum is computed again.
                _ if self.bytes > 0 => None,
                known => known,
            };
        });
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    fn begun(quotas: &Arc<UploadQuotas>, kept: u64) -> QuotaReservation {
        let organization = Id::of_hash(Prefix::Organization, &kedge_protocol::Hash([1; 32]));
        quotas.with(organization, |usage| {
            usage.kept.get_or_insert(kept);
            usage.uploads += 1;
        });
        QuotaReservation {
            quotas: Arc::clone(quotas),
            organization,
            bytes: 0,
            kept: false,
        }
    }

    #[test]
    fn uploads_under_way_count_and_give_back_what_they_do_not_keep() {
        let quotas = Arc::new(UploadQuotas::new(100));
        let mut one = begun(&quotas, 40);
        let mut other = begun(&quotas, 40);
        one.grow(30).unwrap();
        one.grow(50).unwrap();
        let refused = other.grow(11).unwrap_err();
        assert_eq!(refused.code, Code::PayloadTooLarge);
        assert!(
            refused.message.contains("90 are in use"),
            "{}",
            refused.message
        );
        other.grow(10).unwrap();
        one.keep();
        assert!(other.grow(11).is_err(), "what is kept stays taken");
        drop(other);
        let mut next = begun(&quotas, 90);
        assert!(next.grow(11).is_err());
        next.grow(10).unwrap();
    }
}
