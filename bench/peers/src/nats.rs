//! NATS JetStream: a stream on disk. Several messages go as one atomic batch with one acknowledgement (ADR-50, server
//! 2.12), or one by one if the server knows no batches. The server's `sync_interval` decides whether an acknowledged
//! message is synced. The client is hand-written for the few lines of the protocol that it needs
//! (<https://docs.nats.io/reference/reference-protocols/nats-protocol>): the official one adds about 150 packages.

use crate::error::Result;
use crate::load::Append;
use crate::options::Options;
use crate::records::{Record, groups};
use crate::wire::Wire;

const SUBJECT: &str = "records";
const STREAM: &str = r#"{"name":"RECORDS","subjects":["records"],"storage":"file","retention":"limits","num_replicas":1,"allow_atomic":true}"#;

/// A connection with its prepared groups of messages.
pub(crate) struct Publisher {
    nats: Nats,
    groups: Vec<Vec<Record>>,
    /// One acknowledgement per group.
    atomic: bool,
    next: usize,
}

impl Publisher {
    pub(crate) async fn open(options: &Options) -> Result<Vec<Self>> {
        let mut first = Nats::connect(&options.address, 0).await?;
        // The stream may not exist yet, so the answer does not matter.
        first.ask("$JS.API.STREAM.DELETE.RECORDS", "").await?;
        let made = first.ask("$JS.API.STREAM.CREATE.RECORDS", STREAM).await?;
        check(&made)?;
        let knows_batches = String::from_utf8_lossy(&made).contains(r#""allow_atomic":true"#);
        let mut opened = Vec::new();
        for number in 0..options.connections {
            opened.push(Self {
                nats: Nats::connect(&options.address, number + 1).await?,
                groups: groups(number, options.records, options.bytes),
                atomic: knows_batches && options.records > 1,
                next: 0,
            });
        }
        Ok(opened)
    }
}

impl Append for Publisher {
    async fn append(&mut self) -> Result<()> {
        let group = &self.groups[self.next % self.groups.len()];
        let messages = if self.atomic {
            batch(group, &self.nats.inbox, self.next)
        } else {
            messages(group, &self.nats.inbox)
        };
        self.next += 1;
        self.nats.wire.send(messages.as_bytes()).await?;
        let answers = if self.atomic { 1 } else { group.len() };
        for _ in 0..answers {
            check(&self.nats.message().await?)?;
        }
        Ok(())
    }
}

fn messages(group: &[Record], inbox: &str) -> String {
    let mut text = String::new();
    for Record { object, payload } in group {
        let length = object.len() + payload.len();
        text.push_str(&format!(
            "PUB {SUBJECT} {inbox} {length}\r\n{object}{payload}\r\n"
        ));
    }
    text
}

/// All messages as one batch. The last one commits it and requests the acknowledgement.
fn batch(group: &[Record], inbox: &str, number: usize) -> String {
    let mut text = String::new();
    for (sequence, Record { object, payload }) in (1..).zip(group) {
        let (reply, commit) = if sequence == group.len() {
            (inbox, "Nats-Batch-Commit: 1\r\n")
        } else {
            ("", "")
        };
        let headers = format!(
            "NATS/1.0\r\nNats-Batch-Id: {inbox}.{number}\r\nNats-Batch-Sequence: {sequence}\r\n{commit}\r\n"
        );
        let length = headers.len() + object.len() + payload.len();
        text.push_str(&format!(
            "HPUB {SUBJECT} {reply} {} {length}\r\n{headers}{object}{payload}\r\n",
            headers.len()
        ));
    }
    text
}

/// A successful answer of JetStream has no `error` member.
fn check(answer: &[u8]) -> Result<()> {
    let answer = String::from_utf8_lossy(answer);
    if answer.contains(r#""error""#) {
        return Err(format!("JetStream: {answer}").into());
    }
    Ok(())
}

struct Nats {
    wire: Wire,
    inbox: String,
}

impl Nats {
    async fn connect(address: &str, number: usize) -> Result<Self> {
        let mut wire = Wire::connect(address).await?;
        let inbox = format!("_INBOX.{number}");
        let hello = format!(
            "CONNECT {{\"verbose\":false,\"pedantic\":false,\"headers\":true,\"name\":\"kedge-peers\"}}\r\nSUB {inbox} 1\r\n"
        );
        wire.send(hello.as_bytes()).await?;
        Ok(Self { wire, inbox })
    }

    async fn ask(&mut self, subject: &str, body: &str) -> Result<Vec<u8>> {
        let (inbox, length) = (&self.inbox, body.len());
        let text = format!("PUB {subject} {inbox} {length}\r\n{body}\r\n");
        self.wire.send(text.as_bytes()).await?;
        self.message().await
    }

    async fn message(&mut self) -> Result<Vec<u8>> {
        loop {
            let line = self.wire.line().await?;
            if let Some(head) = line.strip_prefix("MSG ") {
                let length = head.rsplit(' ').next().unwrap_or_default();
                return self.wire.counted(length.parse()?).await;
            } else if line == "PING" {
                self.wire.send(b"PONG\r\n").await?;
            } else if let Some(error) = line.strip_prefix("-ERR ") {
                return Err(format!("NATS: {error}").into());
            }
        }
    }
}
