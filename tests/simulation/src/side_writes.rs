//! Side writes of callers: refresh tokens of logins, in half of the seeds. Acknowledged writes survive any crash, and
//! so do writes seen at a start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, SubmissionError};
use kedge_protocol::{Id, Prefix};
use kedge_storage::{SessionRow, SideWrite, StoreSnapshot};
use parking_lot::Mutex;

use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// Number of tokens, each written repeatedly.
const TOKENS: u64 = 6;

/// Possible rows of each token: the last one acknowledged, and later ones with an unknown outcome.
type KnownSessions = BTreeMap<[u8; 32], Vec<Option<SessionRow>>>;

/// Logins of a run, over all of its processes.
pub(crate) struct SimulatedLogins {
    known: Arc<Mutex<KnownSessions>>,
    schedule: Arc<SeededSchedule>,
    random: SimulationRandom,
}

fn row(random: &mut SimulationRandom) -> SessionRow {
    SessionRow {
        wallet_id: Id {
            prefix: Prefix::Wallet,
            bytes: [7; 16],
        },
        family: [random.below(3) as u8; 16],
        expires_at_s: 4_000_000_000 + random.below(1_000_000),
        used: random.below(2) == 0,
    }
}

impl SimulatedLogins {
    /// The logins of a seed; `None` if its run has none.
    pub(crate) fn of(seed: u64, schedule: &Arc<SeededSchedule>) -> Option<Self> {
        let mut random = SimulationRandom::new(seed, 40);
        if random.below(2) == 0 {
            return None;
        }
        let nothing = |token: u64| ([token as u8; 32], vec![None]);
        Some(Self {
            known: Arc::new(Mutex::new((0..TOKENS).map(nothing).collect())),
            schedule: Arc::clone(schedule),
            random,
        })
    }

    /// Writes until the process ends.
    pub(crate) fn begin(&mut self, engine: &Engine) {
        let mut random = SimulationRandom::new(self.random.next(), 41);
        let (engine, known) = (engine.clone(), Arc::clone(&self.known));
        let schedule = Arc::clone(&self.schedule);
        tokio::spawn(async move {
            while engine.failure().reason().is_none() {
                tokio::time::sleep(Duration::from_millis(random.below(60))).await;
                let (token_hash, row) = ([random.below(TOKENS) as u8; 32], row(&mut random));
                let mut rows = known.lock().remove(&token_hash).unwrap_or_default();
                rows.push(Some(row));
                known.lock().insert(token_hash, rows);
                let write = SideWrite::Session { token_hash, row };
                let written = engine.side_write(write).await;
                schedule.note("side", &[u64::from(written.is_ok())]);
                let mut known = known.lock();
                let rows = known.entry(token_hash).or_default();
                match written {
                    Ok(()) => *rows = vec![Some(row)],
                    Err(SubmissionError::Unknown) => {}
                    Err(_) => _ = rows.pop(),
                }
            }
        });
    }

    /// Checks the store that a process left.
    pub(crate) fn check(&self, snapshot: &StoreSnapshot) -> Result<(), Violation> {
        for (token_hash, rows) in self.known.lock().iter_mut() {
            let stored = snapshot.session(*token_hash);
            let stored = stored.map_err(|error| Violation::new("a row cannot be read", error))?;
            if !rows.contains(&stored) {
                let what = "an acknowledged side write is not in the store, token";
                return Err(Violation::new(what, token_hash[0]));
            }
            *rows = vec![stored];
        }
        Ok(())
    }
}
