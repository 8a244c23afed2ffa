//! Exactly-once batches, whose sender may crash at any moment.
//!
//! The sender stores nonce, deadline and seed ([`SigningAttempt`]) before it sends anything. Signing is deterministic, so a
//! restarted sender produces the same bytes and knows the ids of the actions in the log. All attempts at a batch share
//! one nonce, and the log accepts a nonce once, so at most one attempt succeeds. The batch gets another nonce only when
//! this one can no longer be spent and the log holds none of the attempts.
//!
//! With the idempotency key the server repeats its first answer, receipt included, for as long as it keeps the answer.
//! Later the spent nonce leads to the actions, which stay in the log for ever.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kedge_protocol::Code;
use kedge_protocol::limits::{NONCE_JUMP_MAX, NONCE_WINDOW};
use kedge_protocol::{Hash, Id, Prefix, percent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{
    BATCHES, BatchActionResult, BatchOutcome, NewAction, WireOutcome, batch_body, batch_texts, post,
};
use crate::account::{Account, AuthorizedRequest, RetriedRequest, member};
use crate::error::{ClientError, ClientResult, ServerRefusal, retry_after};
use crate::page::Page;
use crate::random;
use crate::sign::{SignableAction, SignedRequest, deadline_in, sign};
use crate::transport::HttpAnswer;
use crate::types::ActionResource;

/// Longest wait between two attempts if the server states none, in milliseconds.
const WAIT_MS_MAX: u64 = 10_000;
/// First wait between two attempts, in milliseconds.
const WAIT_MS_FIRST: u64 = 200;
/// Limit on deadlines that are expired by the server's clock, but not by the local one.
const CLOCK_TRIES_MAX: u32 = 3;
/// Number of queries for a spent nonce's sequence before the client asks for each action.
const SEQUENCE_TRIES_MAX: u32 = 5;

/// Signing parameters of one attempt at a batch. With the same actions and key they give the same signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SigningAttempt {
    /// Nonce of the request.
    pub nonce: u64,
    /// Deadline, Unix seconds.
    pub deadline_s: u64,
    /// Seed of the salts.
    pub seed: Hash,
}

/// Crash-safe storage of signing attempts.
pub trait AttemptStore: Send + Sync {
    /// Stores an attempt durably. The client sends it only after this has returned.
    fn keep(&self, attempt: &SigningAttempt) -> std::io::Result<()>;

    /// Reports a wait before the next attempt, and its reason.
    fn waits(&self, wait: Duration, why: &str);
}

/// A batch of independent actions, with its earlier attempts.
#[derive(Clone, Debug)]
pub struct OnceBatch<'a> {
    /// 1 to 500 actions.
    pub actions: &'a [NewAction],
    /// Unique to the batch, and the same at each attempt.
    pub idempotency_key: &'a str,
    /// Stored attempts of earlier calls, oldest first.
    pub earlier: &'a [SigningAttempt],
    /// Deadline of an attempt, from the time of signing.
    pub deadline_ahead: Duration,
    /// How long the server may be unreachable, or may ask to wait, before the call fails.
    pub patience: Duration,
}

/// Final result of an action.
#[derive(Clone, PartialEq, Debug)]
pub enum OnceResult {
    /// The action was done.
    Done {
        /// The action's identifier.
        action_id: Id,
        /// The object created or acted on.
        object_id: Id,
        /// Sequence of the action in the log.
        sequence: u64,
    },
    /// The action was refused and will never be done.
    Refused(ServerRefusal),
    /// The action was refused; the reason was lost with the answer.
    NotDone,
}

impl From<BatchActionResult> for OnceResult {
    fn from(result: BatchActionResult) -> Self {
        match result {
            BatchActionResult::Refused(envelope) => Self::Refused(envelope),
            BatchActionResult::Done(done) => Self::Done {
                action_id: done.id,
                object_id: done.object_id,
                sequence: done.sequence,
            },
        }
    }
}

impl Account {
    /// Submits a batch exactly once, over any number of calls with the stored attempts. Waits as the server asks, and
    /// while it is unreachable. After an error the batch may have been done: call again with all stored attempts.
    pub async fn batch_once(
        &self,
        batch: &OnceBatch<'_>,
        keeper: &dyn AttemptStore,
    ) -> ClientResult<Vec<OnceResult>> {
        if !self.client().options().verify_receipts {
            let why = "a batch is done once only with receipts that are verified";
            return Err(ClientError::Usage(why.to_owned()));
        }
        let targets: Vec<String> = batch.actions.iter().map(NewAction::target).collect();
        let texts = batch_texts(batch.actions, &targets);
        let headers = vec![
            ("prefer", "return=minimal".to_owned()),
            ("idempotency-key", batch.idempotency_key.to_owned()),
        ];
        let body = batch_body(batch.actions, false)?;
        let signed: ClientResult<Vec<SignedRequest>> = batch
            .earlier
            .iter()
            .map(|attempt| self.sign_attempt(attempt, &texts))
            .collect();
        let once = OnceSender {
            account: self,
            batch,
            texts,
            request: post(BATCHES, body, headers),
            keeper,
            signed: signed?,
            unsure: !batch.earlier.is_empty(),
            trouble: OnceRetries::default(),
        };
        once.run().await
    }

