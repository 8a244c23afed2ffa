//! Streaming export of the log, with memory for one line. An [`ExportChecker`](kedge_protocol::export::ExportChecker)
//! verifies it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use kedge_protocol::Code;

use crate::account::Account;
use crate::client::Client;
use crate::error::{ClientError, ClientResult};
use crate::transport::HttpCall;

/// Limit of a line: the largest request, with all its texts escaped.
const LINE_BYTES_MAX: usize = 256 << 20;

/// An export in progress.
#[derive(Debug)]
pub struct Export {
    body: Incoming,
    rest: BytesMut,
    /// Number of bytes of `rest` already searched for a line ending.
    searched: usize,
    timeout: Duration,
}

impl Client {
    /// Exports the log from a batch on: all headers and leaves. With an access token, also the requests of its wallet's
    /// organization.
    pub async fn export(&self, from: u64, access_token: Option<&str>) -> ClientResult<Export> {
        let path = format!("/export?from={from}");
        let bearer = access_token.map(|token| ("authorization", format!("Bearer {token}")));
        let transport = self.transport();
        let body = transport
            .open(&HttpCall::get(&path), bearer.as_slice())
            .await?;
        Ok(Export {
            body,
            rest: BytesMut::new(),
            searched: 0,
            timeout: transport.timeout(),
        })
    }
}

impl Account {
    /// Exports the log from a batch on, with the requests of the account's organization.
    pub async fn export(&self, from: u64) -> ClientResult<Export> {
        let token = self.access_token()?;
        let refused = match self.client().export(from, Some(&token)).await {
            Err(error) if error.code() == Some(Code::TokenExpired.text()) => error,
            other => return other,
        };
        self.refresh().await.map_err(|_| refused)?;
        let token = self.access_token()?;
        self.client().export(from, Some(&token)).await
    }
}

impl Export {
    /// Reads the next line, without its line ending; `None` at the end. An export without a checkpoint at its end is
    /// incomplete.
    pub async fn line(&mut self) -> ClientResult<Option<Bytes>> {
        loop {
            let unseen = &self.rest[self.searched..];
            if let Some(end) = unseen.iter().position(|byte| *byte == b'\n') {
                let mut line = self.rest.split_to(self.searched + end + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line.freeze()));
            }
            self.searched = self.rest.len();
            if self.rest.len() > LINE_BYTES_MAX {
                let text = format!("a line is longer than {LINE_BYTES_MAX} bytes");
                return Err(ClientError::Transport(text));
            }
            let frame = tokio::time::timeout(self.timeout, self.body.frame()).await;
            let timeout_ms = self.timeout.as_millis() as u64;
            match frame.map_err(|_| ClientError::Timeout { timeout_ms })? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => {
                    return Err(ClientError::Transport(format!(
                        "the export broke off: {error}"
                    )));
                }
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(std::mem::take(&mut self.rest).freeze()));
                }
            }
        }
    }
}
