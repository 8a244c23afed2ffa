//! Authentication on a node that may lag. It may not have read the part of the log with a caller's credentials, so a
//! refusal could be wrong: it answers UNAVAILABLE, and callers retry.
//!
//! - **Access tokens** are signed by the service's own key, so the wallet is or was in the log. A follower that does
//!   not know it lags, however little.
//! - **API keys** prove nothing without the log: a text of that form is easily made. An unknown key is refused, unless
//!   the node is known to lag or the request names a sequence that the node does not have.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use kedge_actors::{Engine, PublishedState};
use kedge_cluster::node::{NodeStatus, ReplicaRole};
use kedge_config::Config;
use kedge_config::secrets;
use kedge_http::auth::api_key::{API_KEY, ApiKeys};
use kedge_http::auth::bearer::{AccessTokens, TokenHolder};
use kedge_http::auth::code::{InvitationCodes, MacKey};
use kedge_http::auth::one_time_secrets::OneTimeSecrets;
use kedge_http::auth::password::PasswordChecker;
use kedge_http::auth::session::RefreshSessions;
use kedge_http::auth::{self, CallerSession};
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::signing::RequestVerifier;
use kedge_protocol::Code;

use super::{ApiServices, ServicesError};

/// With a larger lag anything may be missing.
pub const LAG_MAX: Duration = Duration::from_secs(1);
/// `Retry-After` for credentials that this node has not read: most nodes lag by less.
const UNREAD_RETRY_S: u64 = 1;

/// How much of the log this node has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LogCompleteness {
    Everything,
    /// The newest entries may be missing.
    Nearly,
    /// It lags, or cannot know how far the log is.
    Less,
}

impl LogCompleteness {
    /// State of a cluster's node; `lease` is the time after which a silent leader is replaced.
    fn of(leads: bool, standing: &NodeStatus, lease: Duration) -> Self {
        let since = standing.caught_up_at.map(|at| at.elapsed());
        let is_within = |limit: Duration| since.is_some_and(|since| since < limit);
        if standing.stalled.is_some() || standing.problem.is_some() {
            return Self::Less;
        }
        match standing.role {
            // A leader that was cut off for longer may have been replaced without knowing.
            ReplicaRole::Leader if leads && is_within(lease) => Self::Everything,
            ReplicaRole::Follower if is_within(LAG_MAX) && standing.frame >= standing.tail => {
                Self::Nearly
            }
            ReplicaRole::Leader | ReplicaRole::Follower => Self::Less,
        }
    }
}

fn unread() -> ApiError {
    let message = "this node has not read the part of the log yet that your credentials rest on; try again, or ask the \
                   node that leads";
    ApiError::unavailable(message, UNREAD_RETRY_S)
}

pub struct CallerAccess {
    pub verifier: Arc<RequestVerifier>,
    pub tokens: AccessTokens,
    pub api_keys: Arc<ApiKeys>,
    pub one_time_secrets: OneTimeSecrets,
    pub invitations: InvitationCodes,
    /// Refresh tokens.
    pub sessions: RefreshSessions,
    pub passwords: PasswordChecker,
}

impl CallerAccess {
    /// Creates missing keys in `keys_dir`.
    ///
    /// # Errors
    /// A key cannot be read or written.
    pub fn open(
        config: &Config,
        engine: &Engine,
        keys_dir: &Path,
        public_url: &str,
    ) -> Result<Self, ServicesError> {
        let api_key = secrets::read_or_make_32(&keys_dir.join("api-key.key"))?;
        let api_keys = ApiKeys::new(api_key, config.token_cache_entries, engine.clone());
        let invitation_key = secrets::read_or_make_32(&keys_dir.join("invitation.key"))?;
        Ok(Self {
            verifier: Arc::new(RequestVerifier::new(*engine.domain())),
            tokens: AccessTokens::open(
                keys_dir.to_owned(),
                public_url.to_owned(),
                config.access_token_s,
                config.token_cache_entries,
            )?,
            api_keys: Arc::new(api_keys),
            one_time_secrets: OneTimeSecrets::new(api_key),
            invitations: InvitationCodes::new(MacKey::new(invitation_key)),
            sessions: RefreshSessions::new(config.refresh_token_s),
            passwords: PasswordChecker::new(config.password_hashes_max)?,
        })
    }
}

impl ApiServices {
    fn held(&self) -> LogCompleteness {
        match self.node.replica.get() {
            Some(replica) => {
                LogCompleteness::of(self.engine.leads(), &replica.standing(), self.node.lease)
            }
            None if self.node.is_shared => LogCompleteness::Less,
            None => LogCompleteness::Everything,
        }
    }

