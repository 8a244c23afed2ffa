//! ABI encoding of a claim for `KedgeClaims.resolveClaim`.

use kedge_protocol::Hash;
use kedge_protocol::claim::ClaimFile;
use kedge_protocol::eip712::word;
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::AnchorProof;

const SIGNATURE: &str = "resolveClaim((uint32,uint8,bytes32[4],bytes32),(uint64,(uint64,uint64,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,uint64),(uint64,uint64,bytes32,bytes32),bytes32[],bytes32[]),(uint256[2],uint256[4],uint256[2]))";
const WORD_BYTES: usize = 32;
/// Words of the arguments: the claim's, the offset of the action, the proof's.
const HEAD_WORDS: usize = 7 + 1 + 8;
/// Words of an action before its paths: the checkpoint's name, the header, the leaf, the offsets of both paths.
const ACTION_WORDS: usize = 1 + 9 + 4 + 2;

/// Calldata of the claimant's call to the resolver; `None` if the claim is not anchored. `circuit_version` is the
/// resolver's number of the key.
pub fn resolve_claim(claim: &ClaimFile, circuit_version: u32) -> Option<Vec<u8>> {
    let anchor = claim.anchor.as_ref()?;
    let statement = claim.statement();
    let mut words = vec![
        number(u64::from(circuit_version)),
        number(u64::from(statement.mask.bits())),
    ];
    words.extend(statement.words);
    words.push(claim.binding.purpose);
    words.push(number((HEAD_WORDS * WORD_BYTES) as u64));
    words.extend(claim.proof.a);
    words.extend(claim.proof.b);
    words.extend(claim.proof.c);
    words.extend(anchored_action(claim, anchor));
    let mut data = keccak(SIGNATURE.as_bytes()).0[..4].to_vec();
    data.extend(words.iter().flat_map(|word| word.0));
    Some(data)
}

fn anchored_action(claim: &ClaimFile, anchor: &AnchorProof) -> Vec<Hash> {
    let header = &claim.batch.header;
    let leaf = &claim.leaf;
    let path = &claim.inclusion.path;
    let mut words = vec![
        number(anchor.checkpoint.checkpoint.batches),
        number(header.number),
        number(header.first_sequence),
        number(u64::from(header.count)),
        header.previous_head,
        header.head,
        header.root,
        header.history,
        header.state,
        number(header.sealed_at_ms),
        number(leaf.sequence),
        number(leaf.timestamp_ms),
        leaf.content,
        leaf.integrity,
        number((ACTION_WORDS * WORD_BYTES) as u64),
        number(((ACTION_WORDS + 1 + path.len()) * WORD_BYTES) as u64),
    ];
    for path in [path, &anchor.path] {
        words.push(number(path.len() as u64));
        words.extend(path);
    }
    words
}

fn number(number: u64) -> Hash {
    Hash(word(number))
}
