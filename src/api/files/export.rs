//! The export: all batches and leaves, and the caller's own requests, as a stream that can be replayed independently.
//! It is written while it is read. Its extent is fixed at the beginning, but each piece is read from the store's
//! current state: the log only grows, so no caller holds an old snapshot for long.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, HeaderValue};
use kedge_http::auth::api_key::API_KEY;
use kedge_http::auth::rights::READS_ACTIONS;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{ShareHolder, ShareSlot};
use kedge_http::query::RequestParameter;
use kedge_http::reply::HttpReply;
use kedge_http::stream::{BodyWriter, ReplyBody};
use kedge_net::coding::{AcceptedCodings, CodingEncoder, ContentCoding};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::export::{BatchLine, EXPORT_VERSION, ExportLine, LogLine, RequestLine};
use kedge_protocol::log_tree::TreeFrontier;
use kedge_protocol::{BatchKeys, Id};
use kedge_storage::StoreSnapshot;

use crate::api::call::HandlerCall;
use crate::api::endpoint::MIN_SEQUENCE;
use crate::api::row::PLACE_LOST;
use crate::api::services::ApiServices;
use crate::api::state::handlers::StateReading;

pub const LINES: &str = "application/x-ndjson";
/// Size at which collected lines are sent.
const PIECE_BYTES: usize = 64 * 1024;

/// Where the export begins.
pub const FROM: &[RequestParameter] = &[RequestParameter {
    name: "from",
    schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
    description: "The number of the first batch; 0 if absent.",
}];

/// Extent of an export, fixed at the start.
struct ExportPlan {
    services: Arc<ApiServices>,
    holder: ShareHolder,
    checkpoint: SignedCheckpoint,
    organization_id: Option<Id>,
}

/// `GET /export`
pub async fn export(call: HandlerCall) -> ApiResult<HttpReply> {
    let services = &call.services;
    let shows = |name: &str| call.headers.contains_key(name);
    let organization_id = if shows(AUTHORIZATION.as_str()) || shows(API_KEY) {
        let session = services.authenticate(&call.headers, now_s())?;
        session.check(Some(READS_ACTIONS))?;
        Some(session.organization_id)
    } else {
        None
    };
    if let Some(wanted) = call.query.number(MIN_SEQUENCE.name)? {
        StateReading::wait_for(&call, wanted).await?;
    }
    // The checkpoint comes first: the state published after it covers it.
    let checkpoint = services.engine.checkpoint()?;
    let export = Arc::new(ExportPlan {
        services: Arc::clone(services),
        holder: call.holder,
        checkpoint,
        organization_id,
    });
    let batches = checkpoint.checkpoint.batches;
    let from = call.query.number("from")?.unwrap_or(0);
    if from > batches {
        let message = format!("may be at most {batches}, the number of batches");
        return Err(ApiError::parameter("from", message));
    }
    let place = services.reads.download(call.holder, call.client_address)?;
    let first = export.first_line(from)?;
    let coding = ContentCoding::preferred(&AcceptedCodings::of(&call.headers));
    let encoder = coding.map(CodingEncoder::new).transpose();
    let encoder = encoder.map_err(|error| ApiError::internal(&error))?;
    let (writer, body) = ReplyBody::written(services.reads.write_timeout);
    tokio::spawn(async move {
        let written = tokio::select! {
            written = write(export, (from, first, encoder), (&writer, &place)) => written,
            () = place.lost() => Err(PLACE_LOST.to_owned()),
        };
        if let Err(why) = written {
            tracing::debug!(why, "an export ended early");
            writer.abort(why);
        }
    });
    let sequence = checkpoint.checkpoint.sequence;
    let lines = HeaderValue::from_static(LINES);
    let reply = HttpReply::bytes(StatusCode::OK, sequence, lines, body).varied();
    Ok(match coding {
        Some(coding) => reply.with(CONTENT_ENCODING, coding.name()),
        None => reply,
    })
}