    /// Skips the nonces of these attempts for other requests.
    pub fn reserve_nonces<'a>(&self, attempts: impl IntoIterator<Item = &'a SigningAttempt>) {
        if let Some(highest) = attempts.into_iter().map(|attempt| attempt.nonce).max() {
            self.skip_nonces(highest);
        }
    }

    fn sign_attempt(
        &self,
        attempt: &SigningAttempt,
        texts: &[SignableAction<'_>],
    ) -> ClientResult<SignedRequest> {
        let terms = self.terms(attempt.nonce, attempt.deadline_s, attempt.seed);
        sign(&terms, texts)
    }
}

/// Retry state since the last useful answer.
#[derive(Default)]
struct OnceRetries {
    /// Time of the first attempt without a useful answer.
    since: Option<Instant>,
    /// Number of waits since then.
    waits: u32,
    /// Number of deadlines that only the server's clock found expired.
    clock: u32,
}

/// Next step after an attempt.
enum OnceStep {
    /// The results are known.
    Known(Vec<OnceResult>),
    /// Send the same bytes again now.
    Again,
    /// Send the same bytes again later.
    Wait(Option<Duration>, ClientError),
    /// Sign again with the same nonce.
    Renew,
    /// The nonce is lost: no attempt was done or ever will be. Holds the highest spent nonce, if known.
    OtherNonce(Option<u64>),
}

struct OnceSender<'a> {
    account: &'a Account,
    batch: &'a OnceBatch<'a>,
    texts: Vec<SignableAction<'a>>,
    request: AuthorizedRequest<'a>,
    keeper: &'a dyn AttemptStore,
    /// All attempts, oldest first; the last one is sent.
    signed: Vec<SignedRequest>,
    /// Whether an attempt may have been done, or may still be.
    unsure: bool,
    trouble: OnceRetries,
}

