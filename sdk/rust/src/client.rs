//! Client of one log: public reads, verified against a pinned domain and sequencer keys.

use std::sync::Arc;
use std::time::Duration;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::merkle::{BatchTree, verify_consistency};
use kedge_protocol::receipt::check_header;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{BatchKeys, Hash, SequencerKeys, percent};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;

use crate::account::Account;
use crate::error::{ClientError, ClientResult, VerificationError, VerificationResult};
use crate::header_watch::HeaderWatch;
use crate::keys;
use crate::page::{ListQuery, PageSource, Pages};
use crate::retry::RetryPolicy;
use crate::transport::{Backoff, HttpAnswer, HttpCall, HttpTransport};
use crate::types::{
    AnchorResource, BatchLeaves, BatchResource, CheckpointAnswer, ConsistencyAnswer, DomainDocument,
};

/// Configuration of a [`Client`].
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    base_url: String,
    pinned: Option<(Domain, SequencerKeys)>,
    options: ClientOptions,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientOptions {
    timeout_ms: u64,
    pub(crate) deadline_ahead: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) verify_receipts: bool,
    pub(crate) api_key: Option<ApiKeySecret>,
}

/// An API key, hidden in debug output.
#[derive(Clone)]
pub(crate) struct ApiKeySecret(pub(crate) String);

impl std::fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl ClientBuilder {
    /// Trusts this domain, these sequencer keys (at least the log's first one), and later keys that the log itself
    /// proves. Without a pin, the client trusts the domain and keys that the server states at [`ClientBuilder::connect`]:
    /// compare these with the contract, or with an earlier record.
    #[must_use]
    pub fn pin(mut self, domain: Domain, keys: impl Into<SequencerKeys>) -> Self {
        self.pinned = Some((domain, keys.into()));
        self
    }

    /// Time limit of one HTTP exchange, in milliseconds; 30,000 by default.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.options.timeout_ms = timeout_ms;
        self
    }

    /// Deadline of a signed request, from the time of signing; 5 minutes by default.
    #[must_use]
    pub fn deadline_ahead(mut self, ahead: Duration) -> Self {
        self.options.deadline_ahead = ahead;
        self
    }

    /// Sends this API key with every account's requests. A logged-in account also sends its token; then the narrower
    /// right applies. Other accounts act by the API key alone, and must sign with a key of a wallet of the API key's
    /// organization.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.options.api_key = Some(ApiKeySecret(key.into()));
        self
    }

    /// When to retry requests.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = policy;
        self
    }

    /// Whether to verify receipts as they arrive; true by default.
    #[must_use]
    pub fn verify_receipts(mut self, verify: bool) -> Self {
        self.options.verify_receipts = verify;
        self
    }

    /// Fetches the server's domain and sequencer keys, and pins them or compares them with the pin.
    pub async fn connect(self) -> ClientResult<Client> {
        let transport = HttpTransport::new(&self.base_url, self.options.timeout_ms)?;
        let call = HttpCall::get("/.well-known/eip712-domain.json");
        let answer = send(&transport, &self.options.retry, &call).await?;
        let document: DomainDocument = answer.read("the domain")?;
        let domain = document.domain().ok_or_else(|| {
            let (name, version) = (&document.name, &document.version);
            VerificationError::OtherLog(format!("it calls itself {name:?} version {version:?}"))
        })?;
        if let Some((pinned, _)) = &self.pinned
            && *pinned != domain
        {
            let text = format!("{domain:?} instead of {pinned:?}");
            return Err(VerificationError::OtherLog(text).into());
        }
        let pinned = self.pinned.as_ref().map(|(_, keys)| keys);
        let (retry, reported) = (&self.options.retry, document.sequencer);
        let keys = keys::first(&transport, retry, &domain, pinned, reported).await?;
        Ok(Client(Arc::new(ClientInner {
            transport,
            options: self.options,
            domain,
            domain_separator: domain.separator(),
            keys: RwLock::new(keys),
            watch: HeaderWatch::default(),
        })))
    }
}

