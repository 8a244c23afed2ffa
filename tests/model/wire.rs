//! Requests on the wire: signed, sent, and answered or not.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kedge_client::sign::{RequestTerms, SignableAction, deadline_in, sign};
use kedge_protocol::Hash;
use kedge_protocol::action::Kind;
use kedge_protocol::signature::SigningKey;
use serde_json::Value;
use std::time::Duration;

use crate::oracle::Act;
use crate::plan::{Form, Plan};

/// Longer than any answer takes: a request that waits this long was forgotten.
const ANSWER_LIMIT: Duration = Duration::from_mins(1);
/// Longest wait for an answer of a server that was killed after the request was sent. A client's connection can lose a
/// request without an error if it closes just when the request is handed to it: tokio's channel accepts a message while
/// it is being drained, and keeps it.
pub(crate) const LOST_LIMIT: Duration = Duration::from_secs(15);

pub(crate) type Http = Client<HttpConnector, Full<Bytes>>;

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The log's sequence that the answer reflects.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.header("x-sequence").map(|text| text.parse().unwrap())
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// A request that can be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// How a request is signed.
pub(crate) struct Terms<'a> {
    pub(crate) key: &'a SigningKey,
    pub(crate) separator: &'a Hash,
    pub(crate) nonce: u64,
    pub(crate) seed: Hash,
}

impl Terms<'_> {
    /// The headers of the signature, and the actions' contents.
    pub(crate) fn sign(
        &self,
        atomic: bool,
        texts: &[(&str, &str, &str)],
    ) -> (Vec<(&'static str, String)>, Vec<Hash>) {
        let kinds = texts.iter().map(|(kind, ..)| Kind::of_text(kind).unwrap());
        let kinds: Vec<Kind> = kinds.collect();
        let actions: Vec<SignableAction<'_>> = texts
            .iter()
            .zip(&kinds)
            .map(|((_, target, payload), kind)| SignableAction {
                kind,
                target,
                payload: payload.as_bytes(),
            })
            .collect();
        let terms = RequestTerms {
            key: self.key,
            domain_separator: self.separator,
            nonce: self.nonce,
            deadline_s: deadline_in(Duration::from_hours(1)),
            atomic,
            seed: self.seed,
        };
        let signed = sign(&terms, &actions).unwrap();
        (signed.headers().to_vec(), signed.contents)
    }

    /// The request of a plan, and its actions' contents.
    pub(crate) fn prepare(&self, plan: &Plan) -> (Prepared, Vec<Hash>) {
        let payloads: Vec<String> = plan
            .acts
            .iter()
            .map(|act| act.payload.to_string())
            .collect();
        let texts = plan.acts.iter().zip(&payloads);
        let texts: Vec<(&str, &str, &str)> = texts
            .map(|(act, payload)| (act.kind, act.target.as_str(), payload.as_str()))
            .collect();
        let atomic = plan.form == Form::Batch { atomic: true };
        let (mut headers, contents) = self.sign(atomic, &texts);
        if let Some(tag) = &plan.if_match {
            headers.push(("if-match", tag.clone()));
        }
        let members: Vec<String> = plan.acts.iter().zip(&payloads).map(bus_member).collect();
        let (method, path, body) = match plan.form {
            Form::Single => ("POST", "/ebus/actions".to_owned(), members[0].clone()),
            Form::Batch { atomic } => {
                let body = format!(r#"{{"actions":[{}],"atomic":{atomic}}}"#, members.join(","));
                ("POST", "/ebus/actions/batch".to_owned(), body)
            }
            Form::Resource => {
                let (method, path) = endpoint(&plan.acts[0]);
                (method, path, payloads[0].clone())
            }
        };
        let prepared = Prepared {
            method,
            path,
            headers,
            body,
        };
        (prepared, contents)
    }
}

fn bus_member((act, payload): (&Act, &String)) -> String {
    let name = if act.kind == "mint" {
        "template_id"
    } else {
        "object_id"
    };
    let (kind, target) = (act.kind, &act.target);
    format!(r#"{{"action_type":"{kind}","{name}":"{target}","payload":{payload}}}"#)
}

fn endpoint(act: &Act) -> (&'static str, String) {
    match act.kind {
        "template.create" => ("POST", "/templates".to_owned()),
        "template.variations" => ("POST", format!("/templates/{}/variations", act.target)),
        "mint" => ("POST", "/objects".to_owned()),
        "update" => ("PATCH", format!("/objects/{}", act.target)),
        "transfer" => ("POST", format!("/objects/{}/transfer", act.target)),
        other => unreachable!("{other} has no endpoint of its own here"),
    }
}

/// Sends requests, and tracks the visible sequence.
pub(crate) struct Wire {
    pub(crate) url: String,
    http: Http,
    /// The highest sequence that any answer so far reflects.
    seen: AtomicU64,
    /// How often the server was killed.
    kills: AtomicU64,
}

impl Wire {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            http: Client::builder(TokioExecutor::new()).build_http(),
            seen: AtomicU64::new(0),
            kills: AtomicU64::new(0),
        }
    }

    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    /// The sequence that every answer from now on must reflect.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    pub(crate) fn killed(&self) {
        self.kills.fetch_add(1, Ordering::SeqCst);
    }

    /// Sends a request once; `None` if the server went down before it answered.
    pub(crate) async fn send(&self, request: &Prepared) -> Option<Answer> {
        let mut sent = Request::builder()
            .method(request.method)
            .uri(format!("{}{}", self.url, request.path))
            .header("content-type", "application/json");
        for (name, value) in &request.headers {
            sent = sent.header(*name, value);
        }
        let sent = sent.body(Full::new(Bytes::from(request.body.clone())));
        let exchange = async {
            let response = self.http.request(sent.unwrap()).await.ok()?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.ok()?.to_bytes();
            Some((parts, bytes))
        };
        let mut exchange = pin!(exchange);
        let kills = self.kills.load(Ordering::SeqCst);
        let mut answered = tokio::time::timeout(LOST_LIMIT, &mut exchange).await;
        if answered.is_err() {
            if self.kills.load(Ordering::SeqCst) > kills {
                return None;
            }
            let left = ANSWER_LIMIT.saturating_sub(LOST_LIMIT);
            answered = tokio::time::timeout(left, exchange).await;
        }
        let (parts, bytes) = answered.unwrap_or_else(|_| panic!("no answer to {request:?}"))?;
        let body = serde_json::from_slice(&bytes);
        let answer = Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.unwrap_or_else(|error| panic!("{error}: {bytes:?}")),
        };
        if let Some(sequence) = answer.sequence() {
            self.seen.fetch_max(sequence, Ordering::SeqCst);
        }
        Some(answer)
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Option<Answer> {
        let request = Prepared {
            method: "GET",
            path: path.to_owned(),
            headers: vec![("authorization", format!("Bearer {token}"))],
            body: String::new(),
        };
        self.send(&request).await
    }

    /// Everything in a list, page by page.
    pub(crate) async fn list(&self, path: &str, token: &str) -> Vec<Value> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let joint = if path.contains('?') { '&' } else { '?' };
            let page = format!("{path}{joint}limit=1000{cursor}");
            let answer = self.get(&page, token).await.expect("a server that answers");
            assert_eq!(answer.status, 200, "{page}: {}", answer.body);
            items.extend(answer.body["items"].as_array().unwrap().iter().cloned());
            if answer.body["has_more"] == false {
                return items;
            }
            cursor = format!("&cursor={}", answer.body["cursor"].as_str().unwrap());
        }
    }
}
