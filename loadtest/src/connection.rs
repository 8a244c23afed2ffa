//! One HTTP/1.1 connection, kept alive, with as little work around it as can be.

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::error::{Error, Result};

/// Where the server listens: `host:port`, from its base URL.
pub(crate) fn authority(url: &str) -> Result<String> {
    let usage = || Error::Usage(format!("{url:?} must look like http://127.0.0.1:8080"));
    let uri: Uri = url.parse().map_err(|_| usage())?;
    match (uri.scheme_str(), uri.host(), uri.path()) {
        (Some("http"), Some(host), "/" | "") => {
            Ok(format!("{host}:{}", uri.port_u16().unwrap_or(80)))
        }
        _ => Err(usage()),
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// Bytes of the body.
    pub(crate) length: usize,
    /// The body, if it was to be kept or the status is no success; otherwise empty.
    pub(crate) body: Bytes,
}

/// A connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects; what moves the connection's bytes runs as a task beside the caller.
    pub(crate) async fn open(authority: &str) -> Result<Self> {
        let stream = TcpStream::connect(authority)
            .await
            .map_err(Error::io(format!("connecting to {authority}")))?;
        stream
            .set_nodelay(true)
            .map_err(Error::io("setting up a connection"))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its error comes to the sender too, with the request that meets it.
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    /// Sends a request and reads the whole answer; its bytes are kept only where they are needed.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        keep: bool,
    ) -> Result<Answer> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let keep = keep || !status.is_success();
        let mut body = response.into_body();
        let mut length = 0;
        let mut kept = BytesMut::new();
        while let Some(frame) = body.frame().await {
            if let Some(data) = frame?.data_ref() {
                length += data.len();
                if keep {
                    kept.extend_from_slice(data);
                }
            }
        }
        Ok(Answer {
            status,
            length,
            body: kept.freeze(),
        })
    }
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
}
