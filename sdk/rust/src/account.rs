//! An account: a signing key, its tokens and its nonces. Cheap to share between tasks.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id, Prefix};
use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::client::Client;
use crate::error::{ClientError, ClientResult, RefusalEffect};
use crate::nonces::NonceCounter;
use crate::random;
use crate::sign::{RequestTerms, SignableAction, SignedRequest, deadline_in, sign};
use crate::transport::{Backoff, HttpAnswer, HttpCall};
use crate::types::{ChangedResource, LoginAnswer, TokenPair, WalletResource};

/// Limit on signing a request again with another nonce, after its nonce turned out to be spent.
const NEW_NONCES_MAX: u32 = 3;

/// Registration form: everything except the signing key.
#[derive(Clone, Serialize)]
pub struct Registration {
    /// The login address.
    pub email: String,
    /// At least 15 characters.
    pub password: String,
    /// A display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// The new organization's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
}

#[derive(Serialize)]
struct RegistrationBody<'a> {
    #[serde(flatten)]
    registration: &'a Registration,
    address: Address,
    blind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    invitation: Option<&'a str>,
}

struct AccountInner {
    client: Client,
    key: SigningKey,
    nonces: NonceCounter,
    tokens: RwLock<Option<Arc<TokenPair>>>,
    /// Held during a refresh, because a refresh token works only once.
    refreshing: tokio::sync::Mutex<()>,
}

/// An account of a log. Cheap to clone; clones share key, tokens and nonces.
#[derive(Clone)]
pub struct Account(Arc<AccountInner>);

impl std::fmt::Debug for Account {
    /// Omits the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account({})", self.address())
    }
}

/// An HTTP request made with the account's credentials.
pub(crate) struct AuthorizedRequest<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Bytes,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether to send the access token, the API key or both; false for registration.
    pub(crate) bearer: bool,
}

impl<'a> AuthorizedRequest<'a> {
    /// A request with credentials and no extra headers.
    pub(crate) fn new(method: Method, path: &'a str, body: Bytes) -> Self {
        Self {
            method,
            path,
            body,
            headers: Vec::new(),
            bearer: true,
        }
    }
}

/// The actions covered by a request's signature.
pub(crate) struct SigningPayload<'a> {
    pub(crate) actions: &'a [SignableAction<'a>],
    pub(crate) atomic: bool,
}

impl Account {
    pub(crate) fn new(client: Client, key: SigningKey) -> Self {
        Self(Arc::new(AccountInner {
            client,
            key,
            nonces: NonceCounter::default(),
            tokens: RwLock::new(None),
            refreshing: tokio::sync::Mutex::new(()),
        }))
    }

    /// Address of the signing key.
    pub fn address(&self) -> Address {
        self.0.key.address()
    }