/// An encoded piece, and the encoder of the next one.
fn encoded(
    encoder: Option<CodingEncoder>,
    bytes: Vec<u8>,
    is_last: bool,
) -> io::Result<(Bytes, Option<CodingEncoder>)> {
    match encoder {
        None => Ok((bytes.into(), None)),
        Some(encoder) if is_last => Ok((encoder.finish(&bytes)?, None)),
        Some(mut encoder) => Ok((encoder.piece(&bytes)?, Some(encoder))),
    }
}

async fn write(
    export: Arc<ExportPlan>,
    (from, first, mut encoder): (u64, Vec<u8>, Option<CodingEncoder>),
    (writer, place): (&BodyWriter, &ShareSlot),
) -> Result<(), String> {
    let (mut next, mut gathered) = (from, first);
    loop {
        let (services, holder) = (Arc::clone(&export.services), export.holder);
        let export = Arc::clone(&export);
        let piece = move || {
            let (number, bytes, is_last) = export.piece(next, gathered)?;
            let count = bytes.len();
            let coded = encoded(encoder, bytes, is_last);
            let (bytes, encoder) = coded.map_err(|error| ApiError::internal(&error))?;
            Ok((number, bytes, encoder, count, is_last))
        };
        let piece = services.reads.read_page(holder, piece).await;
        let (number, bytes, rest, count, is_last) =
            piece.map_err(|error| error.message.into_owned())?;
        let written = writer.write(bytes).await;
        written.map_err(|error| error.to_string())?;
        place.moved(count);
        if is_last {
            return Ok(());
        }
        (next, gathered, encoder) = (number, Vec::new(), rest);
    }
}

fn push(out: &mut Vec<u8>, line: &ExportLine) -> ApiResult<()> {
    serde_json::to_writer(&mut *out, line).map_err(|error| ApiError::internal(&error))?;
    out.push(b'\n');
    Ok(())
}

impl ExportPlan {
    fn first_line(&self, from: u64) -> ApiResult<Vec<u8>> {
        let published = self.services.published();
        let snapshot = &published.snapshot;
        let engine = &self.services.engine;
        // The first batch states what is before it, because the previous batch may be archived.
        let (sequence, head) = match snapshot.batch(from)? {
            Some(batch) => (batch.header.first_sequence - 1, batch.header.previous_head),
            None => (published.head.sequence, published.head.head),
        };
        let keys = snapshot.sequencer_keys()?;
        let line = LogLine {
            version: EXPORT_VERSION,
            domain: *engine.domain(),
            sequencer: keys.key_of(from),
            sequencer_keys: (keys.entries().len() > 1).then_some(keys),
            from,
            sequence,
            head,
            peaks: TreeFrontier::load(from, snapshot)?.peaks().to_vec(),
            organization_id: self.organization_id,
            operators: match self.organization_id {
                Some(_) => snapshot.operators()?,
                None => Vec::new(),
            },
        };
        let mut out = Vec::new();
        push(&mut out, &ExportLine::Log(line))?;
        Ok(out)
    }

    /// Appends lines to `out`, starting at a batch; returns the next batch, and whether that was all.
    fn piece(&self, from: u64, mut out: Vec<u8>) -> ApiResult<(u64, Vec<u8>, bool)> {
        let published = self.services.published();
        let mut number = from;
        while number < self.checkpoint.checkpoint.batches {
            if out.len() >= PIECE_BYTES {
                return Ok((number, out, false));
            }
            self.batch(&published.snapshot, number, &mut out)?;
            number += 1;
        }
        push(&mut out, &ExportLine::Checkpoint(self.checkpoint))?;
        Ok((number, out, true))
    }

    fn batch(&self, snapshot: &StoreSnapshot, number: u64, out: &mut Vec<u8>) -> ApiResult<()> {
        let (Some(batch), Some(leaves)) = (snapshot.batch(number)?, snapshot.leaves(number)?)
        else {
            return Err(ApiError::internal(&format!("batch {number} is missing")));
        };
        let (first, last) = (batch.header.first_sequence, batch.header.last_sequence());
        push(out, &ExportLine::Batch(BatchLine { batch, leaves }))?;
        if let Some(organization) = self.organization_id {
            for record in snapshot.requests_of_organization(organization, first, last)? {
                push(
                    out,
                    &ExportLine::Request(Box::new(RequestLine::from(record))),
                )?;
            }
        }
        Ok(())
    }
}
