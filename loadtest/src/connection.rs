//! Minimal keep-alive HTTP/1.1 connection, because the generator shares its processors with the server. Requests are
//! assembled in advance. Answers are read into a reused buffer, and need `Content-Length`, which every answer requested
//! here has.

use std::io::IoSlice;
use std::time::Duration;

use hyper::{StatusCode, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::{LoadtestError, LoadtestResult};

/// Minimum size of a read.
const READ_BYTES_MIN: usize = 16 * 1024;
/// Limit on the head of an answer.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Limit on the body of an answer.
const BODY_BYTES_MAX: usize = 64 << 20;
const FIELDS_MAX: usize = 64;
/// A slower answer counts as missing.
const PATIENCE: Duration = Duration::from_mins(1);

/// `host:port` of a base URL.
pub fn authority(url: &str) -> LoadtestResult<String> {
    let usage =
        || LoadtestError::usage(format_args!("{url:?} must look like http://127.0.0.1:8080"));
    let uri: Uri = url.parse().map_err(|_| usage())?;
    match (uri.scheme_str(), uri.host(), uri.path()) {
        (Some("http"), Some(host), "/" | "") => {
            Ok(format!("{host}:{}", uri.port_u16().unwrap_or(80)))
        }
        _ => Err(usage()),
    }
}

/// An answer whose body stays in the connection's buffer until the next exchange.
pub struct LoadAnswer<'a> {
    /// HTTP status.
    pub status: StatusCode,
    /// Complete body.
    pub body: &'a [u8],
    /// `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
    /// `ETag`.
    pub etag: Option<&'a str>,
    /// Seconds until the nearest limit allows requests again, if `RateLimit` states that it is used up.
    pub used_up_s: Option<u64>,
}

/// Head of an answer, as offsets into the buffer.
struct AnswerHead {
    status: u16,
    head_bytes: usize,
    body_bytes: usize,
    retry_after_s: Option<u64>,
    etag: Option<(usize, usize)>,
    used_up_s: Option<u64>,
}

/// A connection that reopens itself if the server closed it between requests: servers close idle connections, and no
/// request was lost.
pub struct LoadConnection {
    authority: String,
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Number of bytes in the buffer.
    filled: usize,
}

impl LoadConnection {
    /// Connects to `host:port`.
    pub async fn open(authority: &str) -> LoadtestResult<Self> {
        Ok(Self {
            authority: authority.to_owned(),
            stream: connect(authority).await?,
            buffer: vec![0; READ_BYTES_MIN],
            filled: 0,
        })
    }

    /// Sends a request and reads the complete answer. An answer that takes longer than a minute is an error.
    pub async fn exchange(&mut self, head: &[u8], body: &[u8]) -> LoadtestResult<LoadAnswer<'_>> {
        let exchange = async {
            if self.is_closed() {
                self.stream = connect(&self.authority).await?;
            }
            self.send(head, body).await?;
            self.receive().await
        };
        let received = tokio::time::timeout(PATIENCE, exchange).await;
        let late =
            |_| LoadtestError::answer(format_args!("no answer within {} s", PATIENCE.as_secs()));
        let head = received.map_err(late)??;
        let status = StatusCode::from_u16(head.status)
            .map_err(|_| LoadtestError::answer(format_args!("{} is not a status", head.status)))?;
        let etag = head.etag.map(|(from, to)| &self.buffer[from..to]);
        Ok(LoadAnswer {
            status,
            body: &self.buffer[head.head_bytes..head.head_bytes + head.body_bytes],
            retry_after_s: head.retry_after_s,
            etag: etag.and_then(|etag| std::str::from_utf8(etag).ok()),
            used_up_s: head.used_up_s,
        })
    }

    /// Whether the server closed the connection. All answers were read completely, so nothing else can be readable.
    fn is_closed(&self) -> bool {
        let read = self.stream.try_read(&mut [0]);
        !matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }

    async fn send(&mut self, mut head: &[u8], mut body: &[u8]) -> LoadtestResult<()> {
        let failed = LoadtestError::io("sending a request");
        let sent = async {
            while !head.is_empty() {
                let parts = [IoSlice::new(head), IoSlice::new(body)];
                let written = self.stream.write_vectored(&parts).await?;
                if written == 0 {
                    return Err(std::io::ErrorKind::WriteZero.into());
                }
                body = &body[written.saturating_sub(head.len())..];
                head = &head[written.min(head.len())..];
            }
            self.stream.write_all(body).await
        };
        sent.await.map_err(failed)
    }

    async fn receive(&mut self) -> LoadtestResult<AnswerHead> {
        self.filled = 0;
        let head = loop {
            self.fill(READ_BYTES_MIN).await?;
            if let Some(head) = parse(&self.buffer[..self.filled])? {
                break head;
            }
            if self.filled > HEAD_BYTES_MAX {
                return Err(LoadtestError::answer("the answer's head is too long"));
            }
        };
        let all = head.head_bytes + head.body_bytes;
        while self.filled < all {
            self.fill(all - self.filled).await?;
        }
        if self.filled > all {
            return Err(LoadtestError::answer(
                "the server sent more than the answer",
            ));
        }
        Ok(head)
    }

    /// Reads the available bytes, with space for at least `room`.
    async fn fill(&mut self, room: usize) -> LoadtestResult<()> {
        if self.buffer.len() - self.filled < room {
            self.buffer.resize(self.filled + room, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.filled..]).await;
        match read.map_err(LoadtestError::io("reading an answer"))? {
            0 => Err(LoadtestError::answer("the connection was closed")),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }
}