    /// The client that this account was made with.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    fn tokens(&self) -> Option<Arc<TokenPair>> {
        let tokens = self.0.tokens.read();
        tokens.clone()
    }

    /// The current access token, for requests made outside this client.
    pub fn access_token(&self) -> ClientResult<String> {
        let tokens = self.tokens().ok_or_else(not_logged_in)?;
        Ok(tokens.access_token.clone())
    }

    /// The tokens of the login, to continue it in another process ([`Self::resume`]). A refresh replaces them.
    pub fn login_tokens(&self) -> ClientResult<TokenPair> {
        let tokens = self.tokens().ok_or_else(not_logged_in)?;
        Ok(TokenPair::clone(&tokens))
    }

    /// Continues a login of another process. Only one process may refresh its tokens at a time: a refresh token that is
    /// used twice ends the login.
    pub fn resume(&self, tokens: TokenPair) {
        self.keep_tokens(tokens);
    }

    /// Sends a request that needs no signature, and returns the body of its successful answer. `path` begins with a slash and
    /// has the query in it; `body` is JSON, or empty.
    ///
    /// # Errors
    /// [`ClientError::Usage`] if method or path have no such form; the server's refusal.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> ClientResult<Bytes> {
        let usage = |what: &str| ClientError::Usage(what.to_owned());
        if !path.starts_with('/') {
            return Err(usage("a path begins with a slash, such as /objects"));
        }
        let method = Method::from_bytes(method.as_bytes());
        let method = method.map_err(|_| usage("a method is a word such as GET"))?;
        let answer = self.send_unsigned(method, path, body.into()).await?;
        if answer.is_success() {
            Ok(answer.body)
        } else {
            Err(answer.refusal())
        }
    }

    /// Uses an access token from elsewhere in place of a login. It cannot be refreshed.
    pub fn use_access_token(&self, access_token: impl Into<String>) {
        self.keep_tokens(TokenPair {
            access_token: access_token.into(),
            refresh_token: String::new(),
        });
    }

    fn keep_tokens(&self, pair: TokenPair) {
        let mut tokens = self.0.tokens.write();
        *tokens = Some(Arc::new(pair));
    }

    /// Registers a wallet for this key in a new organization, and logs in.
    pub async fn register(&self, registration: &Registration) -> ClientResult<WalletResource> {
        self.register_with(registration, None).await
    }

    /// Registers a wallet for this key in the organization of an invitation, and logs in.
    pub async fn join(
        &self,
        registration: &Registration,
        invitation: &str,
    ) -> ClientResult<WalletResource> {
        self.register_with(registration, Some(invitation)).await
    }

    async fn register_with(
        &self,
        registration: &Registration,
        invitation: Option<&str>,
    ) -> ClientResult<WalletResource> {
        use base64::Engine as _;
        let blind: [u8; 32] = random::bytes()?;
        let body = to_json(&RegistrationBody {
            registration,
            address: self.address(),
            blind: base64::engine::general_purpose::STANDARD.encode(blind),
            invitation,
        })?;
        self.0.nonces.learn(0);
        let payload = digest_text(&sha256(&body));
        let request = AuthorizedRequest {
            bearer: false,
            ..AuthorizedRequest::new(Method::POST, "/wallets/register", body)
        };
        let action = SignableAction {
            kind: &Kind::WalletRegister,
            target: "",
            payload: payload.as_bytes(),
        };
        let (made, content): (ChangedResource<LoginAnswer>, _) =
            self.signed_alone(&request, &action, "registering").await?;
        let LoginAnswer { wallet, tokens } = made.resource;
        self.check_made(Prefix::Wallet, &content, wallet.id)?;
        self.keep_tokens(tokens);
        Ok(wallet)
    }

    /// Logs in. Signed requests are refused unless the key is one of the wallet's.
    pub async fn login(&self, email: &str, password: &str) -> ClientResult<WalletResource> {
        let body = json!({"email": email, "password": password}).to_string();
        let answer: LoginAnswer = self.tokens_from("/wallets/login", body).await?;
        self.keep_tokens(answer.tokens);
        Ok(answer.wallet)
    }

    /// Exchanges the tokens for new ones. The client does this itself when the access token has expired.
    pub async fn refresh(&self) -> ClientResult<()> {
        let used = self.tokens().ok_or_else(not_logged_in)?;
        self.refresh_after(&used).await
    }

    /// Refreshes unless another task has done so since `used` was read.
    async fn refresh_after(&self, used: &Arc<TokenPair>) -> ClientResult<()> {
        let _one_at_a_time = self.0.refreshing.lock().await;
        let current = self.tokens().ok_or_else(not_logged_in)?;
        if !Arc::ptr_eq(&current, used) {
            return Ok(());
        }
        let body = json!({"refresh_token": current.refresh_token}).to_string();
        let pair: TokenPair = self.tokens_from("/wallets/token/refresh", body).await?;
        self.keep_tokens(pair);
        Ok(())
    }

    async fn tokens_from<T: DeserializeOwned>(&self, path: &str, body: String) -> ClientResult<T> {
        let client = &self.0.client;
        let call = HttpCall::post(path, body);
        let mut backoff = Backoff::new(&client.options().retry);
        loop {
            let answer = client.transport().exchange(&call, &[]).await?;
            if answer.is_success() || !backoff.again(&answer).await? {
                return answer.read("logging in");
            }
        }
    }

    /// The account's wallet. Also updates this account's nonces.
    pub async fn me(&self) -> ClientResult<WalletResource> {
        let wallet: WalletResource = self.get("/wallets/me", "the wallet").await?;
        let own = wallet.nonces.iter().find(|n| n.address == self.address());
        if let Some(own) = own {
            self.0.nonces.learn(own.highest);
        }
        Ok(wallet)
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        what: &'static str,
    ) -> ClientResult<T> {
        self.fetch(path).await?.read(what)
    }

    /// Returns the answer to a GET, whatever its status.
    pub(crate) async fn fetch(&self, path: &str) -> ClientResult<HttpAnswer> {
        self.send_unsigned(Method::GET, path, Bytes::new()).await
    }

    /// Sends an unsigned request, one that changes nothing.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        what: &'static str,
    ) -> ClientResult<T> {
        self.send_unsigned(method, path, body).await?.read(what)
    }

    pub(crate) async fn send_unsigned(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> ClientResult<HttpAnswer> {
        let request = AuthorizedRequest::new(method, path, body);
        let mut sending = RetriedRequest::new(self, &request);
        loop {
            let answer = sending.once(None).await?;
            if answer.is_success() || !sending.again(&answer).await? {
                return Ok(answer);
            }
        }
    }

    /// Signs and sends a request. Returns the successful answer and the signed request.
    pub(crate) async fn signed(
        &self,
        request: &AuthorizedRequest<'_>,
        signs: &SigningPayload<'_>,
    ) -> ClientResult<(HttpAnswer, SignedRequest)> {
        let mut sending = RetriedRequest::new(self, request);
        let mut signed = self.sign_now(signs).await?;
        let mut new_nonces = 0;
        // While false, no earlier attempt can have been carried out, so signing again is safe.
        let mut unsure = false;
        // True once an outcome was unknown: this request may itself have spent the nonce, and still be on its way to
        // the disk.
        let mut asking = false;
        loop {
            let answer = match sending.once(Some(&signed)).await {
                Ok(answer) => answer,
                Err(error) if error.done() == RefusalEffect::Unknown => {
                    (unsure, asking) = (true, true);
                    if signed.expires() || !sending.backoff.ask_again(None).await? {
                        return Err(error);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let highest = self.learn_highest(&answer);
            if answer.is_success() {
                return Ok((answer, signed));
            }
            let refusal = answer.refusal();
            let spent = refusal.code() == Some(Code::NonceReused.text());
            match refusal.done() {
                RefusalEffect::Before(sequence) if unsure => {
                    // During registration the log cannot be read yet, and no other client has the key.
                    if !request.bearer || self.stands(&signed).await? {
                        return Err(already_done(sequence, &signed));
                    }
                    // Another request of this key spent the nonce, so this one will never be done.
                    (unsure, asking) = (false, false);
                }
                RefusalEffect::Unknown => (unsure, asking) = (true, true),
                _ => unsure |= answer.status == 503 && !says_nothing_done(&refusal),
            }
            let ask_again = refusal.done() == RefusalEffect::Unknown
                || (spent && asking && member(&refusal, "reason") != Some("refused"));
            if ask_again {
                if signed.expires() || !sending.backoff.ask_again(Some(&answer)).await? {
                    return Err(refusal);
                }
                continue;
            }
            if sending.again(&answer).await? {
                if signed.expires() && unsure {
                    return Err(refusal);
                }
                if signed.expires() {
                    signed = self.sign_now(signs).await?;
                }
                continue;
            }
            if !spent || unsure || new_nonces == NEW_NONCES_MAX {
                return Err(refusal);
            }
            self.resynchronise(&signed, highest).await?;
            new_nonces += 1;
            signed = self.sign_now(signs).await?;
        }
    }

    /// Takes over the highest spent nonce, if the answer states it.
    pub(crate) fn learn_highest(&self, answer: &HttpAnswer) -> Option<u64> {
        let highest = answer.number("x-nonce-highest")?;
        self.0.nonces.learn(highest);
        Some(highest)
    }

    /// Skips nonces spent by other clients of this key.
    pub(crate) async fn resynchronise(
        &self,
        signed: &SignedRequest,
        highest: Option<u64>,
    ) -> ClientResult<()> {
        match highest {
            Some(highest) => self.0.nonces.resynchronise(signed.head.nonce, highest),
            None => drop(self.me().await?),
        }
        Ok(())
    }

    /// Whether the log holds any action of a signed request.
    async fn stands(&self, signed: &SignedRequest) -> ClientResult<bool> {
        for content in &signed.contents {
            let id = Id::of_hash(Prefix::Action, content);
            let answer = self.fetch(&format!("/ebus/actions/{id}")).await?;
            match answer.status {
                404 => {}
                _ if answer.is_success() => return Ok(true),
                _ => return Err(answer.refusal()),
            }
        }
        Ok(false)
    }

    fn acts_by_key_alone(&self) -> bool {
        self.tokens().is_none() && self.0.client.options().api_key.is_some()
    }

    pub(crate) async fn next_nonce(&self) -> ClientResult<u64> {
        if let Some(nonce) = self.0.nonces.take() {
            return Ok(nonce);
        }
        if self.acts_by_key_alone() {
            // The nonces are unknown here; the first refusal states them.
            self.0.nonces.learn(0);
        } else {
            self.me().await?;
        }
        self.0.nonces.take().ok_or_else(|| {
            let address = self.address();
            ClientError::Usage(format!("the logged-in wallet has no key {address}"))
        })
    }

    async fn sign_now(&self, signs: &SigningPayload<'_>) -> ClientResult<SignedRequest> {
        let deadline_s = deadline_in(self.0.client.options().deadline_ahead);
        let terms = RequestTerms {
            atomic: signs.atomic,
            ..self.terms(self.next_nonce().await?, deadline_s, random::seed()?)
        };
        sign(&terms, signs.actions)
    }

    /// Signing terms of a non-atomic request.
    pub(crate) fn terms(&self, nonce: u64, deadline_s: u64, seed: Hash) -> RequestTerms<'_> {
        RequestTerms {
            key: &self.0.key,
            domain_separator: self.0.client.domain_separator(),
            nonce,
            deadline_s,
            atomic: false,
            seed,
        }
    }

    /// Skips nonces up to this one; stored requests use them.
    pub(crate) fn skip_nonces(&self, highest: u64) {
        self.0.nonces.learn(highest);
    }
}

/// A request with its retries.
pub(crate) struct RetriedRequest<'a> {
    account: &'a Account,
    call: HttpCall<'a>,
    headers: &'a [(&'static str, String)],
    bearer: bool,
    backoff: Backoff<'a>,
    used: Option<Arc<TokenPair>>,
    refreshed: bool,
}

