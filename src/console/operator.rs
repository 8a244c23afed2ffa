//! The operator's page: some admin commands over HTTP, with the console's files to show their answers. It has its own
//! listener, off by default and on loopback only. Every command carries a token that only the server's user can read,
//! so neither other users of the machine nor pages of other origins can send one.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use kedge_http::server::malformed_request;
use kedge_http::stream::ReplyBody;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::console::{ConsoleFiles, PATH, covers};

/// Where commands are posted: one line of JSON, as on the socket.
const COMMAND_PATH: &str = "/operator/command";
/// Commands that the page may send. Commands on the operator's files need the socket.
const COMMANDS: [&str; 4] = ["status", "anchor_now", "tier", "tiers"];
const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// Time limit of one connection; anchoring waits for the chain.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(5);

/// Handler of a command line; returns the answer's JSON.
type CommandHandler =
    Box<dyn Fn(String) -> Pin<Box<dyn Future<Output = Value> + Send>> + Send + Sync>;

struct OperatorPage {
    console: ConsoleFiles,
    token_hash: [u8; 32],
    answering: CommandHandler,
}

fn hash_of(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Serves the page until the process ends; `answer` handles command lines. Returns the bound address.
pub async fn serve<F, A>(address: SocketAddr, token: &str, answer: F) -> std::io::Result<SocketAddr>
where
    F: Fn(String) -> A + Send + Sync + 'static,
    A: Future<Output = Value> + Send + 'static,
{
    let page = Arc::new(OperatorPage {
        console: ConsoleFiles::new(true),
        token_hash: hash_of(token),
        answering: Box::new(move |line| Box::pin(answer(line))),
    });
    let respond = move |request: Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { page.respond(request).await }
    };
    kedge_net::local_listener::serve(address, CONNECTION_TIMEOUT, respond).await
}

fn json_of(status: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(value.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn refused(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    json_of(status, &json!({ "ok": false, "error": why }))
}

impl OperatorPage {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let fault = malformed_request::fault(&parts, usize::MAX);
        let request = Request::from_parts(parts, body);
        let mut response = match (fault, request.uri().path()) {
            (Some(fault), _) => refused(fault.status(), &fault.message),
            (None, COMMAND_PATH) => self.command(request).await,
            (None, "/") => Self::to_page(),
            (None, path) if covers(path) => self.file(&request),
            (None, _) => refused(StatusCode::NOT_FOUND, "the operator's page is at /"),
        };
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        response
    }

    fn to_page() -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::SEE_OTHER;
        if let Ok(page) = HeaderValue::from_str(&format!("{PATH}#/operator")) {
            response.headers_mut().insert(LOCATION, page);
        }
        response
    }

    fn file(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        match self
            .console
            .answer(request.method(), path, request.headers(), 0)
        {
            Ok(reply) => {
                let body = match reply.body {
                    ReplyBody::Whole(bytes) => bytes,
                    ReplyBody::Stream(_) => Bytes::new(),
                };
                let mut response = Response::new(Full::new(body));
                *response.status_mut() = reply.status;
                *response.headers_mut() = reply.headers;
                response
            }
            Err(error) => refused(error.status(), &error.message),
        }
    }

    fn is_operator(&self, request: &Request<Incoming>) -> bool {
        let shown = request.headers().get(AUTHORIZATION);
        let shown = shown.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        // Hashes are compared, so timing reveals nothing of the token. The token may come with or without its 0x.
        let token = shown.map(|token| token.trim().trim_start_matches("0x"));
        token.is_some_and(|token| hash_of(token) == self.token_hash)
    }

    async fn command(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::POST {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "commands are posted");
        }
        if !self.is_operator(&request) {
            return refused(StatusCode::UNAUTHORIZED, "the token is not the server's");
        }
        let body = Limited::new(request.into_body(), COMMAND_BYTES_MAX);
        let Ok(body) = body.collect().await else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the command is too long");
        };
        let line = body.to_bytes();
        match permitted(&line) {
            Ok(line) => json_of(StatusCode::OK, &(self.answering)(line).await),
            Err(why) => refused(StatusCode::FORBIDDEN, why),
        }
    }
}

/// Validates a command from the page; returns its line.
fn permitted(line: &[u8]) -> Result<String, &'static str> {
    let value: Value = serde_json::from_slice(line).map_err(|_| "the command is no JSON")?;
    let command = value["command"].as_str();
    if !command.is_some_and(|command| COMMANDS.contains(&command)) {
        return Err("the page has no such command: use kedge admin");
    }
    Ok(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 173.
    #[test]
    fn only_some_commands_come_through() {
        for line in [
            r#"{"command":"status"}"#,
            r#"{"command":"tier","organization_id":"org_1","tier":"free"}"#,
            r#"{"command":"tiers","nearest":3}"#,
        ] {
            assert_eq!(permitted(line.as_bytes()), Ok(line.to_owned()));
        }
        for line in [
            r#"{"command":"backup","directory":"/tmp/x"}"#,
            r#"{"command":"clock","confirm":"2026-01-01T00:00:00Z"}"#,
            r#"{"command":["status"]}"#,
            r#"["status"]"#,
            r#"{"command":"backup","command":"status""#,
            "",
        ] {
            assert!(permitted(line.as_bytes()).is_err(), "{line}");
        }
    }
}
