//! A wallet that signs its own requests, so that they can have any headers.

use std::time::Duration;

use kedge_client::NewWebhook;
use kedge_client::sign::{RequestTerms, SignableAction, deadline_in, sign};
use kedge_protocol::action::Kind;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id};
use serde_json::json;

use crate::support::http::{self, Answer};
use crate::support::server::Setup;
use crate::support::{Rng, connect, register, template};

pub(crate) struct Caller {
    port: u16,
    key: SigningKey,
    separator: Hash,
    token: String,
    template: Id,
    nonce: u64,
}

impl Caller {
    /// Registers at a server, with a webhook to a URL if any.
    pub(crate) async fn register(setup: &Setup, webhook: Option<String>) -> Self {
        let client = connect(&setup.url()).await;
        let key = Rng::seeded("tracing").key();
        let account = register(&client, key.clone()).await;
        if let Some(url) = webhook {
            let webhook = NewWebhook {
                url,
                events: vec!["object.created".to_owned()],
                active: true,
                description: String::new(),
            };
            account.create_webhook(&webhook).await.unwrap();
        }
        Self {
            port: setup.port(),
            template: template(&account, "traced").await,
            token: account.access_token().unwrap(),
            separator: *client.domain_separator(),
            key,
            // Above the nonces that the account has spent.
            nonce: 100,
        }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Mints an object, with more headers.
    pub(crate) async fn mint(&mut self, more: &[(&'static str, String)]) -> Answer {
        self.nonce += 1;
        let target = self.template.to_string();
        let properties = json!({ "secret": "a-word-of-the-payload", "n": self.nonce });
        let body = json!({ "template_id": target, "properties": properties }).to_string();
        let terms = RequestTerms {
            key: &self.key,
            domain_separator: &self.separator,
            nonce: self.nonce,
            deadline_s: deadline_in(Duration::from_hours(1)),
            atomic: false,
            seed: keccak(&self.nonce.to_be_bytes()),
        };
        let kind = Kind::of_text("mint").unwrap();
        let text = SignableAction {
            kind: &kind,
            target: &target,
            payload: body.as_bytes(),
        };
        let mut headers = sign(&terms, &[text]).unwrap().headers().to_vec();
        headers.push(("authorization", format!("Bearer {}", self.token)));
        headers.extend_from_slice(more);
        http::post(self.port, "/objects", &headers, &body).await
    }
}