    /// Identifies the caller by these headers: an access token, an API key, or both.
    pub fn authenticate(&self, headers: &HeaderMap, now_s: u64) -> ApiResult<CallerSession> {
        self.authenticate_at(headers, now_s, || None)
    }

    /// [`Self::authenticate`] for a request that names a sequence which its caller has seen.
    pub fn authenticate_at(
        &self,
        headers: &HeaderMap,
        now_s: u64,
        seen: impl FnOnce() -> Option<u64>,
    ) -> ApiResult<CallerSession> {
        let judged = self.judge(&self.published(), headers, now_s);
        match judged {
            Err(refused) if self.node.is_shared && refused.code == Code::Unauthenticated => {
                self.judge_again(headers, now_s, seen(), refused)
            }
            judged => judged,
        }
    }

    fn judge(
        &self,
        published: &PublishedState,
        headers: &HeaderMap,
        now_s: u64,
    ) -> ApiResult<CallerSession> {
        auth::authenticate(
            &self.access.tokens,
            &self.access.api_keys,
            published,
            headers,
            now_s,
        )
    }

    /// Judges a refused caller by how much of the log the node has.
    fn judge_again(
        &self,
        headers: &HeaderMap,
        now_s: u64,
        seen: Option<u64>,
        refused: ApiError,
    ) -> ApiResult<CallerSession> {
        let holder = self.token_holder(headers, now_s);
        if holder.is_none() && !headers.contains_key(API_KEY) {
            return Err(refused);
        }
        // Before the state is taken: a node that begins to lead in between has read everything by then.
        let held = self.held();
        let published = self.published();
        let refused = match self.judge(&published, headers, now_s) {
            Err(refused) if refused.code == Code::Unauthenticated => refused,
            judged => return judged,
        };
        if held == LogCompleteness::Everything {
            return Err(refused);
        }
        let snapshot = &published.snapshot;
        if let Some(holder) = holder
            && snapshot.wallet(holder.wallet_id)?.is_none()
        {
            return Err(unread());
        }
        let sequence = published.head.sequence;
        let lacks = held == LogCompleteness::Less || seen.is_some_and(|seen| seen > sequence);
        let is_unread = lacks && self.access.api_keys.may_be_new(headers, snapshot)?;
        Err(if is_unread { unread() } else { refused })
    }

    /// The holder of the token in these headers, if this service signed it and it has not expired. The log is not
    /// consulted.
    pub fn token_holder(&self, headers: &HeaderMap, now_s: u64) -> Option<TokenHolder> {
        self.access.tokens.authenticate(headers, now_s).ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const LEASE: Duration = Duration::from_millis(1_500);
    const NOW: Duration = Duration::ZERO;
    const LONG_AGO: Duration = Duration::from_secs(2);

    fn standing(role: ReplicaRole, ago: Duration) -> NodeStatus {
        NodeStatus {
            role,
            caught_up_at: Instant::now().checked_sub(ago),
            ..NodeStatus::default()
        }
    }

    #[test]
    fn only_a_leader_within_its_lease_holds_everything() {
        let leader = standing(ReplicaRole::Leader, NOW);
        assert_eq!(
            LogCompleteness::of(true, &leader, LEASE),
            LogCompleteness::Everything
        );
        // It leads no longer, and has not said so yet.
        assert_eq!(
            LogCompleteness::of(false, &leader, LEASE),
            LogCompleteness::Less
        );
        let paused = standing(ReplicaRole::Leader, LONG_AGO);
        assert_eq!(
            LogCompleteness::of(true, &paused, LEASE),
            LogCompleteness::Less
        );
        let stalled = NodeStatus {
            stalled: Some("no quorum".to_owned()),
            ..leader
        };
        assert_eq!(
            LogCompleteness::of(true, &stalled, LEASE),
            LogCompleteness::Less
        );
    }

    // Holds invariant 252.
    #[test]
    fn a_node_that_follows_never_holds_everything() {
        let follower = standing(ReplicaRole::Follower, NOW);
        assert_eq!(
            LogCompleteness::of(false, &follower, LEASE),
            LogCompleteness::Nearly
        );
        let late = standing(ReplicaRole::Follower, LONG_AGO);
        assert_eq!(
            LogCompleteness::of(false, &late, LEASE),
            LogCompleteness::Less
        );
        let new = NodeStatus::default();
        assert_eq!(
            LogCompleteness::of(false, &new, LEASE),
            LogCompleteness::Less
        );
        let behind = NodeStatus {
            tail: 1,
            ..follower
        };
        assert_eq!(
            LogCompleteness::of(false, &behind, LEASE),
            LogCompleteness::Less
        );
    }
}
