//! Event streams read during the load: all actions of their organizations must arrive once and in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use kedge_protocol::event::EventPosition;
use memchr::memmem;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::{LoadtestError, LoadtestResult};
use crate::fleet::LoadOrganization;

/// Streams that are silent for this long after the load are complete.
const QUIET: Duration = Duration::from_secs(10);
/// Interval of progress checks.
const LOOK: Duration = Duration::from_millis(50);
/// Limit on the length of an event.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// Findings of the stream readers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct StreamFigures {
    pub(crate) readers: usize,
    pub(crate) events: u64,
    /// Repeated or reordered events.
    pub(crate) duplicates: u64,
    /// Acknowledged actions without an event.
    pub(crate) gaps: u64,
    /// Number of reopened streams.
    pub(crate) reconnects: u64,
    /// Seconds from the load's end until the last stream was complete.
    pub(crate) behind_s: f64,
}

#[derive(Default)]
struct StreamCounts {
    actions: AtomicU64,
    events: AtomicU64,
    duplicates: AtomicU64,
    reconnects: AtomicU64,
}

struct StreamReader {
    counts: Arc<StreamCounts>,
    task: JoinHandle<()>,
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Running stream readers.
pub(crate) struct StreamReaders(Vec<StreamReader>);

/// Opens a stream for each of the first organizations, and waits until all are open.
pub(crate) async fn open(
    authority: &str,
    organizations: &[LoadOrganization],
    count: usize,
) -> LoadtestResult<StreamReaders> {
    let (mut readers, mut opened) = (Vec::new(), Vec::new());
    for organization in &organizations[..count.min(organizations.len())] {
        let (sender, receiver) = oneshot::channel();
        let counts = Arc::new(StreamCounts::default());
        let follower = ReaderTask {
            authority: authority.to_owned(),
            api_key: organization.api_key.clone(),
            authorization: organization
                .access_token
                .as_ref()
                .map(|token| format!("Bearer {token}")),
            counts: Arc::clone(&counts),
            last: None,
            opened: Some(sender),
        };
        let task = tokio::spawn(follower.run());
        readers.push(StreamReader { counts, task });
        opened.push(receiver);
    }
    let readers = StreamReaders(readers);
    for opened in opened {
        match tokio::time::timeout(QUIET, opened).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => return Err(error),
            _ => {
                return Err(LoadtestError::answer("an event stream did not open"));
            }
        }
    }
    Ok(readers)
}

impl StreamReaders {
    /// Waits until the streams have delivered all acknowledged actions, or no more events arrive.
    pub(crate) async fn finish(self, acknowledged_each: &[u64]) -> StreamFigures {
        let ended = Instant::now();
        let wanted = |number: usize| acknowledged_each.get(number).copied().unwrap_or(0);
        let seen = |reader: &StreamReader| reader.counts.actions.load(Ordering::Relaxed);
        let (mut last, mut moved) = (0, Instant::now());
        let mut behind_s = 0.0;
        loop {
            let missing: u64 = (0..)
                .zip(&self.0)
                .map(|(number, reader)| wanted(number).saturating_sub(seen(reader)))
                .sum();
            if missing != last {
                (last, moved) = (missing, Instant::now());
            }
            if missing == 0 || moved.elapsed() > QUIET {
                break;
            }
            behind_s = ended.elapsed().as_secs_f64();
            tokio::time::sleep(LOOK).await;
        }
        let sum = |of: fn(&StreamCounts) -> &AtomicU64| {
            let readers = self.0.iter();
            readers
                .map(|reader| of(&reader.counts).load(Ordering::Relaxed))
                .sum()
        };
        StreamFigures {
            readers: self.0.len(),
            events: sum(|counts| &counts.events),
            duplicates: sum(|counts| &counts.duplicates),
            gaps: last,
            reconnects: sum(|counts| &counts.reconnects),
            behind_s,
        }
    }
}

struct ReaderTask {
    authority: String,
    api_key: Option<String>,
    authorization: Option<String>,
    counts: Arc<StreamCounts>,
    last: Option<EventPosition>,
    opened: Option<oneshot::Sender<LoadtestResult<()>>>,
}

