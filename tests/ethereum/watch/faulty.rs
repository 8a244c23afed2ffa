//! A sequencer under a test's control: it signs, serves and anchors logs with faults. It is no part of any binary. The
//! protocol's own types make and sign everything; what an honest server would refuse to make is altered before it is
//! signed. It serves the routes that a watchtower reads: the export, and states to who has a token.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::export::{BatchLine, EXPORT_VERSION, ExportLine, LogLine};
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::receipt::{RECEIPT_VERSION, Receipt, ReceiptLeaf};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::scene::SignedState;
use super::signed_log::{Draft, SignedLog, domain, key};

pub(crate) fn sequencer() -> SigningKey {
    key(7)
}

/// The public view of a sequencer's log.
pub(crate) struct Show {
    /// The log that it anchors and, unless configured otherwise, serves.
    pub(crate) log: SignedLog,
    /// How many batches it anchors.
    pub(crate) anchored: u64,
    /// How many batches it serves.
    pub(crate) served: u64,
    /// It answers that the batches below this number are archived.
    pub(crate) archived: u64,
    /// The batches whose leaves it withholds.
    pub(crate) withheld: Vec<u64>,
    pub(crate) checkpoint: SignedCheckpoint,
    /// Receipts, headers and checkpoints that it gave to others, in their JSON form.
    pub(crate) given: Vec<Value>,
    /// The requests that it serves, after their batches.
    pub(crate) requests: Vec<RequestRecord<'static>>,
    /// The organization whose requests they are.
    pub(crate) organization_id: Option<Id>,
    /// The states that it proves.
    pub(crate) states: Vec<SignedState>,
    /// The ids whose state it withholds.
    pub(crate) hidden: Vec<Id>,
}

impl Show {
    /// An honest log of four batches, three of them anchored, as a starting point.
    pub(crate) fn honest() -> Self {
        let mut log = SignedLog::default();
        for _ in 0..4 {
            log.append(log.next(2));
        }
        Self::of(log)
    }

    /// An honest log of three batches, and one that `bend` altered; all are anchored.
    pub(crate) fn ending_with(bend: impl FnOnce(Draft) -> Draft) -> Self {
        let mut log = SignedLog::default();
        for _ in 0..3 {
            log.append(log.next(2));
        }
        log.append(bend(log.next(2)));
        let mut show = Self::of(log);
        show.anchored = 4;
        show
    }

