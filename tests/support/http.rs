//! A minimal HTTP client: one request per connection, and the raw answer.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends one request; `None` without an answer.
async fn exchange(port: u16, request: &str) -> Option<Answer> {
    let exchange = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some(Answer {
            status: head.split(' ').nth(1)?.parse().ok()?,
            head: head.to_owned(),
            body: body.to_owned(),
        })
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, exchange).await.ok().flatten()
}

/// GETs `path`; `None` without an answer.
pub(crate) async fn try_get(port: u16, path: &str) -> Option<Answer> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    exchange(port, &request).await
}

/// GETs `path` with an additional header; `None` without an answer.
pub(crate) async fn try_get_with(port: u16, path: &str, header: &str) -> Option<Answer> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{header}\r\n\r\n");
    exchange(port, &request).await
}

/// GETs `path` with an additional header.
pub(crate) async fn get_with(port: u16, path: &str, header: &str) -> Answer {
    let answer = try_get_with(port, path, header).await;
    answer.unwrap_or_else(|| panic!("no answer to GET {path} on port {port}"))
}

/// Sends a body unchanged; `None` without an answer.
pub(crate) async fn try_send(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &str,
) -> Option<Answer> {
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    exchange(port, &request).await
}

/// POSTs a body unchanged.
pub(crate) async fn post(port: u16, path: &str, headers: &[(&str, String)], body: &str) -> Answer {
    let answer = try_send(port, "POST", path, headers, body).await;
    answer.unwrap_or_else(|| panic!("no answer to POST {path} on port {port}"))
}

pub(crate) async fn get(port: u16, path: &str) -> Answer {
    let answer = try_get(port, path).await;
    answer.unwrap_or_else(|| panic!("no answer to GET {path} on port {port}"))
}

/// The sum of a metric's samples whose labels include all of `labels`; 0 if there are none.
pub(crate) async fn metric(port: u16, name: &str, labels: &[&str]) -> f64 {
    let page = get(port, "/metrics").await.body;
    page.lines()
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(series, _)| {
            let mut parts = series.splitn(2, '{');
            let found = parts.next() == Some(name);
            let rest = parts.next().unwrap_or_default();
            found && labels.iter().all(|label| rest.contains(label))
        })
        .map(|(_, value)| value.parse::<f64>().unwrap())
        .sum()
}
