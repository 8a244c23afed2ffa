//! TCP connection of a protocol with lines and counted bytes, such as Redis's and NATS's.

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::Result;

const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) struct Wire {
    stream: TcpStream,
    /// Received bytes not parsed yet.
    bytes: BytesMut,
}

impl Wire {
    pub(crate) async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            bytes: BytesMut::with_capacity(BUFFER_BYTES),
        })
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// The next line, without its line ending.
    pub(crate) async fn line(&mut self) -> Result<String> {
        let mut looked_at = 0;
        loop {
            let rest = &self.bytes[looked_at..];
            if let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
                let end = looked_at + end;
                let line = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
                self.bytes.advance(end + 2);
                return Ok(line);
            }
            looked_at = self.bytes.len().saturating_sub(1);
            self.fill(self.bytes.len() + 1).await?;
        }
    }

    /// Reads `length` bytes and the line ending after them.
    pub(crate) async fn counted(&mut self, length: usize) -> Result<Vec<u8>> {
        self.fill(length + 2).await?;
        let taken = self.bytes[..length].to_vec();
        self.bytes.advance(length + 2);
        Ok(taken)
    }

    async fn fill(&mut self, length: usize) -> Result<()> {
        while self.bytes.len() < length {
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err("the connection was closed".into());
            }
        }
        Ok(())
    }
}