impl<'a> RetriedRequest<'a> {
    pub(crate) fn new(account: &'a Account, request: &'a AuthorizedRequest<'a>) -> Self {
        Self {
            account,
            call: HttpCall {
                method: request.method.clone(),
                path: request.path,
                body: request.body.clone(),
            },
            headers: &request.headers,
            bearer: request.bearer,
            backoff: Backoff::new(&account.0.client.options().retry),
            used: None,
            refreshed: false,
        }
    }

    pub(crate) async fn once(
        &mut self,
        signed: Option<&SignedRequest>,
    ) -> ClientResult<HttpAnswer> {
        let mut headers = self.headers.to_vec();
        let api_key = &self.account.0.client.options().api_key;
        if let Some(api_key) = api_key.as_ref().filter(|_| self.bearer) {
            headers.push(("x-api-key", api_key.0.clone()));
        }
        if self.bearer && !self.account.acts_by_key_alone() {
            let tokens = self.account.tokens().ok_or_else(not_logged_in)?;
            headers.push(("authorization", format!("Bearer {}", tokens.access_token)));
            self.used = Some(tokens);
        }
        if let Some(signed) = signed {
            headers.extend(signed.headers());
        }
        let transport = self.account.0.client.transport();
        transport.exchange(&self.call, &headers).await
    }

