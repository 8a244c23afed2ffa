//! One HTTP/1.1 connection, kept alive.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::Result;

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Connection {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let authority = url.strip_prefix("http://").ok_or("an http URL")?.to_owned();
        let stream = TcpStream::connect(&authority).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its error comes to the sender too, with the request that meets it.
        tokio::spawn(connection);
        Ok(Self { sender, authority })
    }

    /// Sends a JSON body and gives the answer's; anything but 200 is an error.
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
