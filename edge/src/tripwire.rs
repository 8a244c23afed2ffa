//! How far a leader trusts edges: an edge that is named may vouch for signatures. Some of what it vouches for is checked
//! again, chosen at random; the first signature that proves to be wrong ends the trust in that edge on all nodes, until
//! the operator trusts it again.

use std::sync::Arc;

use kedge_cluster::{Caught, DistrustedEdges};
use kedge_http::clock::now_ms;
use kedge_http::signing::Voucher;
use kedge_protocol::Hash;
use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::metric_definitions as metric;

/// Draws a number; `None` if there is no randomness.
type Draw = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// Which edges a leader trusts.
pub struct Tripwire {
    /// This node.
    node: String,
    named: Vec<String>,
    /// Of so many signatures one is checked again.
    every: u64,
    draw: Draw,
    distrust: Mutex<Distrust>,
    /// An edge was caught here.
    caught: Notify,
    /// One exchange of the list with the other nodes at a time.
    pub(crate) exchanging: tokio::sync::Mutex<()>,
}

/// The edges that are no longer trusted.
#[derive(Default)]
struct Distrust {
    /// By the list that the nodes share, as it was last read.
    shared: DistrustedEdges,
    /// Those that were caught here and are not known to be in that list.
    own: DistrustedEdges,
    /// The term in which the list was last read.
    read_in: Option<u64>,
}

impl Distrust {
    fn contains(&self, edge: &str) -> bool {
        self.shared.contains_key(edge) || self.own.contains_key(edge)
    }

    fn all(&self) -> DistrustedEdges {
        let mut all = self.own.clone();
        all.extend(self.shared.clone());
        all
    }

    fn count(&self) {
        gauge!(metric::DISTRUSTED).set(self.all().len() as f64);
    }
}

impl Tripwire {
    /// Trusts the edges of these names, and checks one signature of `every` again.
    pub(crate) fn new(node: String, named: Vec<String>, every: u64) -> Self {
        let draw = || {
            let random = kedge_config::secrets::random().ok();
            random.map(u64::from_be_bytes)
        };
        Self {
            node,
            named,
            every,
            draw: Box::new(draw),
            distrust: Mutex::default(),
            caught: Notify::new(),
            exchanging: tokio::sync::Mutex::default(),
        }
    }

    /// Whether an edge may vouch.
    pub(crate) fn trusts(&self, edge: &str) -> bool {
        self.named.iter().any(|named| named == edge) && !self.distrust.lock().contains(edge)
    }

    /// Whether the list that the nodes share was read since this term began: the leader of an earlier one may have caught
    /// an edge.
    pub(crate) fn is_read_in(&self, term: u64) -> bool {
        self.distrust.lock().read_in == Some(term)
    }

    /// The edges that are no longer trusted, because they vouched for a wrong signature.
    pub fn distrusted(&self) -> DistrustedEdges {
        self.distrust.lock().all()
    }

    /// Adopts the list that the nodes share, read in a term. Returns what was caught here and is missing in it.
    pub(crate) fn adopt(&self, shared: &DistrustedEdges, term: u64) -> DistrustedEdges {
        let mut distrust = self.distrust.lock();
        for (edge, caught) in shared.iter().filter(|(edge, _)| !distrust.contains(edge)) {
            let Caught { digest, by, .. } = caught;
            tracing::warn!(edge, %digest, by, "an edge is not trusted: a node has caught it");
        }
        distrust.shared.clone_from(shared);
        distrust.own.retain(|edge, _| !shared.contains_key(edge));
        distrust.read_in = Some(term);
        distrust.count();
        distrust.own.clone()
    }

    /// Trusts an edge again. The list that the nodes share no longer names it.
    pub(crate) fn forget(&self, edge: &str) {
        let mut distrust = self.distrust.lock();
        distrust.shared.remove(edge);
        distrust.own.remove(edge);
        distrust.count();
        tracing::warn!(edge, "the operator trusts an edge again");
    }

    /// Waits until an edge is caught here.
    pub(crate) async fn catch(&self) {
        self.caught.notified().await;
    }

    fn is_drawn(&self) -> bool {
        (self.draw)().is_none_or(|number| number % self.every.max(1) == 0)
    }

    fn end_trust(&self, edge: &str, digest: &Hash) {
        let mut distrust = self.distrust.lock();
        if distrust.contains(edge) {
            return;
        }
        let caught = Caught {
            at_ms: now_ms(),
            digest: *digest,
            by: self.node.clone(),
        };
        distrust.own.insert(edge.to_owned(), caught);
        distrust.count();
        self.caught.notify_one();
        tracing::error!(
            edge,
            %digest,
            "an edge vouched for a wrong signature and is no longer trusted: stop it, find out who controls it, and check the log with `kedge verify`"
        );
    }
}

/// An edge's word that it has checked the signature of a digest.
pub(crate) struct Word {
    pub(crate) tripwire: Arc<Tripwire>,
    pub(crate) edge: String,
    pub(crate) digest: Hash,
}