impl ReaderTask {
    /// Follows the stream until aborted. Reconnects at the last position when the stream ends.
    async fn run(mut self) {
        loop {
            let ended = self.follow().await;
            if let Some(opened) = self.opened.take() {
                // The receiver is gone if the run has ended.
                let _ = opened.send(ended);
                return;
            }
            self.counts.reconnects.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn follow(&mut self) -> LoadtestResult<()> {
        let stream = TcpStream::connect(&self.authority).await;
        let stream = stream.map_err(LoadtestError::io("connecting for an event stream"))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        // The body reports its error too.
        tokio::spawn(connection);
        let mut request = Request::get("/ebus/events/stream").header("host", &self.authority);
        if let Some(key) = &self.api_key {
            request = request.header("x-api-key", key);
        }
        if let Some(token) = &self.authorization {
            request = request.header("authorization", token);
        }
        if let Some(last) = self.last {
            request = request.header("last-event-id", last.to_string());
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(LoadtestError::broken)?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(LoadtestError::answer(format_args!(
                "an event stream: status {status}"
            )));
        }
        let mut body = response.into_body();
        let mut text: VecDeque<u8> = VecDeque::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            text.extend(data);
            self.take_events(&mut text);
            if text.len() > EVENT_BYTES_MAX {
                return Err(LoadtestError::answer("an event without an end"));
            }
            if let Some(opened) = self.opened.take() {
                let _ = opened.send(Ok(()));
            }
        }
        Ok(())
    }

    /// Consumes all complete blocks.
    fn take_events(&mut self, text: &mut VecDeque<u8>) {
        let bytes = text.make_contiguous();
        let mut taken = 0;
        while let Some(length) = memmem::find(&bytes[taken..], b"\n\n") {
            let block = &bytes[taken..taken + length];
            taken += length + 2;
            self.take_event(block);
        }
        text.drain(..taken);
    }

    fn take_event(&mut self, block: &[u8]) {
        let lines = || block.split(|byte| *byte == b'\n');
        let id = lines().find_map(|line| line.strip_prefix(b"id: "));
        let position = id
            .and_then(|id| std::str::from_utf8(id).ok())
            .and_then(|id| id.parse::<EventPosition>().ok());
        let Some(position) = position else {
            return;
        };
        if !lines().any(|line| line.starts_with(b"data: ")) {
            // Only moves the position for resuming.
            self.last = self.last.max(Some(position));
            return;
        }
        self.counts.events.fetch_add(1, Ordering::Relaxed);
        if self.last.is_some_and(|last| position <= last) {
            self.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.last = Some(position);
        if position.index == 0 {
            self.counts.actions.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(texts: &[&str]) -> (u64, u64, u64) {
        let mut follower = ReaderTask {
            authority: String::new(),
            api_key: None,
            authorization: None,
            counts: Arc::default(),
            last: None,
            opened: None,
        };
        let mut text = VecDeque::new();
        for part in texts {
            text.extend(part.as_bytes());
            follower.take_events(&mut text);
        }
        let counts = &follower.counts;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (
            of(&counts.actions),
            of(&counts.events),
            of(&counts.duplicates),
        )
    }

    #[test]
    fn events_come_in_any_pieces_and_once() {
        let begin = "retry: 2000\nid: 7.500\n\n";
        let event = |id: &str| format!("id: {id}\nevent: object.updated\ndata: {{}}\n\n");
        let (eight, batch, nine) = (event("8"), event("8.500"), event("9"));
        assert_eq!(follow(&[begin, &eight, &batch, ": \n\n", &nine]), (2, 3, 0));
        let (head, tail) = nine.split_at(9);
        assert_eq!(follow(&[begin, &eight, head, tail]), (2, 2, 0));
        assert_eq!(follow(&[begin, &nine, &eight]), (1, 2, 1), "out of order");
        assert_eq!(follow(&[begin, &eight, &eight]), (1, 2, 1), "again");
        assert_eq!(follow(&[begin, &event("7")]), (0, 1, 1), "from before");
    }
}
