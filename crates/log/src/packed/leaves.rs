//! Leaves of packed requests, computed without building records. No text is copied, target ids share one text buffer,
//! the actions of all requests are hashed in parallel lanes, and action hashes, which no leaf needs, are not computed.

use std::fmt::Write;

use kedge_protocol::Hash;
use kedge_protocol::action::{ActionTexts, RequestWords, hash_contents};
use kedge_protocol::chain::{LogLeaf, next_integrities};
use kedge_protocol::lanes::keccak_each;

use super::{ID_TEXT_BYTES, PackedAction, PackedRequest, PackedTarget};
use crate::codec::CodecError;

/// Actions hashed in parallel: enough for every lane, few enough for the nearest caches.
const GROUP_ACTIONS: usize = 256;

impl PackedRequest<'_> {
    /// The hashes of the leaves of its actions, in order.
    ///
    /// # Errors
    /// [`CodecError`] if an action's bytes are damaged.
    pub fn leaves(&self) -> Result<Vec<Hash>, CodecError> {
        leaves_of(std::slice::from_ref(self)).map_err(|(_, error)| error)
    }
}

/// Splits requests into groups that are worth hashing together.
pub(crate) fn groups<'r, 'a>(requests: &'r [PackedRequest<'a>]) -> Vec<&'r [PackedRequest<'a>]> {
    let mut groups = Vec::new();
    let mut rest = requests;
    while !rest.is_empty() {
        let mut actions = 0;
        let full = |request: &PackedRequest<'_>| {
            actions += request.count();
            actions >= GROUP_ACTIONS
        };
        let end = rest.iter().position(full).map_or(rest.len(), |at| at + 1);
        let (group, after) = rest.split_at(end);
        groups.push(group);
        rest = after;
    }
    groups
}

/// The leaf hashes of all actions of the requests, in order. An error about damaged bytes names the first sequence of
/// the request.
pub(crate) fn leaves_of(requests: &[PackedRequest<'_>]) -> Result<Vec<Hash>, (u64, CodecError)> {
    let mut actions = Vec::with_capacity(requests.iter().map(PackedRequest::count).sum());
    for request in requests {
        for position in 0..request.count() {
            let action = request.packed_action(position);
            let action = action.map_err(|error| (request.head().first_sequence, error))?;
            actions.push((request, position, action));
        }
    }
    let mut ids = String::with_capacity(actions.len() * ID_TEXT_BYTES);
    for (_, _, action) in &actions {
        if let PackedTarget::Id(id) = action.target {
            // Writing to a string cannot fail.
            let _ = write!(ids, "{id}");
        }
    }
    let signatures: Vec<&[u8; 65]> = requests.iter().map(|r| &r.head().signature.0).collect();
    let mut signature_hashes = Vec::with_capacity(requests.len());
    keccak_each(&signatures, &mut signature_hashes);
    let words = requests.iter().zip(&signature_hashes);
    let words = words.flat_map(|(request, signature_hash)| {
        let words = RequestWords {
            seed: &request.head().salt_seed,
            signer: &request.head().head.signer,
            signature_hash,
        };
        std::iter::repeat_n(words, request.count())
    });
    let mut texts = LeafTexts { ids: &ids };
    let hashed: Vec<_> = words
        .zip(actions.iter().map(|(_, _, action)| texts.of(action)))
        .collect();
    let contents = hash_contents(&hashed);
    let links = actions.iter().zip(&contents);
    let links = links.map(|((_, _, action), content)| (&action.previous_integrity, content));
    let integrities = next_integrities(links);
    let leaves = actions.iter().zip(contents.iter().zip(integrities));
    let leaves: Vec<LogLeaf> = leaves
        .map(|((request, position, _), (content, integrity))| LogLeaf {
            sequence: request.head().first_sequence + *position as u64,
            timestamp_ms: request.head().timestamp_ms,
            content: *content,
            integrity,
        })
        .collect();
    Ok(LogLeaf::hash_each(&leaves))
}

/// Iterates over the texts of actions.
struct LeafTexts<'t> {
    /// Id texts of the remaining targets.
    ids: &'t str,
}

impl<'t> LeafTexts<'t> {
    fn of(&mut self, action: &'t PackedAction<'_>) -> ActionTexts<'t> {
        ActionTexts {
            index: action.index,
            kind: &action.kind,
            target: match action.target {
                PackedTarget::Text(text) => text,
                PackedTarget::Id(_) => {
                    let (text, after) = self.ids.split_at(ID_TEXT_BYTES);
                    self.ids = after;
                    text
                }
            },
            payload: action.payload,
        }
    }
}