    fn of(log: SignedLog) -> Self {
        let batches = log.batches.len() as u64;
        let checkpoint = log.checkpoint(batches);
        Self {
            checkpoint: checkpoint.sign(&domain().separator(), &sequencer()),
            log,
            anchored: 3,
            served: 4,
            archived: 0,
            withheld: Vec::new(),
            given: Vec::new(),
            requests: Vec::new(),
            organization_id: None,
            states: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// A log with its requests, not anchored, and the checkpoint that its export ends with.
    pub(crate) fn of_requests(
        log: SignedLog,
        requests: Vec<RequestRecord<'static>>,
        checkpoint: SignedCheckpoint,
    ) -> Self {
        Self {
            anchored: 0,
            served: log.batches.len() as u64,
            checkpoint,
            requests,
            ..Self::of(log)
        }
    }

    /// A log with one anchored batch: a mint in one account's name, signed by another key.
    pub(crate) fn with_forged_action() -> Self {
        let id = |prefix| Id {
            prefix,
            bytes: [3; 16],
        };
        let honest = SignedLog::default().next(1);
        let mut record = RequestRecord {
            batch_number: 0,
            first_sequence: 1,
            first_leaf_index: 0,
            timestamp_ms: honest.leaves[0].timestamp_ms,
            organization_id: id(Prefix::Organization),
            wallet_id: id(Prefix::Wallet),
            head: RequestHead {
                signer: key(21).address(),
                nonce: 1,
                deadline_s: honest.header.sealed_at_ms,
                atomic: false,
            },
            signature: key(22).sign(&Hash::ZERO),
            salt_seed: Hash([4; 32]),
            actions: vec![ActionRecord {
                index: 0,
                kind: Kind::of_text("mint").unwrap(),
                target: id(Prefix::Template).to_string().into(),
                payload: "{}".into(),
                disclosed: None,
                resource: id(Prefix::Object),
                version: 1,
                previous_integrity: Hash::ZERO,
                previous_sequence: 0,
            }],
            failed: Vec::new(),
        };
        let hashes = record.action_hashes().unwrap();
        let digest = record.head.digest(&domain().separator(), &hashes);
        record.signature = key(22).sign(&digest);
        let placed = record.placed(&record.hashes());
        let mut log = SignedLog::default();
        log.append(honest.with_leaf(0, |leaf| *leaf = placed[0]));
        let checkpoint = log.checkpoint(1).sign(&domain().separator(), &sequencer());
        Self {
            anchored: 1,
            ..Self::of_requests(log, vec![record], checkpoint)
        }
    }

    /// Gives a signed header to others.
    pub(crate) fn give_header(&mut self, draft: &Draft) {
        self.given.push(json!(draft.signed(&sequencer())));
    }

    /// Gives the receipt of an action of a batch to others.
    pub(crate) fn give_receipt(&mut self, number: u64, index: u32, previous_integrity: Hash) {
        let draft = self.log.batch(number);
        let shown = draft.leaf(index, draft.evidence(&sequencer()));
        let receipt = Receipt {
            version: RECEIPT_VERSION,
            domain: domain(),
            leaf: ReceiptLeaf {
                sequence: shown.leaf.sequence,
                timestamp_ms: shown.leaf.timestamp_ms,
                content: shown.leaf.content,
                previous_integrity,
                integrity: shown.leaf.integrity,
            },
            leaf_index: index,
            path: shown.path,
            batch: draft.signed(&sequencer()),
        };
        self.given.push(json!(receipt));
    }

    fn signed(&self, number: u64) -> SignedBatch {
        self.log.batch(number).signed(&sequencer())
    }

    /// The frontier of the log tree over the batches below a number.
    fn frontier(&self, number: u64) -> TreeFrontier {
        let mut frontier = TreeFrontier::default();
        for number in 0..number {
            frontier.append(log_tree::leaf(&self.log.batch(number).header.hash()));
        }
        frontier
    }

    /// The lines of `/export?from=`.
    fn export(&self, from: u64) -> String {
        let first = LogLine {
            version: EXPORT_VERSION,
            domain: domain(),
            sequencer: sequencer().address(),
            sequencer_keys: None,
            from,
            sequence: 0,
            head: domain().separator(),
            peaks: self.frontier(from).peaks().to_vec(),
            organization_id: self.organization_id,
            operators: Vec::new(),
        };
        let batches = (from..self.served).flat_map(|number| {
            let is_withheld = self.withheld.contains(&number);
            let batch = ExportLine::Batch(BatchLine {
                batch: self.signed(number),
                leaves: if is_withheld {
                    Vec::new()
                } else {
                    self.log.batch(number).leaf_hashes()
                },
            });
            let requests = self.requests.iter().cloned();
            let requests = requests.filter(move |record| record.batch_number == number);
            let requests = requests.map(|record| ExportLine::Request(Box::new(record.into())));
            std::iter::once(batch).chain(requests)
        });
        let lines = std::iter::once(ExportLine::Log(first))
            .chain(batches)
            .chain([ExportLine::Checkpoint(self.checkpoint)]);
        lines
            .map(|line| serde_json::to_string(&line).unwrap() + "\n")
            .collect()
    }

    /// The answer of `/state/{id}?checkpoint=`.
    fn state(&self, id: &str, query: &str) -> Option<String> {
        let id: Id = id.parse().unwrap();
        let batches: u64 = query.strip_prefix("checkpoint=")?.parse().unwrap();
        let mut states = self.states.iter().filter(|_| !self.hidden.contains(&id));
        let state = states.find(|state| state.checkpoint.checkpoint.batches == batches)?;
        Some(json!(state.answer(id)).to_string())
    }
}

/// A server of a public view.
pub(crate) struct FaultyServer {
    pub(crate) url: String,
    shown: Arc<Mutex<Show>>,
}

impl FaultyServer {
    pub(crate) async fn start(show: Show) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shown = Arc::new(Mutex::new(show));
        let serving = Arc::clone(&shown);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shown = Arc::clone(&serving);
                let answer = service_fn(move |request| {
                    let answer = answer(&shown.lock().unwrap(), &request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let served = connection.serve_connection(TokioIo::new(stream), answer);
                // The watchtower closes once it has read enough.
                tokio::spawn(async move { drop(served.await) });
            }
        });
        Self { url, shown }
    }

    /// Serves another view from now on.
    pub(crate) fn show(&self, show: Show) {
        *self.shown.lock().unwrap() = show;
    }
}

fn answer(show: &Show, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let done = |text: String| Response::new(Full::from(Bytes::from(text)));
    if request.uri().path() == "/export" {
        let query = request.uri().query().unwrap();
        let from: u64 = query.strip_prefix("from=").unwrap().parse().unwrap();
        if from < show.archived {
            let body = json!({ "message": "archived", "minimum_batch": show.archived });
            let envelope = json!({ "code": "GONE", "status": 410, "body": body });
            let mut gone = done(envelope.to_string());
            *gone.status_mut() = StatusCode::GONE;
            return gone;
        }
        return done(show.export(from));
    }
    let missing = || {
        let envelope = json!({ "code": "RESOURCE_NOT_FOUND", "status": 404, "body": {} });
        let mut answer = done(envelope.to_string());
        *answer.status_mut() = StatusCode::NOT_FOUND;
        answer
    };
    let path = request.uri().path();
    if let Some(id) = path.strip_prefix("/state/") {
        let query = request.uri().query().unwrap();
        return show.state(id, query).map_or_else(missing, done);
    }
    if path.starts_with("/ebus/actions/") {
        return missing();
    }
    let domain = domain();
    let key = sequencer().address();
    if request.uri().path() == "/sequencer-keys" {
        let items = json!([{ "key": key, "from_batch": 0 }]);
        let page = json!({ "items": items, "cursor": null, "has_more": false });
        return done(page.to_string());
    }
    let document = json!({
        "name": "Digital Object Service",
        "version": "3",
        "chainId": domain.chain_id,
        "verifyingContract": domain.verifying_contract,
        "sequencer": key,
    });
    done(document.to_string())
}
