//! Signed requests that can be sent any number of times, to any node.

use std::time::Duration;

use kedge_client::sign::{RequestTerms, SignableAction, deadline_in, sign};
use kedge_protocol::action::Kind;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id};
use serde_json::json;

use crate::nodes::Cluster;
use crate::support::http::{self, Answer};
use crate::support::{Rng, connect, register, template};

/// A wallet that signs its own requests.
pub(crate) struct Signer {
    pub(crate) key: SigningKey,
    separator: Hash,
    pub(crate) token: String,
    template: Id,
    nonce: u64,
}

#[derive(Clone)]
pub(crate) struct Prepared {
    method: &'static str,
    path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    digest: Hash,
}

impl Signer {
    pub(crate) async fn register(cluster: &Cluster, rng: &mut Rng) -> Self {
        let leader = cluster.leader().await;
        let client = connect(&cluster.nodes[leader].url()).await;
        let key = rng.key();
        let account = register(&client, key.clone()).await;
        Self {
            template: template(&account, "signed").await,
            token: account.access_token().unwrap(),
            separator: *client.domain_separator(),
            key,
            // Above the nonces that the account has spent.
            nonce: 100,
        }
    }

    pub(crate) fn mint(&mut self) -> Prepared {
        let target = self.template.to_string();
        let properties = json!({ "n": self.nonce + 1 });
        let body = json!({ "template_id": target, "properties": properties }).to_string();
        self.sign("mint", &target, "/objects".to_owned(), body)
    }

    /// Sets `n` of an object.
    pub(crate) fn update(&mut self, object: &str, n: u64) -> Prepared {
        let body = json!({ "properties": { "n": n } }).to_string();
        self.sign("update", object, format!("/objects/{object}"), body)
    }

    fn sign(&mut self, kind: &str, target: &str, path: String, body: String) -> Prepared {
        self.nonce += 1;
        let terms = RequestTerms {
            key: &self.key,
            domain_separator: &self.separator,
            nonce: self.nonce,
            deadline_s: deadline_in(Duration::from_hours(1)),
            atomic: false,
            seed: keccak(&self.nonce.to_be_bytes()),
        };
        let method = if kind == "mint" { "POST" } else { "PATCH" };
        let kind = Kind::of_text(kind).unwrap();
        let text = SignableAction {
            kind: &kind,
            target,
            payload: body.as_bytes(),
        };
        let signed = sign(&terms, &[text]).unwrap();
        let mut headers = signed.headers().to_vec();
        headers.push(("authorization", format!("Bearer {}", self.token)));
        Prepared {
            method,
            path,
            headers,
            body,
            digest: signed.digest,
        }
    }

    /// A mint that another key has signed in this wallet's name.
    pub(crate) fn forged(&mut self, by: &SigningKey) -> Prepared {
        let mut forged = self.mint();
        let signature = forged.headers.iter_mut();
        let mut signature = signature.filter(|(name, _)| *name == "x-signature");
        signature.next().unwrap().1 = by.sign(&forged.digest).to_string();
        forged
    }

    /// A mint with an idempotency key.
    pub(crate) fn mint_once(&mut self, key: &str) -> Prepared {
        let mut prepared = self.mint();
        prepared.headers.push(("idempotency-key", key.to_owned()));
        prepared
    }
}

impl Prepared {
    /// The same, on the condition that the resource is in this state.
    pub(crate) fn if_match(mut self, tag: &str) -> Self {
        self.headers.push(("if-match", tag.to_owned()));
        self
    }

    /// The same with another header.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sends it to a node that answers.
    pub(crate) async fn send(&self, port: u16) -> Answer {
        let answer = self.try_send(port).await;
        answer.unwrap_or_else(|| panic!("no answer to {} on port {port}", self.path))
    }

    /// Sends it; `None` without an answer.
    pub(crate) async fn try_send(&self, port: u16) -> Option<Answer> {
        http::try_send(port, self.method, &self.path, &self.headers, &self.body).await
    }
}
