//! Comparison of the keys that all nodes must share. Each node reports fingerprints, and compares them with those of
//! the current or last leader. Without this, one node would refuse what another one issued.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::{Cluster, ClusterMember};
use metrics::gauge;
use tokio::sync::watch;

use crate::metric_definitions as metric;
use crate::node::node_status::{FRESH, ReplicaRole};

/// Fingerprints of the shared keys, by key name.
pub type Fingerprints = BTreeMap<String, String>;

/// Reads the current fingerprints of this node's keys.
pub type FingerprintReader = Arc<dyn Fn() -> Fingerprints + Send + Sync>;

/// Name prefix of access-token keys: a node may hold several, and a new one reaches the nodes one by one.
pub const TOKEN_KEY: &str = "token key ";

/// Interval of comparisons.
const COMPARED_EVERY: Duration = Duration::from_secs(3);
/// Pause before a failed comparison is repeated.
const AGAIN: Duration = Duration::from_millis(200);

/// Keys in which a node differs from the leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyDifference {
    /// The current or last leader; without one, a node of the majority.
    leader: String,
    is_outvoted: bool,
    /// The leader's keys that this node lacks, or has another value of.
    lacking: Vec<String>,
    /// Keys that the leader lacks.
    further: Vec<String>,
}

impl KeyDifference {
    fn between(own: &Fingerprints, leader: &ClusterMember) -> Option<Self> {
        let missing = |of: &Fingerprints, from: &Fingerprints| {
            let names = of
                .iter()
                .filter(|(name, value)| from.get(*name) != Some(value));
            names.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let lacking = missing(&leader.keys, own);
        let mut further = missing(own, &leader.keys);
        further.retain(|name| !lacking.contains(name));
        let differs = !lacking.is_empty() || !further.is_empty();
        differs.then(|| Self {
            leader: leader.node.clone(),
            is_outvoted: false,
            lacking,
            further,
        })
    }

    /// Whether the difference may be a token key that was just created or retired, on its way to all nodes.
    fn is_rotation(&self, own: &Fingerprints) -> bool {
        let mut names = self.lacking.iter().chain(&self.further);
        let shares_one = own
            .keys()
            .any(|name| name.starts_with(TOKEN_KEY) && !self.further.contains(name));
        shares_one && names.all(|name| name.starts_with(TOKEN_KEY))
    }

    /// Whether this node would refuse what the leader issued.
    pub(crate) fn bars_reads(&self) -> bool {
        !self.lacking.is_empty()
    }

    fn count(&self) -> usize {
        self.lacking.len() + self.further.len()
    }

    /// The operator's message, with a remedy.
    pub(crate) fn describe(&self) -> String {
        let Self {
            leader,
            is_outvoted,
            lacking,
            further,
        } = self;
        let of = if *is_outvoted {
            "and of other nodes, which are more"
        } else {
            "which leads or led last"
        };
        let mut parts = Vec::new();
        if !lacking.is_empty() {
            parts.push(format!(
                "this node lacks, or has another in place of, {}",
                lacking.join(", ")
            ));
        }
        if !further.is_empty() {
            parts.push(format!("{leader} does not have {}", further.join(", ")));
        }
        format!(
            "its keys are not those of {leader}, {of}: {}. Make data/keys and the other keys alike on all \
             nodes and restart this one. If {leader} will not come back: `kedge cluster remove {leader}`",
            parts.join("; ")
        )
    }
}

/// Compares a node's keys with those of the current or last leader, if any.
fn differing(me: &str, own: &Fingerprints, members: &[ClusterMember]) -> Option<KeyDifference> {
    let leaders = members
        .iter()
        .filter(|member| member.role == ReplicaRole::Leader.name() && !member.keys.is_empty());
    let Some(leader) = leaders.max_by_key(|member| member.term) else {
        return outvoted(me, own, members);
    };
    if leader.node == me {
        return None;
    }
    let differing = KeyDifference::between(own, leader)?;
    // A leader lost before its newest token key reached another node must not keep all of them from leading.
    let is_alike =
        |member: &ClusterMember| member.node == me || !is_there(member) || member.keys == *own;
    if !is_there(leader) && differing.lacking.is_empty() && members.iter().all(is_alike) {
        // The lost leader issued nothing that this node would refuse, and all remaining nodes hold the same keys.
        return None;
    }
    let has_another = members
        .iter()
        .any(|member| member.node != me && is_there(member) && member.keys == leader.keys);
    (has_another || !differing.is_rotation(own)).then_some(differing)
}

fn is_there(member: &ClusterMember) -> bool {
    member.age.is_some_and(|age| age < FRESH)
}

/// Without a leader, as after a restart of all nodes: whether a larger group of nodes agrees on other keys than this
/// node's.
fn outvoted(me: &str, own: &Fingerprints, members: &[ClusterMember]) -> Option<KeyDifference> {
    let others: Vec<&ClusterMember> = members
        .iter()
        .filter(|member| member.node != me && !member.keys.is_empty() && is_there(member))
        .collect();
    let holders = |keys: &Fingerprints| others.iter().filter(|one| one.keys == *keys).count();
    let most = others.iter().max_by_key(|one| holders(&one.keys))?;
    let are_more = holders(&most.keys) >= 2 && holders(&most.keys) > holders(own) + 1;
    let differing = KeyDifference::between(own, most).filter(|_| are_more)?;
    Some(KeyDifference {
        is_outvoted: true,
        ..differing
    })
}

/// Result of the comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyComparison {
    /// Not compared yet.
    NotYet,
    /// Equal to the leader's, or no node has led.
    Alike,
    Differing(KeyDifference),
}

