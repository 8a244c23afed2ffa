//! One HTTP/1.1 connection, kept alive.

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::error::Result;

/// `host:port` of a base URL.
pub(crate) fn authority(url: &str) -> Result<&str> {
    Ok(url.strip_prefix("http://").ok_or("an http URL")?)
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The body, if the status is not a success; otherwise its bytes were read and dropped.
    pub(crate) refusal: Bytes,
}

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Connection {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let authority = authority(url)?.to_owned();
        let stream = TcpStream::connect(&authority).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its error also reaches the sender, with the request that meets it.
        tokio::spawn(connection);
        Ok(Self { sender, authority })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Answer> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut refusal = BytesMut::new();
        while let Some(frame) = body.frame().await {
            if let Some(data) = frame?.data_ref().filter(|_| !status.is_success()) {
                refusal.extend_from_slice(data);
            }
        }
        Ok(Answer {
            status,
            refusal: refusal.freeze(),
        })
    }

    /// Sends a JSON body and returns the answer's; anything but 200 is an error.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        token: Option<&str>,
        body: String,
    ) -> Result<Bytes> {
        let mut request = Request::post(path)
            .header("host", &self.authority)
            .header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        self.sender.ready().await?;
        let request = request.body(Full::new(Bytes::from(body)))?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status.is_success() {
            Ok(body)
        } else {
            Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&body)).into())
        }
    }
}
