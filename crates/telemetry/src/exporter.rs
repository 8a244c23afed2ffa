//! Queue of finished spans, and the thread that sends them to the collector. Spans are queued without waiting; if the
//! queue is full, they are dropped and counted. So a slow or broken collector costs spans and nothing else: memory
//! stays bounded, and no request waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::{mpsc, oneshot};

use super::metric_definitions::{DROPPED, EXPORTED, FAILED, REJECTED, count};

/// Interval of log lines while the collector fails.
const LOG_AGAIN_AFTER: Duration = Duration::from_mins(5);

enum ExporterMessage {
    Spans(Vec<SpanData>),
    /// Sends everything queued before it; then the thread ends.
    Stop(oneshot::Sender<()>),
}

pub(crate) struct SpanQueue {
    sender: mpsc::UnboundedSender<ExporterMessage>,
    /// Unsent spans.
    waiting: Arc<AtomicUsize>,
    waiting_max: usize,
}

impl SpanQueue {
    /// Queues the spans of one occasion: all of them, or none.
    pub(crate) fn put(&self, spans: Vec<SpanData>) {
        let many = spans.len();
        let before = self.waiting.fetch_add(many, Ordering::Relaxed);
        if before + many > self.waiting_max
            || self.sender.send(ExporterMessage::Spans(spans)).is_err()
        {
            self.waiting.fetch_sub(many, Ordering::Relaxed);
            count(DROPPED, many);
        }
    }

    /// Flushes the queue and stops the thread, for at most `patience`.
    pub(crate) async fn stop(&self, patience: Duration) {
        let (done, stopped) = oneshot::channel();
        if self.sender.send(ExporterMessage::Stop(done)).is_err() {
            return;
        }
        if tokio::time::timeout(patience, stopped).await.is_err() {
            let spans = self.waiting.load(Ordering::Relaxed);
            tracing::warn!(spans, "tracing: not everything was sent before the stop");
        }
    }
}

/// State of the thread.
pub(crate) struct ExportWorker {
    pub(crate) exporter: opentelemetry_otlp::SpanExporter,
    /// Spans that the collector refused.
    pub(crate) rejected: Arc<AtomicU64>,
    /// Spans of one POST, at most.
    pub(crate) batch_max: usize,
    /// Time for collecting spans before a POST.
    pub(crate) interval: Duration,
}

/// Starts the thread. `waiting_max` bounds the spans in memory.
pub(crate) fn start(sending: ExportWorker, waiting_max: usize) -> std::io::Result<SpanQueue> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut thread = ExporterThread {
        sending,
        receiver,
        waiting: Arc::clone(&waiting),
        health: CollectorHealth::default(),
    };
    // Detached; it ends with the process at the latest.
    let _detached = std::thread::Builder::new()
        .name("tracing".to_owned())
        .spawn(move || runtime.block_on(thread.run()))?;
    Ok(SpanQueue {
        sender,
        waiting,
        waiting_max,
    })
}

struct ExporterThread {
    sending: ExportWorker,
    receiver: mpsc::UnboundedReceiver<ExporterMessage>,
    waiting: Arc<AtomicUsize>,
    health: CollectorHealth,
}

impl ExporterThread {
    async fn run(&mut self) {
        while let Some(first) = self.receiver.recv().await {
            let mut spans = Vec::new();
            let mut stop = add(&mut spans, first);
            let until = tokio::time::Instant::now() + self.sending.interval;
            while stop.is_none() && spans.len() < self.sending.batch_max {
                let Ok(Some(next)) = tokio::time::timeout_at(until, self.receiver.recv()).await
                else {
                    break;
                };
                stop = add(&mut spans, next);
            }
            self.send(spans).await;
            if let Some(stop) = stop {
                // The caller may have stopped waiting.
                let _ = stop.send(());
                return;
            }
        }
    }

    /// Sends spans, in as many POSTs as needed.
    async fn send(&mut self, mut spans: Vec<SpanData>) {
        while !spans.is_empty() {
            let rest = spans.split_off(spans.len().min(self.sending.batch_max));
            let many = spans.len();
            let sent = self.sending.exporter.export(spans).await;
            spans = rest;
            self.waiting.fetch_sub(many, Ordering::Relaxed);
            let rejected = self.sending.rejected.swap(0, Ordering::Relaxed) as usize;
            match sent {
                Ok(()) => {
                    let rejected = rejected.min(many);
                    count(REJECTED, rejected);
                    count(EXPORTED, many - rejected);
                    self.health.works();
                }
                Err(error) => {
                    count(FAILED, many);
                    self.health.fails(&error, many);
                }
            }
        }
    }
}

/// Adds spans; returns the waiting caller if this is the end.
fn add(spans: &mut Vec<SpanData>, message: ExporterMessage) -> Option<oneshot::Sender<()>> {
    match message {
        ExporterMessage::Spans(more) => {
            spans.extend(more);
            None
        }
        ExporterMessage::Stop(done) => Some(done),
    }
}

/// State of the collector; changes are logged, and failures repeated now and then.
#[derive(Default)]
struct CollectorHealth {
    logged: Option<Instant>,
}

impl CollectorHealth {
    fn works(&mut self) {
        if self.logged.take().is_some() {
            tracing::info!("tracing: the collector takes spans again");
        }
    }

    fn fails(&mut self, error: &dyn std::fmt::Display, spans: usize) {
        if self.logged.is_none_or(|at| at.elapsed() >= LOG_AGAIN_AFTER) {
            tracing::warn!(%error, spans, "tracing: the collector did not take spans; they are lost");
            self.logged = Some(Instant::now());
        }
    }
}