/// Compares this node's keys regularly, as long as the result is observed. Without keys nothing is compared.
pub(crate) fn compare(
    cluster: Cluster,
    me: String,
    own: FingerprintReader,
) -> watch::Receiver<KeyComparison> {
    if own().is_empty() {
        return watch::channel(KeyComparison::Alike).1;
    }
    let (sender, receiver) = watch::channel(KeyComparison::NotYet);
    tokio::spawn(async move {
        loop {
            let pause = match cluster.members().await {
                Ok(members) => {
                    let found = differing(&me, &own(), &members);
                    note(&sender, found);
                    COMPARED_EVERY
                }
                Err(_) => AGAIN,
            };
            tokio::select! {
                biased;
                () = sender.closed() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    });
    receiver
}

fn note(sender: &watch::Sender<KeyComparison>, found: Option<KeyDifference>) {
    let count = found.as_ref().map_or(0, KeyDifference::count);
    gauge!(metric::KEYS_DIFFER).set(count as f64);
    let found = found.map_or(KeyComparison::Alike, KeyComparison::Differing);
    let before = sender.send_replace(found.clone());
    match (&before, &found) {
        (before, found) if before == found => {}
        (_, KeyComparison::Differing(differing)) => {
            tracing::error!(
                why = differing.describe(),
                "this node's keys differ: it does not lead"
            );
        }
        (KeyComparison::Differing(_), _) => {
            tracing::info!("this node's keys are the leader's again");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(of: &[(&str, &str)]) -> Fingerprints {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        of.iter().map(owned).collect()
    }

    fn member(
        node: &str,
        (role, term): (&str, u64),
        age_s: u64,
        keys: &Fingerprints,
    ) -> ClusterMember {
        ClusterMember {
            node: node.to_owned(),
            role: role.to_owned(),
            term,
            keys: keys.clone(),
            age: Some(Duration::from_secs(age_s)),
            ..ClusterMember::default()
        }
    }

    // Holds invariant 235.
    #[test]
    fn the_leader_is_the_measure_and_keys_are_named() {
        let (right, wrong) = (
            keys(&[("api-key.key", "1"), ("token key a", "held")]),
            keys(&[("api-key.key", "2"), ("token key b", "held")]),
        );
        let members = [
            member("n1", ("leader", 3), 0, &right),
            member("n2", ("leader", 2), 0, &wrong),
            member("n3", ("follower", 3), 0, &wrong),
        ];
        let found = differing("n3", &wrong, &members).unwrap();
        assert_eq!(found.lacking, ["api-key.key", "token key a"]);
        assert_eq!(found.further, ["token key b"]);
        let text = found.describe();
        assert!(
            text.contains("api-key.key") && text.contains("n1"),
            "{text}"
        );
        assert!(found.bars_reads());
        assert_eq!(differing("n3", &right, &members), None);
        // The leader is the reference, and before the first leader there is none.
        assert_eq!(differing("n1", &wrong, &members), None);
        assert_eq!(differing("n3", &wrong, &members[2..]), None);
        // After a restart of all nodes the majority is.
        let restarted = [
            member("n1", ("follower", 3), 0, &right),
            member("n2", ("follower", 3), 0, &right),
            member("n3", ("follower", 3), 0, &wrong),
        ];
        let found = differing("n3", &wrong, &restarted).unwrap();
        assert!(found.describe().contains("which are more"));
        assert_eq!(differing("n1", &right, &restarted), None);
        assert_eq!(differing("n3", &wrong, &restarted[1..]), None);
        // That remains after the leader is lost, even without any other node.
        let lost = [member("n1", ("leader", 3), 60, &right)];
        assert!(differing("n3", &wrong, &lost).is_some());
    }

    // Holds invariant 235.
    #[test]
    fn a_token_key_on_its_way_keeps_a_node_from_leading_only_while_another_can() {
        let old = keys(&[("api-key.key", "1"), ("token key a", "held")]);
        let mut new = old.clone();
        new.insert("token key b".to_owned(), "held".to_owned());
        let alive = [
            member("n1", ("leader", 3), 0, &old),
            member("n2", ("follower", 3), 0, &new),
        ];
        let further = differing("n2", &new, &alive).unwrap();
        assert!(!further.bars_reads(), "it refuses nothing");
        // The leader created a key and was lost.
        let lost = [
            member("n1", ("leader", 3), 60, &new),
            member("n2", ("follower", 3), 0, &old),
            member("n3", ("follower", 3), 0, &old),
        ];
        assert_eq!(differing("n2", &old, &lost), None);
        // One of two followers already has it and is to lead.
        let mut copied = lost.clone();
        copied[2].keys = new.clone();
        assert!(differing("n2", &old, &copied).is_some());
        assert_eq!(differing("n3", &new, &copied), None);
        // A key on all nodes but the lost one, in the order in which a new key is copied.
        let mut side = old.clone();
        side.insert("side-entries-2.key".to_owned(), "3".to_owned());
        let mut rotated = lost.clone();
        rotated[0].keys = old.clone();
        rotated[1].keys = side.clone();
        rotated[2].keys = side.clone();
        assert_eq!(differing("n2", &side, &rotated), None);
        rotated[2].keys = old.clone();
        assert!(differing("n2", &side, &rotated).is_some());
        // A key that all nodes must have from the beginning is no rotation.
        let other = keys(&[("api-key.key", "2"), ("token key a", "held")]);
        assert!(differing("n2", &other, &lost[..1]).is_some());
    }
}