async fn connect(authority: &str) -> LoadtestResult<TcpStream> {
    let stream = TcpStream::connect(authority)
        .await
        .map_err(LoadtestError::io(format!("connecting to {authority}")))?;
    stream
        .set_nodelay(true)
        .map_err(LoadtestError::io("setting up a connection"))?;
    Ok(stream)
}

/// Parses the head of an answer; `None` while it is incomplete.
fn parse(bytes: &[u8]) -> LoadtestResult<Option<AnswerHead>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response
        .parse(bytes)
        .map_err(|error| LoadtestError::answer(format_args!("not an HTTP answer: {error}")))?;
    let httparse::Status::Complete(head_bytes) = parsed else {
        return Ok(None);
    };
    let status = response.code.unwrap_or_default();
    let mut head = AnswerHead {
        status,
        head_bytes,
        body_bytes: 0,
        retry_after_s: None,
        etag: None,
        used_up_s: None,
    };
    let bodiless = status == 204 || status == 304;
    let mut reported = bodiless;
    for field in &*response.headers {
        let text = || std::str::from_utf8(field.value).ok();
        if field.name.eq_ignore_ascii_case("content-length") && !bodiless {
            let length = text().and_then(|text| text.parse().ok());
            head.body_bytes = length
                .filter(|length| *length <= BODY_BYTES_MAX)
                .ok_or_else(|| LoadtestError::answer("an impossible Content-Length"))?;
            reported = true;
        } else if field.name.eq_ignore_ascii_case("retry-after") {
            head.retry_after_s = text().and_then(|text| text.parse().ok());
        } else if field.name.eq_ignore_ascii_case("ratelimit") {
            head.used_up_s = text().and_then(used_up_s);
        } else if field.name.eq_ignore_ascii_case("etag") {
            let from = field.value.as_ptr() as usize - bytes.as_ptr() as usize;
            head.etag = Some((from, from + field.value.len()));
        }
    }
    if reported {
        Ok(Some(head))
    } else {
        Err(LoadtestError::answer("an answer without Content-Length"))
    }
}

/// Seconds until the nearest limit, the first one listed (`"tier-minute";r=0;t=37`), allows requests, if nothing is
/// left of it.
fn used_up_s(field: &str) -> Option<u64> {
    let mut parameters = field.split(',').next()?.split(';').map(str::trim);
    parameters.find(|parameter| *parameter == "r=0")?;
    parameters.next()?.strip_prefix("t=")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        assert_eq!(authority("http://[::1]:8080").unwrap(), "[::1]:8080");
        assert_eq!(authority("http://localhost/").unwrap(), "localhost:80");
        for bad in ["https://localhost", "localhost:80", "http://a/b", ""] {
            assert!(authority(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn heads_of_answers() {
        let text = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\ncontent-length: 2\r\nETag: \"1.ab\"\r\n\r\n{}";
        let head = parse(text).unwrap().unwrap();
        assert_eq!((head.status, head.body_bytes), (429, 2));
        assert_eq!(head.retry_after_s, Some(7));
        assert_eq!(head.head_bytes, text.len() - 2);
        let (from, to) = head.etag.unwrap();
        assert_eq!(&text[from..to], b"\"1.ab\"");
        assert!(parse(&text[..40]).unwrap().is_none());
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(
            parse(b"HTTP/1.1 304 Not Modified\r\n\r\n")
                .unwrap()
                .is_some()
        );
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
    }

    #[test]
    fn limits_that_are_used_up() {
        let none = r#""tier-minute";r=0;t=37, "tier-day";r=900;t=5000"#;
        assert_eq!(used_up_s(none), Some(37));
        assert_eq!(used_up_s(r#""tier-minute";r=10;t=37"#), None);
        assert_eq!(used_up_s(""), None);
    }

    #[tokio::test]
    async fn bodies_of_any_length_and_again_on_the_same_connection() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for length in [3_000_000, 0, 17] {
                let mut asked = vec![0; 8];
                stream.read_exact(&mut asked).await.unwrap();
                assert_eq!(asked, b"headbody");
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                stream.write_all(&vec![b'x'; length]).await.unwrap();
            }
        });
        let mut connection = LoadConnection::open(&authority).await.unwrap();
        for length in [3_000_000, 0, 17] {
            let answer = connection.exchange(b"head", b"body").await.unwrap();
            assert_eq!(answer.body.len(), length);
            assert!(answer.body.iter().all(|byte| *byte == b'x'));
        }
        server.await.unwrap();
        assert!(connection.exchange(b"head", b"body").await.is_err());
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_idle_is_made_anew() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.read_exact(&mut [0; 8]).await.unwrap();
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(answer).await.unwrap();
            }
        });
        let mut connection = LoadConnection::open(&authority).await.unwrap();
        for _ in 0..2 {
            let answer = connection.exchange(b"head", b"body").await.unwrap();
            assert_eq!(answer.status, StatusCode::OK);
            connection.stream.readable().await.unwrap();
        }
        server.await.unwrap();
    }
}