    /// Whether to send the same bytes again, after a token refresh or a wait. The server refuses in both cases before
    /// it checks the signature, so the signature is still usable.
    pub(crate) async fn again(&mut self, answer: &HttpAnswer) -> ClientResult<bool> {
        let expired =
            answer.status == 401 && answer.refusal().code() == Some(Code::TokenExpired.text());
        let can_refresh = expired && !self.refreshed;
        let refreshed = |used: &mut Arc<TokenPair>| can_refresh && !used.refresh_token.is_empty();
        if let Some(used) = self.used.take_if(refreshed) {
            self.refreshed = true;
            self.account.refresh_after(&used).await?;
            return Ok(true);
        }
        self.backoff.again(answer).await
    }
}

fn already_done(sequence: Option<u64>, signed: &SignedRequest) -> ClientError {
    let action = |content| Id::of_hash(Prefix::Action, content);
    ClientError::AlreadyDone {
        sequence,
        actions: signed.contents.iter().map(action).collect(),
    }
}

pub(crate) fn member<'a>(refusal: &'a ClientError, name: &str) -> Option<&'a str> {
    match refusal {
        ClientError::Refused(envelope) => envelope.body.get(name)?.as_str(),
        _ => None,
    }
}

fn says_nothing_done(refusal: &ClientError) -> bool {
    member(refusal, "outcome") == Some("nothing_done")
}

fn not_logged_in() -> ClientError {
    ClientError::Usage("the account is not logged in".to_owned())
}

/// Serializes a body once; these bytes are signed and sent.
pub(crate) fn to_json<T: Serialize>(value: &T) -> ClientResult<Bytes> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|error| ClientError::Usage(format!("the body is not JSON: {error}")))
}