pub(crate) async fn send(
    transport: &HttpTransport,
    retry: &RetryPolicy,
    call: &HttpCall<'_>,
) -> ClientResult<HttpAnswer> {
    let mut backoff = Backoff::new(retry);
    loop {
        let answer = transport.exchange(call, &[]).await?;
        if answer.is_success() || !backoff.again(&answer).await? {
            return Ok(answer);
        }
    }
}

#[derive(Debug)]
struct ClientInner {
    transport: HttpTransport,
    options: ClientOptions,
    domain: Domain,
    domain_separator: Hash,
    keys: RwLock<SequencerKeys>,
    watch: HeaderWatch,
}

/// A client of one log. Cheap to clone; clones share connections and remembered headers.
#[derive(Clone, Debug)]
pub struct Client(Arc<ClientInner>);

impl Client {
    /// Configures a client of the server at this base URL, such as `http://127.0.0.1:8080`.
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.into(),
            pinned: None,
            options: ClientOptions {
                timeout_ms: 30_000,
                deadline_ahead: Duration::from_mins(5),
                retry: RetryPolicy::default(),
                verify_receipts: true,
                api_key: None,
            },
        }
    }

    /// An account that signs with this key. It must register or log in first.
    pub fn account(&self, key: SigningKey) -> Account {
        Account::new(self.clone(), key)
    }

    /// Domain of the log.
    pub fn domain(&self) -> Domain {
        self.0.domain
    }

    /// Separator of the log's domain (EIP-712).
    pub fn domain_separator(&self) -> &Hash {
        &self.0.domain_separator
    }

    /// Base URL of the server.
    pub fn base_url(&self) -> &str {
        self.0.transport.base_url()
    }

    /// The highest-numbered header of all answers so far.
    pub fn highest_header(&self) -> Option<SignedBatch> {
        self.0.watch.highest()
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.0.options
    }

    pub(crate) fn keys(&self) -> &RwLock<SequencerKeys> {
        &self.0.keys
    }

    pub(crate) fn transport(&self) -> &HttpTransport {
        &self.0.transport
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        what: &'static str,
    ) -> ClientResult<T> {
        let call = HttpCall::get(path);
        let answer = send(&self.0.transport, &self.0.options.retry, &call).await?;
        answer.read(what)
    }

    /// Verifies a header's signature, and that the sequencer does not contradict its earlier headers.
    pub(crate) fn check_batch(&self, batch: &SignedBatch) -> VerificationResult {
        check_header(batch, &self.0.domain, &self.sequencer_keys())?;
        self.0.watch.see(batch)
    }

    /// Records a header whose signature is verified already.
    pub(crate) fn see_batch(&self, batch: &SignedBatch) -> VerificationResult {
        self.0.watch.see(batch)
    }

    /// Lists all batches, oldest first by default. Does not verify their headers: see [`Client::batch`] and
    /// [`BatchResource::signed`].
    pub fn batches(&self, query: &ListQuery) -> Pages<BatchResource> {
        Pages::new(
            PageSource::Public(self.clone()),
            "/batches".to_owned(),
            query,
        )
    }

    /// Reads a batch by number or identifier, and verifies its signature.
    pub async fn batch(&self, id_or_number: &str) -> ClientResult<BatchResource> {
        let path = format!("/batches/{}", percent::encode(id_or_number));
        let batch: BatchResource = self.get(&path, "a batch").await?;
        let signed = batch.signed();
        self.learn_key_of(Some(&signed)).await;
        self.check_batch(&signed)?;
        if signed.id() != batch.id {
            let (expected, found) = (signed.id(), batch.id);
            return Err(VerificationError::OtherId { expected, found }.into());
        }
        Ok(batch)
    }

    /// Reads the leaves of a batch, and verifies them against its signed root and head.
    pub async fn leaves(&self, number: u64) -> ClientResult<BatchLeaves> {
        let header = self.batch(&number.to_string()).await?.signed().header;
        let path = format!("/batches/{number}/leaves");
        let leaves: BatchLeaves = self.get(&path, "leaves").await?;
        let wrong = |why| Err(VerificationError::Inconsistent(why).into());
        if leaves.leaves.len() != header.count as usize {
            return wrong("the number of leaves differs from the batch's header");
        }
        if BatchTree::new(&leaves.leaves).root() != header.root {
            return wrong("the batch's leaves do not lead to its signed root");
        }
        let head = leaves
            .leaves
            .iter()
            .fold(header.previous_head, |head, leaf| {
                kedge_protocol::chain::next_head(&head, leaf)
            });
        if head != header.head {
            return wrong("the batch's leaves do not lead from its signed head to the next one");
        }
        Ok(leaves)
    }

    /// Lists all anchors.
    pub fn anchors(&self, query: &ListQuery) -> Pages<AnchorResource> {
        Pages::new(
            PageSource::Public(self.clone()),
            "/anchors".to_owned(),
            query,
        )
    }

    /// Reads an anchor by number or identifier.
    pub async fn anchor(&self, id_or_number: &str) -> ClientResult<AnchorResource> {
        let path = format!("/anchors/{}", percent::encode(id_or_number));
        self.get(&path, "an anchor").await
    }

    /// Reads the newest checkpoint, and verifies its signature. It may end before the newest action.
    pub async fn checkpoint(&self) -> ClientResult<SignedCheckpoint> {
        self.signed_checkpoint("/checkpoint").await
    }

    /// Reads a checkpoint that covers this sequence, and verifies its signature. The server waits for it up to 20 seconds,
    /// if the next one is due in that time, and says `SEQUENCE_NOT_REACHED` otherwise.
    pub async fn checkpoint_over(&self, sequence: u64) -> ClientResult<SignedCheckpoint> {
        let path = format!("/checkpoint?at_least={sequence}&wait=20");
        self.signed_checkpoint(&path).await
    }

    async fn signed_checkpoint(&self, path: &str) -> ClientResult<SignedCheckpoint> {
        let answer: CheckpointAnswer = self.get(path, "a checkpoint").await?;
        let signed = answer.signed();
        let digest = signed.checkpoint.digest(&self.0.domain_separator);
        let found = signed
            .signature
            .recover(&digest)
            .map_err(VerificationError::Signature)?;
        let batches = signed.checkpoint.batches;
        if found != self.sequencer_keys().key_of_checkpoint(batches) {
            self.update_keys().await?;
        }
        let expected = self.sequencer_keys().key_of_checkpoint(batches);
        if found != expected {
            return Err(VerificationError::OtherSequencer { expected, found }.into());
        }
        Ok(signed)
    }

    /// Reads a proof that the log of `to` batches begins with the log of `from` batches, and verifies it against the
    /// roots it states. The caller compares these with known roots.
    pub async fn consistency(&self, from: u64, to: u64) -> ClientResult<ConsistencyAnswer> {
        let path = format!("/consistency?from={from}&to={to}");
        let answer: ConsistencyAnswer = self.get(&path, "a consistency proof").await?;
        if (answer.from, answer.to) != (from, to) {
            let error = VerificationError::Inconsistent("the proof is for different sizes");
            return Err(error.into());
        }
        verify_consistency(
            from,
            to,
            &answer.first_root,
            &answer.second_root,
            &answer.proof,
        )
        .map_err(VerificationError::Consistency)?;
        Ok(answer)
    }

    /// Checks that the server is ready to accept changes.
    pub async fn ready(&self) -> ClientResult<()> {
        let answer = self
            .0
            .transport
            .exchange(&HttpCall::get("/readyz"), &[])
            .await?;
        if answer.is_success() {
            Ok(())
        } else {
            Err(ClientError::Unexpected {
                status: answer.status,
                text: "the server is not ready".to_owned(),
            })
        }
    }
}
