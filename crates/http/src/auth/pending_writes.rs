//! Session writes kept in memory while the store accepts none. Reading needs a token, and a read-only store should stay
//! readable. A crash loses them, which costs a login. They are stored with the first login after the store accepts
//! writes again.

use std::collections::HashMap;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_actors::api::SubmissionError;
use kedge_storage::{SessionRow, SideWrite, StoreMode, StoreSnapshot};
use parking_lot::{Mutex, MutexGuard};

use crate::clock::now_s;
use crate::error::{ApiError, ApiResult};

/// Limit of kept tokens and ended logins: some tens of MiB.
const ROWS_MAX: usize = 200_000;
/// Poll interval during a write: the store may stop accepting writes before it is durable.
const LOOK: Duration = Duration::from_millis(200);
/// `Retry-After` when there is no room.
const RETRY_AFTER_S: u64 = 60;

#[derive(Default)]
struct PendingSessionRows {
    tokens: HashMap<[u8; 32], SessionRow>,
    /// Ended logins, with the Unix time in seconds until which they must be remembered.
    ended: HashMap<[u8; 16], u64>,
}

#[derive(Default)]
pub(super) struct PendingSessions {
    rows: Mutex<PendingSessionRows>,
}

impl PendingSessionRows {
    fn len(&self) -> usize {
        self.tokens.len() + self.ended.len()
    }

    fn add(&mut self, writes: Vec<SideWrite>) -> ApiResult<()> {
        if self.len() + writes.len() > ROWS_MAX {
            let now_s = now_s();
            self.tokens.retain(|_, row| row.expires_at_s > now_s);
            self.ended.retain(|_, until_s| *until_s > now_s);
        }
        if self.len() + writes.len() > ROWS_MAX {
            let message = "the store is read-only, and memory has no room for more logins";
            return Err(ApiError::unavailable(message, RETRY_AFTER_S));
        }
        for write in writes {
            match write {
                SideWrite::Session { token_hash, row } => {
                    self.tokens.insert(token_hash, row);
                }
                SideWrite::RevokeFamily { family, until_s } => {
                    self.ended.insert(family, until_s);
                }
                other => return Err(ApiError::internal(&format_args!("no login: {other:?}"))),
            }
        }
        Ok(())
    }

    fn writes(&self) -> Vec<SideWrite> {
        let tokens = self.tokens.iter();
        let tokens = tokens.map(|(&token_hash, row)| SideWrite::Session {
            token_hash,
            row: *row,
        });
        let ended = self.ended.iter();
        let ended = ended.map(|(&family, &until_s)| SideWrite::RevokeFamily { family, until_s });
        tokens.chain(ended).collect()
    }

    /// Removes what has been stored, unless it changed since.
    fn forget(&mut self, stored: &[SideWrite]) {
        for write in stored {
            match write {
                SideWrite::Session { token_hash, row }
                    if self.tokens.get(token_hash) == Some(row) =>
                {
                    self.tokens.remove(token_hash);
                }
                SideWrite::RevokeFamily { family, until_s }
                    if self.ended.get(family) == Some(until_s) =>
                {
                    self.ended.remove(family);
                }
                _ => {}
            }
        }
    }
}

fn takes_no_writes(engine: &Engine) -> bool {
    engine.mode() != StoreMode::ReadWrite || engine.disk_full()
}

impl PendingSessions {
    fn rows(&self) -> MutexGuard<'_, PendingSessionRows> {
        self.rows.lock()
    }

    /// Stores session writes, or keeps them while the store accepts no writes.
    pub(super) async fn write(&self, engine: &Engine, writes: Vec<SideWrite>) -> ApiResult<()> {
        if takes_no_writes(engine) {
            return self.rows().add(writes);
        }
        let kept = self.rows().writes();
        let all = [kept.clone(), writes.clone()].concat();
        let storing = engine.side_writes(all);
        tokio::pin!(storing);
        let stored = loop {
            tokio::select! {
                stored = &mut storing => break stored,
                () = tokio::time::sleep(LOOK) => {
                    // The store stopped accepting writes meanwhile. If this write still gets stored, it equals the kept
                    // one.
                    if takes_no_writes(engine) {
                        return self.rows().add(writes);
                    }
                }
            }
        };
        match stored {
            Ok(()) => {
                self.rows().forget(&kept);
                Ok(())
            }
            Err(SubmissionError::ReadOnly(_)) => self.rows().add(writes),
            Err(error) => Err(error.into()),
        }
    }

    /// The state of a refresh token.
    pub(super) fn session(
        &self,
        snapshot: &StoreSnapshot,
        token_hash: [u8; 32],
    ) -> ApiResult<Option<SessionRow>> {
        let kept = self.rows().tokens.get(&token_hash).copied();
        match kept {
            Some(row) => Ok(Some(row)),
            None => Ok(snapshot.session(token_hash)?),
        }
    }

    pub(super) fn is_ended(&self, snapshot: &StoreSnapshot, family: [u8; 16]) -> ApiResult<bool> {
        let kept = self.rows().ended.contains_key(&family);
        Ok(kept || snapshot.family_revoked(family)?)
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::{Id, Prefix};

    use super::*;

    fn token(number: u8, used: bool) -> SideWrite {
        SideWrite::Session {
            token_hash: [number; 32],
            row: SessionRow {
                wallet_id: Id {
                    prefix: Prefix::Wallet,
                    bytes: [1; 16],
                },
                family: [number; 16],
                expires_at_s: u64::MAX,
                used,
            },
        }
    }

    // Holds invariant 135.
    #[test]
    fn what_changed_while_it_was_stored_stays() {
        let mut rows = PendingSessionRows::default();
        rows.add(vec![token(1, false), token(2, false)]).unwrap();
        let stored = rows.writes();
        rows.add(vec![token(1, true)]).unwrap();
        rows.forget(&stored);
        assert_eq!(rows.writes(), [token(1, true)]);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut rows = PendingSessionRows::default();
        for number in 0..ROWS_MAX as u128 {
            let mut family = [0; 16];
            family.copy_from_slice(&number.to_be_bytes());
            rows.ended.insert(family, u64::MAX);
        }
        let refused = rows.add(vec![token(1, false)]).unwrap_err();
        assert_eq!(refused.code, kedge_protocol::Code::Unavailable);
        // An expired row makes room.
        rows.ended
            .values_mut()
            .take(1)
            .for_each(|until_s| *until_s = 0);
        rows.add(vec![token(1, false)]).unwrap();
    }
}
