//! A reader of server-sent events over its own socket: as strict as the standard, and as slow as a test wants.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::Server;

/// Far longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Default, Debug)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) retry: Option<String>,
}

impl Block {
    fn of(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            let place = match field {
                "" => &mut block.comment,
                "id" => &mut block.id,
                "event" => &mut block.event,
                "data" => &mut block.data,
                "retry" => &mut block.retry,
                other => panic!("no field of the standard: {other:?} in {text:?}"),
            };
            assert!(place.is_none(), "twice {field:?} in {text:?}");
            *place = Some(value);
        }
        block
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.data.as_ref().unwrap()).unwrap()
    }
}

pub(crate) struct EventStream {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
    pub(crate) status: u16,
    /// Body text that was read but not returned yet.
    text: String,
    ended: bool,
    /// The last position that the server sent.
    pub(crate) last_id: String,
}

/// How to request a stream.
#[derive(Clone, Default)]
pub(crate) struct Ask<'a> {
    pub(crate) query: &'a str,
    pub(crate) last_event_id: Option<&'a str>,
    /// An API key to send in addition.
    pub(crate) api_key: Option<&'a str>,
    /// Bytes of the socket's receive buffer.
    pub(crate) receive_buffer: Option<u32>,
}

impl EventStream {
    pub(crate) async fn open(server: &Server, token: &str, ask: Ask<'_>) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(bytes) = ask.receive_buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        let address = server.address();
        let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
        let resume = ask
            .last_event_id
            .map(|id| format!("Last-Event-ID: {id}\r\n"))
            .unwrap_or_default();
        let api_key = ask.api_key.map(|key| format!("x-api-key: {key}\r\n"));
        let api_key = api_key.unwrap_or_default();
        let request = format!(
            "GET /ebus/events/stream{} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\n{api_key}{resume}\r\n",
            ask.query
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::with_capacity(4_096, stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = patient(reader.read_line(&mut head)).await.unwrap();
            assert!(read > 0, "the connection ended in the head: {head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            reader,
            head,
            status,
            text: String::new(),
            ended: false,
            last_id: String::new(),
        }
    }

    /// A stream that was opened successfully, with its first block read.
    pub(crate) async fn begin(server: &Server, token: &str, ask: Ask<'_>) -> Self {
        let mut stream = Self::open(server, token, ask).await;
        assert_eq!(stream.status, 200, "{}", stream.head);
        let first = stream.block().await.unwrap();
        assert!(first.retry.is_some() && first.data.is_none(), "{first:?}");
        stream
    }

    /// Reads the next chunk of the body (RFC 9112, 7.1).
    async fn chunk(&mut self) -> std::io::Result<()> {
        let mut size = String::new();
        if self.reader.read_line(&mut size).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).await?;
        assert_eq!(&bytes[size..], b"\r\n");
        self.text
            .push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        self.ended = size == 0;
        Ok(())
    }

    /// The next block; `None` at a normal end of the stream, an error if it was cut off.
    pub(crate) async fn try_block(&mut self) -> std::io::Result<Option<Block>> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (Block::of(block), String::from(rest));
                self.text = rest;
                if let Some(id) = &block.id {
                    self.last_id.clone_from(id);
                }
                return Ok(Some(block));
            }
            if self.ended {
                assert_eq!(self.text, "", "the stream ends between two blocks");
                return Ok(None);
            }
            patient(self.chunk()).await?;
        }
    }

    pub(crate) async fn block(&mut self) -> Option<Block> {
        self.try_block().await.unwrap()
    }

    /// The next event; heartbeats are skipped.
    pub(crate) async fn event(&mut self) -> Value {
        loop {
            let block = self.block().await.expect("the stream continues");
            if block.data.is_some() {
                let event = block.json();
                assert_eq!(block.event.as_deref(), event["type"].as_str());
                assert_eq!(block.id.as_deref(), event["position"].as_str());
                return event;
            }
        }
    }

    pub(crate) async fn events(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::with_capacity(count);
        while events.len() < count {
            events.push(self.event().await);
        }
        events
    }

    /// The events up to one of this type, which has to occur.
    pub(crate) async fn until(&mut self, event_type: &str) -> Vec<Value> {
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|last: &Value| last["type"] != event_type)
        {
            events.push(self.event().await);
        }
        events
    }
}

async fn patient<T>(what: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, what).await;
    waited.expect("the server sends nothing")
}
