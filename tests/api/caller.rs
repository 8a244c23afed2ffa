//! A caller: a key, a wallet's token, and requests signed rightly or wrongly.

use std::sync::atomic::{AtomicU64, Ordering};

use kedge_client::sign::{RequestTerms, SignableAction, sign, unix_now_s};
use kedge_protocol::Hash;
use kedge_protocol::action::Kind;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::possession;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

/// How a request is signed; [`Caller::terms`] returns the correct terms, and tests alter them.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) domain: Domain,
    pub(crate) nonce: u64,
    pub(crate) deadline_s: u64,
    pub(crate) atomic: bool,
    pub(crate) seed: Hash,
}

/// A key, with the token of its wallet.
pub(crate) struct Caller {
    pub(crate) key: SigningKey,
    pub(crate) token: String,
    pub(crate) wallet_id: String,
    pub(crate) organization_id: String,
    nonce: AtomicU64,
}

/// One action in its signed form: kind, target, payload.
pub(crate) type Signed<'a> = (&'a str, &'a str, &'a str);

pub(crate) fn signature(
    key: &SigningKey,
    terms: &Terms,
    actions: &[Signed<'_>],
) -> Vec<(&'static str, String)> {
    let kinds: Vec<Kind> = actions
        .iter()
        .map(|(kind, ..)| Kind::of_text(kind).unwrap())
        .collect();
    let texts: Vec<SignableAction<'_>> = actions
        .iter()
        .zip(&kinds)
        .map(|((_, target, payload), kind)| SignableAction {
            kind,
            target,
            payload: payload.as_bytes(),
        })
        .collect();
    let request_terms = RequestTerms {
        key,
        domain_separator: &terms.domain.separator(),
        nonce: terms.nonce,
        deadline_s: terms.deadline_s,
        atomic: terms.atomic,
        seed: terms.seed,
    };
    sign(&request_terms, &texts).unwrap().headers().to_vec()
}

static CALLERS: AtomicU64 = AtomicU64::new(1);

pub(crate) const PASSWORD: &str = "correct horse battery";

impl Caller {
    /// A token like the server's, signed with the server's own key, with this expiry.
    pub(crate) async fn token_until(&self, server: &Server, exp: u64) -> String {
        let path = server.dir.path().join("data/keys/token-000001.key");
        let seed = std::fs::read_to_string(path).unwrap();
        let seed = const_hex::decode(seed.trim().trim_start_matches("0x")).unwrap();
        // PKCS #8 around an Ed25519 seed (RFC 8410, 7).
        let mut der = const_hex::decode("302e020100300506032b657004220420").unwrap();
        der.extend_from_slice(&seed);
        let served = server.get("/.well-known/jwks.json", None).await.expect(200);
        let header = jsonwebtoken::Header {
            kid: served.body["keys"][0]["kid"].as_str().map(str::to_owned),
            ..jsonwebtoken::Header::new(jsonwebtoken::Algorithm::EdDSA)
        };
        let claims = json!({
            "iss": server.url,
            "aud": "kedge",
            "sub": self.wallet_id,
            "org": self.organization_id,
            "iat": exp - 900,
            "exp": exp,
            "jti": "1",
        });
        let key = jsonwebtoken::EncodingKey::from_ed_der(&der);
        jsonwebtoken::encode(&header, &claims, &key).unwrap()
    }

    /// A key without a wallet.
    pub(crate) fn nobody() -> Self {
        let number = CALLERS.fetch_add(1, Ordering::Relaxed);
        let key = SigningKey::from_bytes(&sha256(&number.to_be_bytes()).0).unwrap();
        Self {
            key,
            token: String::new(),
            wallet_id: String::new(),
            organization_id: String::new(),
            nonce: AtomicU64::new(0),
        }
    }

    pub(crate) async fn register(server: &Server, email: &str) -> Self {
        let mut caller = Self::nobody();
        let body = caller.registration(email).to_string();
        let answer = caller.send_registration(server, &body).await.expect(201);
        let text = |name: &str, of: &Value| of[name].as_str().unwrap().to_owned();
        caller.token = text("access_token", &answer.body);
        caller.wallet_id = text("id", &answer.body["wallet"]);
        caller.organization_id = text("organization_id", &answer.body["wallet"]);
        caller
    }

    /// The body that adds this key to a wallet, with its consent.
    pub(crate) fn joining(&self, server: &Server, wallet: &str) -> Value {
        let consent = possession::consent(&self.key, &server.domain.separator(), wallet);
        json!({ "address": self.key.address(), "possession": consent })
    }

    pub(crate) fn registration(&self, email: &str) -> Value {
        json!({
            "email": email,
            "password": PASSWORD,
            "address": self.key.address(),
            "blind": "MDEyMzQ1Njc4OWFiY2RlZg==",
        })
    }

    pub(crate) async fn send_registration(&self, server: &Server, body: &str) -> Answer {
        let payload = digest_text(&sha256(body.as_bytes()));
        let terms = self.terms(server);
        let headers = signature(&self.key, &terms, &[("wallet.register", "", &payload)]);
        server
            .call("POST", "/wallets/register", &headers, body)
            .await
    }

    pub(crate) fn terms(&self, server: &Server) -> Terms {
        let nonce = self.nonce.fetch_add(1, Ordering::Relaxed) + 1;
        self.terms_of(server, nonce)
    }

    fn terms_of(&self, server: &Server, nonce: u64) -> Terms {
        let mut preimage = self.key.address().0.to_vec();
        preimage.extend_from_slice(&nonce.to_be_bytes());
        Terms {
            domain: server.domain,
            nonce,
            deadline_s: unix_now_s() + 60,
            atomic: false,
            seed: sha256(&preimage),
        }
    }

    /// Headers of a well-formed signature over something else, with an unspent nonce.
    pub(crate) fn false_signature(&self, server: &Server) -> Vec<(&'static str, String)> {
        let terms = Terms {
            nonce: self.nonce.load(Ordering::Relaxed) + 1,
            ..self.terms_of(server, 0)
        };
        signature(
            &self.key,
            &terms,
            &[("wallet.register", "", "something else")],
        )
    }

    pub(crate) fn bearer(&self) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", self.token))
    }

    /// Sends a resource's request whose payload is its body.
    pub(crate) async fn change(
        &self,
        server: &Server,
        (method, path): (&str, &str),
        (kind, target): (&str, &str),
        body: &str,
    ) -> Answer {
        let signed = (kind, target, body);
        self.change_as(server, (method, path), signed, body, &[self.bearer()])
            .await
    }

    /// Sends a signed request with these credentials; the signed text may differ from the body.
    pub(crate) async fn change_as(
        &self,
        server: &Server,
        (method, path): (&str, &str),
        signed: Signed<'_>,
        body: &str,
        credentials: &[(&'static str, String)],
    ) -> Answer {
        let mut headers = signature(&self.key, &self.terms(server), &[signed]);
        headers.extend_from_slice(credentials);
        server.call(method, path, &headers, body).await
    }

    /// Makes an API key; the answer shows it.
    pub(crate) async fn new_key(&self, server: &Server, body: &Value) -> Answer {
        let request = ("POST", "/api-keys");
        self.change(server, request, ("key.create", ""), &body.to_string())
            .await
    }

    pub(crate) async fn template(&self, server: &Server, body: &Value) -> Answer {
        let request = ("POST", "/templates");
        self.change(server, request, ("template.create", ""), &body.to_string())
            .await
    }

    /// Makes a template and returns its id.
    pub(crate) async fn new_template(&self, server: &Server, name: &str) -> String {
        let made = self
            .template(server, &json!({ "name": name }))
            .await
            .expect(201);
        made.body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn mint(&self, server: &Server, body: &Value) -> Answer {
        let target = body["template_id"].as_str().unwrap_or_default();
        self.change(
            server,
            ("POST", "/objects"),
            ("mint", target),
            &body.to_string(),
        )
        .await
    }

    /// Mints an object and returns its id.
    pub(crate) async fn new_object(&self, server: &Server, template_id: &str) -> String {
        let made = self
            .mint(server, &json!({ "template_id": template_id }))
            .await
            .expect(201);
        made.body["id"].as_str().unwrap().to_owned()
    }

    /// Sends actions of the bus as a batch.
    pub(crate) async fn bus(
        &self,
        server: &Server,
        actions: &[Signed<'_>],
        atomic: bool,
    ) -> Answer {
        self.bus_with(server, actions, atomic, &[]).await
    }

    pub(crate) async fn bus_with(
        &self,
        server: &Server,
        actions: &[Signed<'_>],
        atomic: bool,
        more: &[(&'static str, String)],
    ) -> Answer {
        let terms = Terms {
            atomic,
            ..self.terms(server)
        };
        let mut headers = signature(&self.key, &terms, actions);
        headers.push(self.bearer());
        headers.extend_from_slice(more);
        let body = format!(
            r#"{{"actions":[{}],"atomic":{atomic}}}"#,
            bus_members(actions)
        );
        server
            .call("POST", "/ebus/actions/batch", &headers, &body)
            .await
    }

    pub(crate) async fn action(&self, server: &Server, action: Signed<'_>) -> Answer {
        let mut headers = signature(&self.key, &self.terms(server), &[action]);
        headers.push(self.bearer());
        let body = bus_members(&[action]);
        server.call("POST", "/ebus/actions", &headers, &body).await
    }
}

/// The JSON of actions, with their payloads' exact text.
pub(crate) fn bus_members(actions: &[Signed<'_>]) -> String {
    let member = |(kind, target, payload): &Signed<'_>| {
        let name = if *kind == "mint" {
            "template_id"
        } else {
            "object_id"
        };
        format!(r#"{{"action_type":"{kind}","{name}":"{target}","payload":{payload}}}"#)
    };
    actions.iter().map(member).collect::<Vec<_>>().join(",")
}