impl Voucher for Word {
    fn vouches(&self, digest: &Hash) -> bool {
        let vouches =
            *digest == self.digest && self.tripwire.trusts(&self.edge) && !self.tripwire.is_drawn();
        let checked = if vouches { "edge" } else { "here" };
        counter!(metric::SIGNATURES, "checked" => checked).increment(1);
        vouches
    }

    fn refuted(&self, digest: &Hash) {
        // For other bytes the edge did not vouch.
        if *digest == self.digest {
            self.tripwire.end_trust(&self.edge, digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const HONEST: Hash = Hash([1; 32]);

    /// A tripwire that draws from a seed (splitmix64).
    fn seeded(every: u64, seed: u64) -> Arc<Tripwire> {
        let state = AtomicU64::new(seed);
        let draw = move || {
            let step = 0x9e37_79b9_7f4a_7c15;
            let mut word = state.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            Some(word ^ (word >> 31))
        };
        let named = vec!["edge1".to_owned(), "edge2".to_owned()];
        Arc::new(Tripwire {
            draw: Box::new(draw),
            ..Tripwire::new("node1".to_owned(), named, every)
        })
    }

    fn word(tripwire: &Arc<Tripwire>, edge: &str) -> Word {
        Word {
            tripwire: Arc::clone(tripwire),
            edge: edge.to_owned(),
            digest: HONEST,
        }
    }

    /// How many forged signatures pass before one is drawn.
    fn passed(every: u64, seed: u64) -> u64 {
        let tripwire = seeded(every, seed);
        let word = word(&tripwire, "edge1");
        let mut passed = 0;
        while word.vouches(&HONEST) {
            passed += 1;
        }
        word.refuted(&HONEST);
        assert!(!word.vouches(&HONEST), "it is trusted no longer");
        let caught = &tripwire.distrusted()["edge1"];
        assert_eq!((caught.digest, caught.by.as_str()), (HONEST, "node1"));
        passed
    }

    #[test]
    fn a_liar_is_caught_after_as_many_as_are_drawn_of_on_average() {
        let liars = 2_000;
        let all: u64 = (0..liars).map(|seed| passed(64, seed)).sum();
        let mean = all as f64 / liars as f64;
        // 63 on average, with a standard error of 64 / √2000.
        assert!((57.0..69.0).contains(&mean), "{mean}");
        assert_eq!(passed(1, 7), 0, "each one is checked");
    }

    #[test]
    fn an_edge_vouches_for_its_digest_alone_and_only_if_it_is_named() {
        let tripwire = seeded(u64::MAX, 1);
        assert!(word(&tripwire, "edge1").vouches(&HONEST));
        assert!(!word(&tripwire, "edge1").vouches(&Hash([2; 32])));
        assert!(!word(&tripwire, "stranger").vouches(&HONEST));
        word(&tripwire, "edge1").refuted(&Hash([2; 32]));
        assert!(
            tripwire.distrusted().is_empty(),
            "it did not vouch for that"
        );
        word(&tripwire, "edge1").refuted(&HONEST);
        assert!(!word(&tripwire, "edge1").vouches(&HONEST));
        assert!(word(&tripwire, "edge2").vouches(&HONEST), "another edge");
    }

    #[test]
    fn without_randomness_every_signature_is_checked() {
        let named = vec!["edge1".to_owned()];
        let tripwire = Arc::new(Tripwire {
            draw: Box::new(|| None),
            ..Tripwire::new("node1".to_owned(), named, 64)
        });
        assert!(!word(&tripwire, "edge1").vouches(&HONEST));
    }

    #[test]
    fn what_any_node_caught_counts_until_the_operator_trusts_it_again() {
        let tripwire = seeded(1, 1);
        assert!(!tripwire.is_read_in(1));
        word(&tripwire, "edge1").refuted(&HONEST);
        // It is missing in the list, so it is to be written.
        let missing = tripwire.adopt(&DistrustedEdges::new(), 1);
        assert!(missing.contains_key("edge1"));
        assert!(tripwire.is_read_in(1) && !tripwire.is_read_in(2));
        assert!(!tripwire.trusts("edge1"), "written or not");
        let elsewhere = Caught {
            by: "node2".to_owned(),
            ..missing["edge1"].clone()
        };
        let mut shared = missing;
        shared.insert("edge2".to_owned(), elsewhere);
        assert!(tripwire.adopt(&shared, 2).is_empty());
        assert!(!tripwire.trusts("edge1") && !tripwire.trusts("edge2"));
        // On this node by the operator, then on all by the list.
        tripwire.forget("edge1");
        assert!(tripwire.trusts("edge1") && !tripwire.trusts("edge2"));
        assert!(tripwire.adopt(&DistrustedEdges::new(), 2).is_empty());
        assert!(tripwire.trusts("edge2"));
    }
}