impl OnceSender<'_> {
    async fn run(mut self) -> ClientResult<Vec<OnceResult>> {
        if self.signed.is_empty() {
            let nonce = self.account.next_nonce().await?;
            self.sign_with(nonce)?;
        }
        loop {
            let nonce = self.current()?.head.nonce;
            if self.current()?.expires() {
                self.sign_with(nonce)?;
            }
            match self.send().await? {
                OnceStep::Known(results) => return Ok(results),
                OnceStep::Again => {}
                OnceStep::Wait(asked, why) => self.wait(asked, why).await?,
                OnceStep::Renew => self.sign_with(nonce)?,
                OnceStep::OtherNonce(highest) => {
                    let account = self.account;
                    account.resynchronise(self.current()?, highest).await?;
                    let other = account.next_nonce().await?;
                    self.sign_with(other)?;
                    self.unsure = false;
                }
            }
        }
    }

    fn current(&self) -> ClientResult<&SignedRequest> {
        let none = || ClientError::Usage("a batch without an attempt".to_owned());
        self.signed.last().ok_or_else(none)
    }

    /// Stores a new attempt, and signs it.
    fn sign_with(&mut self, nonce: u64) -> ClientResult<()> {
        let attempt = SigningAttempt {
            nonce,
            deadline_s: deadline_in(self.batch.deadline_ahead),
            seed: random::seed()?,
        };
        let kept = self.keeper.keep(&attempt);
        kept.map_err(|error| ClientError::Usage(format!("an attempt could not be kept: {error}")))?;
        self.signed
            .push(self.account.sign_attempt(&attempt, &self.texts)?);
        Ok(())
    }

    async fn send(&mut self) -> ClientResult<OnceStep> {
        let mut sending = RetriedRequest::new(self.account, &self.request);
        let answer = match sending.once(Some(self.current()?)).await {
            Ok(answer) => answer,
            Err(error @ (ClientError::Transport(_) | ClientError::Timeout { .. })) => {
                self.unsure = true;
                return Ok(OnceStep::Wait(None, error));
            }
            Err(error) => return Err(error),
        };
        let highest = self.account.learn_highest(&answer);
        if answer.is_success() {
            return self.outcome(&answer).await.map(OnceStep::Known);
        }
        let refusal = answer.refusal();
        let is = |code: Code| refusal.code() == Some(code.text());
        if is(Code::TokenExpired) && sending.again(&answer).await? {
            return Ok(OnceStep::Again);
        }
        if is(Code::NonceReused) {
            return self.spent(refusal, highest, &answer).await;
        }
        if is(Code::DeadlineExpired) {
            self.trouble.clock += 1;
            return if self.trouble.clock > CLOCK_TRIES_MAX {
                Err(refusal)
            } else {
                Ok(OnceStep::Renew)
            };
        }
        if answer.status == 429 {
            self.trouble.since = None;
            return Ok(OnceStep::Wait(retry_after(&answer.headers), refusal));
        }
        if answer.status >= 500 || is(Code::IdempotencyInProgress) {
            self.unsure = true;
            return Ok(OnceStep::Wait(retry_after(&answer.headers), refusal));
        }
        Err(refusal)
    }

    /// Waits before the next attempt, unless the wait exceeds the batch's patience.
    async fn wait(&mut self, asked: Option<Duration>, why: ClientError) -> ClientResult<()> {
        let patience = self.batch.patience;
        let doubled = WAIT_MS_FIRST << self.trouble.waits.min(16);
        let own = Duration::from_millis(doubled.min(WAIT_MS_MAX));
        let wait = asked
            .unwrap_or(own)
            .mul_f64(1.0 + random::fraction()? / 4.0);
        self.trouble.waits += 1;
        let since = match &why {
            ClientError::Refused(envelope) if envelope.status == 429 => Duration::ZERO,
            _ => self
                .trouble
                .since
                .get_or_insert_with(Instant::now)
                .elapsed(),
        };
        if since + asked.unwrap_or_default() > patience {
            return Err(why);
        }
        self.keeper.waits(wait, &why.to_string());
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Reads a successful answer, which the server may have repeated for the idempotency key.
    async fn outcome(&self, answer: &HttpAnswer) -> ClientResult<Vec<OnceResult>> {
        let outcome: WireOutcome = answer.read("a batch of actions")?;
        let batch = outcome.receipt.as_ref().map(|receipt| &receipt.batch);
        self.account.client().learn_key_of(batch).await;
        let mut newest = None;
        for signed in self.signed.iter().rev() {
            let (actions, outcome) = (self.batch.actions, outcome.clone());
            match self
                .account
                .read_outcome(actions, &signed.contents, outcome)
            {
                Ok(BatchOutcome { results, .. }) => {
                    return Ok(results.into_iter().map(OnceResult::from).collect());
                }
                Err(error) => newest = newest.or(Some(error)),
            }
        }
        Err(newest.unwrap_or_else(|| ClientError::Usage("a batch without an attempt".to_owned())))
    }

    /// Finds out what spent the nonce.
    async fn spent(
        &mut self,
        refusal: ClientError,
        highest: Option<u64>,
        answer: &HttpAnswer,
    ) -> ClientResult<OnceStep> {
        let nonce = self.current()?.head.nonce;
        let above = highest.is_some_and(|highest| nonce > highest.saturating_add(NONCE_JUMP_MAX));
        let below = highest.is_some_and(|highest| nonce.saturating_add(NONCE_WINDOW) < highest);
        let sequence = match &refusal {
            ClientError::Refused(envelope) => envelope
                .body
                .get("sequence")
                .and_then(serde_json::Value::as_u64),
            _ => None,
        };
        let reads_to = answer.number("x-sequence").unwrap_or(0);
        match (member(&refusal, "reason"), sequence) {
            (Some("refused"), _) if !above => Ok(OnceStep::Renew),
            _ if above || !self.unsure => Ok(OnceStep::OtherNonce(highest)),
            (Some("done"), Some(sequence)) => self.look_up(sequence, highest).await,
            (Some("done"), None) if self.trouble.waits >= SEQUENCE_TRIES_MAX => {
                self.ask_for_each(reads_to, highest).await
            }
            _ if below => self.ask_for_each(reads_to, highest).await,
            // Another attempt is still on its way to the disk.
            _ => Ok(OnceStep::Wait(None, refusal)),
        }
    }

    /// The actions of all attempts: index of the attempt, index of the action.
    fn own_actions(&self) -> HashMap<Id, (usize, usize)> {
        let mut own = HashMap::new();
        for (attempt, signed) in self.signed.iter().enumerate() {
            for (index, content) in signed.contents.iter().enumerate() {
                own.insert(Id::of_hash(Prefix::Action, content), (attempt, index));
            }
        }
        own
    }

    /// Reads the log at the sequence where the nonce was spent.
    async fn look_up(&mut self, sequence: u64, highest: Option<u64>) -> ClientResult<OnceStep> {
        let path = format!("/ebus/actions/{sequence}?min_sequence={sequence}");
        let found: Option<ActionResource> = self.read(&path, "an action").await?;
        let own = found.and_then(|action| {
            let place = self.own_actions().get(&action.id).copied();
            place.map(|place| (place, action))
        });
        match own {
            None => Ok(OnceStep::OtherNonce(highest)),
            Some((place, action)) => self.collect(place, &action).await.map(OnceStep::Known),
        }
    }

    /// Looks up each action of each attempt, because the server no longer remembers the nonce.
    async fn ask_for_each(
        &mut self,
        reads_to: u64,
        highest: Option<u64>,
    ) -> ClientResult<OnceStep> {
        for attempt in (0..self.signed.len()).rev() {
            for index in 0..self.texts.len() {
                let id = Id::of_hash(Prefix::Action, &self.signed[attempt].contents[index]);
                let path = format!("/ebus/actions/{id}?min_sequence={reads_to}");
                if let Some(action) = self.read::<ActionResource>(&path, "an action").await? {
                    let known = self.collect((attempt, index), &action).await;
                    return known.map(OnceStep::Known);
                }
            }
        }
        Ok(OnceStep::OtherNonce(highest))
    }

    /// Results of an attempt whose first completed action is `first`. Completed actions have consecutive sequences.
    async fn collect(
        &mut self,
        (attempt, index): (usize, usize),
        first: &ActionResource,
    ) -> ClientResult<Vec<OnceResult>> {
        let content = self.signed[attempt].contents[index];
        let batch = first.receipt.as_ref().map(|receipt| &receipt.batch);
        self.account.client().learn_key_of(batch).await;
        let receipt = first.receipt.as_ref();
        self.account.check_single(&content, first.id, receipt)?;
        let done = self.events_from(first.sequence).await?;
        let actions = self.batch.actions.iter();
        let results = actions.zip(&self.signed[attempt].contents);
        let result = |(action, content): (&NewAction, &Hash)| {
            let action_id = Id::of_hash(Prefix::Action, content);
            match done.get(&action_id) {
                None => OnceResult::NotDone,
                Some(&sequence) => OnceResult::Done {
                    action_id,
                    object_id: action.object_id(content),
                    sequence,
                },
            }
        };
        Ok(results.map(result).collect())
    }

    /// Sequences of the actions from `first` on, by id.
    async fn events_from(&mut self, first: u64) -> ClientResult<HashMap<Id, u64>> {
        let (after, before) = (
            first.saturating_sub(1),
            first.saturating_add(self.texts.len() as u64),
        );
        let range = format!(
            "/ebus/events?after_sequence={after}&before_sequence={before}&limit=1000&min_sequence={first}"
        );
        let mut done = HashMap::new();
        let mut path = range.clone();
        loop {
            let page: Option<Page<SeenEvent>> = self.read(&path, "events").await?;
            // Without the page, completed actions would be submitted again.
            let page = page.ok_or_else(|| ClientError::Unexpected {
                status: 404,
                text: "the server has no list of events".to_owned(),
            })?;
            for event in page.items {
                done.extend(event.action_id.map(|action| (action, event.sequence)));
            }
            match page.cursor.filter(|_| page.has_more) {
                None => return Ok(done),
                Some(cursor) => path = format!("{range}&cursor={}", percent::encode(&cursor)),
            }
        }
    }

    /// Reads a resource with the retries of a sent request; `None` if it does not exist.
    async fn read<T: DeserializeOwned>(
        &mut self,
        path: &str,
        what: &'static str,
    ) -> ClientResult<Option<T>> {
        loop {
            let answer = match self.account.fetch(path).await {
                Ok(answer) => answer,
                Err(error @ (ClientError::Transport(_) | ClientError::Timeout { .. })) => {
                    self.wait(None, error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let refusal = answer.refusal();
            let lags = refusal.code() == Some(Code::SequenceNotReached.text());
            match answer.status {
                404 => return Ok(None),
                429 | 500.. => self.wait(retry_after(&answer.headers), refusal).await?,
                _ if lags => self.wait(None, refusal).await?,
                _ => {
                    self.trouble.since = None;
                    return answer.read(what).map(Some);
                }
            }
        }
    }
}

/// The fields of an event that matter here.
#[derive(Deserialize)]
struct SeenEvent {
    action_id: Option<Id>,
    sequence: u64,
}
