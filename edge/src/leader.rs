//! The leader's side: requests of edges arrive over the cluster's servers, and are answered as those over HTTP. Nothing
//! waits in a line: what finds no place is refused at once.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Request, Response};
use kedge_cluster::Question;
use kedge_http::signing::Voucher;
use kedge_protocol::Hash;
use kedge_replica::Replica;
use metrics::counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::distrust::share;
use crate::metric_definitions as metric;
use crate::tripwire::{Tripwire, Word};
use crate::wire::{Answered, Refusal, Submitted};

/// What edges ask the leader.
pub(crate) const SUBMIT: &str = "submit";

/// A boxed answer.
pub type Answering = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;
/// Answers a request of a caller at this address, for whose signature an edge vouches.
pub type Desk = Arc<dyn Fn(Request<Bytes>, IpAddr, Arc<dyn Voucher>) -> Answering + Send + Sync>;

/// How a node serves edges while it leads.
pub struct Serving {
    /// The node's name.
    pub node: String,
    /// The names of the edges that it trusts.
    pub edges: Vec<String>,
    /// Of so many signatures that edges vouch for one is checked again.
    pub recheck: u64,
    /// Requests of edges that are in flight at one time.
    pub requests_max: usize,
}

/// Answers the requests of edges whenever this node leads.
pub fn serve(replica: &Replica, serving: Serving, desk: Desk) -> Arc<Tripwire> {
    crate::metric_definitions::describe_serving();
    let tripwire = Tripwire::new(serving.node, serving.edges, serving.recheck);
    let tripwire = Arc::new(tripwire);
    tokio::spawn(share(replica.clone(), Arc::clone(&tripwire)));
    let places = Arc::new(Semaphore::new(serving.requests_max));
    let wire = Arc::clone(&tripwire);
    replica.listen(SUBMIT, move |question| {
        let admitted = admit(&question, &wire, &places);
        let desk = Arc::clone(&desk);
        tokio::spawn(async move {
            let answered = match admitted {
                Ok(admitted) => admitted.answer(&desk).await,
                Err(refusal) => Some(Answered::Refused(refusal)),
            };
            if let Some(answered) = answered {
                question.answer(answered.write()).await;
            }
        });
    });
    tripwire
}

/// A request that has its place.
struct Admitted {
    request: Request<Bytes>,
    caller: IpAddr,
    voucher: Arc<dyn Voucher>,
    patience: Duration,
    _place: OwnedSemaphorePermit,
}

fn admit(
    question: &Question,
    tripwire: &Arc<Tripwire>,
    places: &Arc<Semaphore>,
) -> Result<Admitted, Refusal> {
    let refuse = |refusal, reason| {
        counter!(metric::REFUSED, "reason" => reason).increment(1);
        refusal
    };
    if !tripwire.is_read_in(question.term) || !tripwire.trusts(&question.from) {
        return Err(refuse(Refusal::Untrusted, "untrusted"));
    }
    let place = Arc::clone(places).try_acquire_owned();
    let place = place.map_err(|_| refuse(Refusal::Crowded, "crowded"))?;
    let read = Submitted::read(&question.payload).and_then(|submitted| {
        let (caller, checked) = (submitted.caller, submitted.checked);
        let patience = Duration::from_millis(u64::from(submitted.patience_ms));
        Ok((submitted.into_request()?, caller, checked, patience))
    });
    let (request, caller, checked, patience) = read.map_err(|error| {
        tracing::warn!(edge = question.from, %error, "an edge sent a malformed message");
        refuse(Refusal::Malformed, "malformed")
    })?;
    let voucher = Arc::new(Word {
        tripwire: Arc::clone(tripwire),
        edge: question.from.clone(),
        digest: Hash(checked),
    });
    Ok(Admitted {
        request,
        caller,
        voucher,
        patience,
        _place: place,
    })
}

impl Admitted {
    /// The answer; nothing once the edge has stopped waiting.
    async fn answer(self, desk: &Desk) -> Option<Answered> {
        let answering = desk(self.request, self.caller, self.voucher);
        let answered = tokio::time::timeout(self.patience, answering).await;
        answered.ok().map(Answered::of)
    }
}
