//! Incoming request bodies. The announced length reserves nothing: only bytes that have arrived count, and they must
//! arrive fast enough.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, EXPECT};
use tokio::time::{Instant, Sleep, sleep_until};

/// Time below the minimum rate after which a body is given up.
const WINDOW: Duration = Duration::from_secs(5);

/// Reasons for an incomplete body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BodyInterruption {
    /// The caller stopped sending.
    #[error("the body broke off before its end")]
    Off,
    /// Too slow; the minimum in bytes a second.
    #[error("the body arrived more slowly than {0} bytes a second; send it faster")]
    Slow(u64),
}

pub struct IncomingBody {
    body: Incoming,
    pace: BodyRateLimit,
    announced: Option<u64>,
    read: u64,
    /// The caller waits for `100 Continue`, which has not been sent.
    waits: bool,
    ended: bool,
    broken: bool,
}

impl IncomingBody {
    /// The body must arrive at this rate or faster.
    pub fn new(headers: &HeaderMap, body: Incoming, bytes_per_s_min: u64) -> Self {
        let announced = headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            ended: body.is_end_stream(),
            body,
            pace: BodyRateLimit::new(bytes_per_s_min),
            announced,
            read: 0,
            waits: headers.contains_key(EXPECT),
            broken: false,
        }
    }

    /// `Content-Length`.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    pub fn is_over(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    /// True if reading on makes sense: the caller is sending, and at most `most` bytes are left.
    pub fn can_pass(&self, most: u64) -> bool {
        let left = self.announced.map(|bytes| bytes.saturating_sub(self.read));
        !self.waits && !self.broken && left.is_none_or(|left| left <= most)
    }

    /// True if the caller may still be sending and nothing has failed so far.
    pub fn may_come(&self) -> bool {
        !self.is_over() && !self.waits && !self.broken
    }

    /// Stops reading it.
    pub fn give_up(&mut self) {
        self.broken = true;
    }

    pub fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyInterruption>>> {
        if self.is_over() || self.broken {
            return Poll::Ready(None);
        }
        self.waits = false;
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(_))) => {
                    self.broken = true;
                    return Poll::Ready(Some(Err(BodyInterruption::Off)));
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    ready!(self.pace.poll_slow(context));
                    self.broken = true;
                    let slow = BodyInterruption::Slow(self.pace.bytes_per_s_min);
                    return Poll::Ready(Some(Err(slow)));
                }
            };
            // Trailers are ignored.
            if let Ok(piece) = frame.into_data() {
                self.read += piece.len() as u64;
                self.pace.came(piece.len());
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }

    pub async fn next(&mut self) -> Option<Result<Bytes, BodyInterruption>> {
        std::future::poll_fn(|context| self.poll_piece(context)).await
    }

    /// Drops at most `most` more bytes; true if that was the rest.
    pub async fn discard(&mut self, most: u64) -> bool {
        let end = self.read.saturating_add(most);
        while let Some(Ok(_)) = self.next().await {
            if self.read > end {
                return false;
            }
        }
        self.is_over()
    }
}

/// Enforces a minimum rate. The clock is read only when there is a wait.
struct BodyRateLimit {
    bytes_per_s_min: u64,
    came: u64,
    window: Option<Pin<Box<Sleep>>>,
}

impl BodyRateLimit {
    fn new(bytes_per_s_min: u64) -> Self {
        Self {
            bytes_per_s_min,
            came: 0,
            window: None,
        }
    }

    fn came(&mut self, bytes: usize) {
        self.came += bytes as u64;
    }

    /// Ready once a whole window has brought too little.
    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let window = self.window.get_or_insert_with(|| {
            // Bytes before the first wait were fast enough.
            self.came = 0;
            Box::pin(sleep_until(Instant::now() + WINDOW))
        });
        while window.as_mut().poll(context).is_ready() {
            window.as_mut().reset(Instant::now() + WINDOW);
            if Self::is_too_little(&mut self.came, self.bytes_per_s_min) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Whether the last window brought too little; starts the next one.
    fn is_too_little(came: &mut u64, bytes_per_s_min: u64) -> bool {
        std::mem::take(came) < bytes_per_s_min * WINDOW.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_to_come_at_its_rate_in_each_window() {
        let mut came = 500;
        assert!(!BodyRateLimit::is_too_little(&mut came, 100));
        came += 499;
        assert!(BodyRateLimit::is_too_little(&mut came, 100));
        assert!(
            BodyRateLimit::is_too_little(&mut came, 1),
            "nothing came since"
        );
        assert!(
            !BodyRateLimit::is_too_little(&mut came, 0),
            "no rate is asked for"
        );
    }
}
