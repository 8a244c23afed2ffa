//! The edge against callers that send no credentials, send slowly, read nothing, or do not speak HTTP: over real
//! sockets, from several addresses of this machine.

mod bodies;
mod connections;
mod early;
mod floods;
mod open_files;
mod parsing;
mod waits;
mod work;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::Server;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection from 127.0.0.`host`: for the server a different address from 127.0.0.1.
async fn connect_from(server: &Server, host: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, host], 0).into()).unwrap();
    let address = server.address().parse().unwrap();
    socket.connect(address).await.unwrap()
}

/// An HTTP/1.1 answer as received.
#[derive(Debug)]
struct Raw {
    head: String,
    body: Value,
}

impl Raw {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Checks for an error in the service's form, with the headers that every answer has.
    #[track_caller]
    fn refused(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status(), self.body["code"].as_str()),
            (status, Some(code)),
            "{self:?}"
        );
        let id = self.header("x-request-id").unwrap();
        assert_eq!(self.body["body"]["request_id"], id);
        for name in [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ] {
            assert!(self.header(name).is_some(), "{name}: {self:?}");
        }
    }
}

/// Reads one answer, by the length in its head.
async fn read_answer(stream: &mut TcpStream) -> Raw {
    let reading = async {
        let mut bytes = Vec::new();
        let end = loop {
            assert_ne!(
                stream.read_buf(&mut bytes).await.unwrap(),
                0,
                "closed after {bytes:?}"
            );
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let mut raw = Raw {
            head: String::from_utf8(bytes[..end].to_vec()).unwrap(),
            body: Value::Null,
        };
        let length = raw
            .header("content-length")
            .map_or(0, |text| text.parse().unwrap());
        while bytes.len() < end + length {
            assert_ne!(
                stream.read_buf(&mut bytes).await.unwrap(),
                0,
                "the body broke off"
            );
        }
        if length > 0 {
            raw.body = serde_json::from_slice(&bytes[end..end + length]).unwrap();
        }
        raw
    };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .expect("an answer in time")
}

/// Sends a request unchanged and reads its answer.
async fn ask(stream: &mut TcpStream, request: &str) -> Raw {
    stream.write_all(request.as_bytes()).await.unwrap();
    read_answer(stream).await
}

/// The head of a POST of JSON with these additional fields.
fn post(path: &str, fields: &[(&str, String)]) -> String {
    let fields: String = fields.iter().fold(String::new(), |text, (name, value)| {
        text + &format!("{name}: {value}\r\n")
    });
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{fields}\r\n")
}

/// A login with a wrong password.
fn login(email: &str) -> String {
    let body = json!({ "email": email, "password": "wrong horse battery" }).to_string();
    let length = ("Content-Length", body.len().to_string());
    post("/wallets/login", &[length]) + &body
}

type Sender = http2::SendRequest<Full<Bytes>>;

/// An HTTP/2 connection whose answers get this window, and the task that runs it until it ends.
async fn connect_http2(server: &Server, window: u32) -> (Sender, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let ended = tokio::spawn(async move {
        let _however = connection.await;
    });
    (sender, ended)
}

fn http2_request(
    server: &Server,
    method: &str,
    path: &str,
    token: &str,
) -> hyper::http::request::Builder {
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url));
    if token.is_empty() {
        return request;
    }
    request.header("authorization", format!("Bearer {token}"))
}
