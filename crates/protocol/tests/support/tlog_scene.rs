//! The log, the keys and the readers of `vectors/tlog.json`.

use std::convert::Infallible;
use std::sync::LazyLock;

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::next_head;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak_parts;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::tlog::tile::{TILE_WIDTH, leaf, subtree_root};
use kedge_protocol::tlog::{NoteTrust, NoteVerifier, TilePath, TileReader, TileRow, TiledTree};
use kedge_protocol::{Hash, KeyActivation, SequencerKeys};
use serde_json::Value;

pub(crate) static VECTORS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../vectors/tlog.json")).unwrap());

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

pub(crate) fn hash(value: &Value) -> Hash {
    text(value).parse().unwrap()
}

pub(crate) fn hashes(value: &Value) -> Vec<Hash> {
    value.as_array().unwrap().iter().map(hash).collect()
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    const_hex::decode(text(value)).unwrap()
}

pub(crate) fn word(value: &Value) -> [u8; 32] {
    bytes(value).try_into().unwrap()
}

pub(crate) fn origin() -> &'static str {
    text(&VECTORS["origin"])
}

pub(crate) fn domain() -> Domain {
    let domain = &VECTORS["domain"];
    Domain {
        chain_id: number(&domain["chainId"]),
        verifying_contract: text(&domain["verifyingContract"]).parse().unwrap(),
    }
}

pub(crate) fn header(message: &Value) -> BatchHeader {
    BatchHeader {
        number: number(&message["number"]),
        first_sequence: number(&message["firstSequence"]),
        count: number(&message["count"]).try_into().unwrap(),
        previous_head: hash(&message["previousHead"]),
        head: hash(&message["head"]),
        root: hash(&message["root"]),
        history: hash(&message["history"]),
        state: hash(&message["state"]),
        sealed_at_ms: number(&message["sealedAt"]),
    }
}

/// The private key of the sequencer that signs a log of this many batches.
pub(crate) fn sequencer(batches: u64) -> SigningKey {
    let keys = list(&VECTORS, "sequencer_keys").iter().rev();
    let mut begun = keys.filter(|key| number(&key["from_batch"]) < batches.max(1));
    SigningKey::from_bytes(&word(&begun.next().unwrap()["private"])).unwrap()
}

pub(crate) fn sequencer_keys() -> SequencerKeys {
    let entry = |key: &Value| KeyActivation {
        key: text(&key["address"]).parse().unwrap(),
        from_batch: number(&key["from_batch"]),
    };
    SequencerKeys::new(list(&VECTORS, "sequencer_keys").iter().map(entry).collect()).unwrap()
}

/// The keys of the log and of the witnesses that readers of the vectors know.
pub(crate) fn verifiers() -> Vec<NoteVerifier> {
    let of = |group: &str| VECTORS[group].as_object().unwrap().values();
    let keys = of("tlog_keys").chain(of("witness_keys"));
    keys.map(|key| text(&key["vkey"]).parse().unwrap())
        .collect()
}

pub(crate) fn trust<'a>(
    keys: &'a SequencerKeys,
    verifiers: &'a [NoteVerifier],
) -> NoteTrust<'a, SequencerKeys> {
    NoteTrust {
        domain: domain(),
        keys,
        verifiers,
    }
}

/// The log of 300 headers, and its trees.
pub(crate) struct TlogScene {
    pub(crate) headers: Vec<BatchHeader>,
    /// `histories[n]`: the root of the log tree over n batches.
    pub(crate) histories: Vec<Hash>,
    /// The hashes of each row of tiles, of full tiles alone.
    rows: Vec<Vec<Hash>>,
}

pub(crate) static SCENE: LazyLock<TlogScene> = LazyLock::new(TlogScene::of_vectors);

impl TlogScene {
    fn of_vectors() -> Self {
        let listed: Vec<BatchHeader> = list(&VECTORS, "headers")
            .iter()
            .map(|one| header(&one["message"]))
            .collect();
        let mut tree = TreeFrontier::default();
        let mut histories = vec![tree.root()];
        let mut headers: Vec<BatchHeader> = Vec::new();
        for number in 0..300 {
            let header = match listed.get(number) {
                Some(header) if number < 4 => *header,
                _ => next(headers.last().unwrap(), tree.root()),
            };
            tree.append(log_tree::leaf(&header.hash()));
            histories.push(tree.root());
            headers.push(header);
        }
        Self {
            rows: Self::rows(headers.iter().map(leaf).collect()),
            headers,
            histories,
        }
    }

    fn rows(leaves: Vec<Hash>) -> Vec<Vec<Hash>> {
        let mut rows = vec![leaves];
        while rows[rows.len() - 1].len() >= usize::from(TILE_WIDTH) {
            let full = rows[rows.len() - 1].chunks_exact(TILE_WIDTH.into());
            rows.push(full.map(subtree_root).collect());
        }
        rows
    }

    /// The tree of the first `size` headers.
    pub(crate) fn tree(&self, size: u64) -> TiledTree<&Self> {
        TiledTree::new(self, size)
    }

    /// Its root.
    pub(crate) fn root(&self, size: u64) -> Hash {
        let Ok(root) = log_tree::root(&self.tree(size), size);
        root
    }
}

impl TileReader for &TlogScene {
    type Error = Infallible;

    fn tile(&self, path: TilePath) -> Result<Vec<Hash>, Infallible> {
        let TileRow::Level(level) = path.row else {
            panic!("{path} holds entries");
        };
        let start = path.first() as usize;
        Ok(self.rows[usize::from(level)][start..start + usize::from(path.width)].to_vec())
    }
}

/// The header after another one, as `headers_about` describes it.
fn next(before: &BatchHeader, history: Hash) -> BatchHeader {
    let number = before.number + 1;
    let first_sequence = number + 6;
    let root = keccak_parts(&[&[0], &first_sequence.to_be_bytes()]);
    BatchHeader {
        number,
        first_sequence,
        count: 1,
        previous_head: before.head,
        head: next_head(&before.head, &root),
        root,
        history,
        state: Hash::ZERO,
        sealed_at_ms: 1_790_000_000_100 + number,
    }
}
