//! Calls of the bond, read from their data.

use ethers_core::abi::{ParamType, Token, decode};
use ethers_core::types::U256;
use kedge_protocol::Hash;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::signature::Signature;

use super::contract::selector;

/// A call that changes something.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Commit(Hash),
    DemandLeaves {
        anchored: u64,
        number: u64,
        salt: Hash,
    },
    DemandInclusion {
        batch: SignedBatch,
        key_index: u64,
        salt: Hash,
    },
    AnswerLeaves {
        answer: Held,
        leaves: Vec<Hash>,
    },
    AnswerInclusion(Held),
    Settle(Hash),
}

/// A batch that a checkpoint holds.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) anchored: u64,
    pub(super) header: BatchHeader,
    pub(super) path: Vec<Hash>,
}

const BATCH: &str = "(uint64,uint64,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,uint64)";

fn batch_type() -> ParamType {
    let number = || ParamType::Uint(64);
    let word = || ParamType::FixedBytes(32);
    let words = [word(), word(), word(), word(), word()];
    let mut members = vec![number(), number(), ParamType::Uint(32)];
    members.extend(words);
    members.push(number());
    ParamType::Tuple(members)
}

fn number(token: &Token) -> Option<u64> {
    let value: U256 = token.clone().into_uint()?;
    (value <= U256::from(u64::MAX)).then(|| value.low_u64())
}

fn word(token: &Token) -> Option<Hash> {
    let bytes = token.clone().into_fixed_bytes()?;
    bytes.try_into().ok().map(Hash)
}

fn words(token: &Token) -> Option<Vec<Hash>> {
    let tokens = token.clone().into_array()?;
    tokens.iter().map(word).collect()
}

fn header(token: &Token) -> Option<BatchHeader> {
    let members = token.clone().into_tuple()?;
    Some(BatchHeader {
        number: number(&members[0])?,
        first_sequence: number(&members[1])?,
        count: u32::try_from(number(&members[2])?).ok()?,
        previous_head: word(&members[3])?,
        head: word(&members[4])?,
        root: word(&members[5])?,
        history: word(&members[6])?,
        state: word(&members[7])?,
        sealed_at_ms: number(&members[8])?,
    })
}

fn evidence(token: &Token, salt: &Token) -> Option<Call> {
    let members = token.clone().into_tuple()?;
    let signature: [u8; 65] = members[1].clone().into_bytes()?.try_into().ok()?;
    Some(Call::DemandInclusion {
        batch: SignedBatch {
            header: header(&members[0])?,
            signature: Signature(signature),
        },
        key_index: number(&members[2])?,
        salt: word(salt)?,
    })
}

impl Call {
    /// Reads a call; `None` if it is none that is known here.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let (function, arguments) = data.split_first_chunk::<4>()?;
        let is = |signature: &str| *function == selector(&signature.replace("Batch", BATCH));
        let number_type = || ParamType::Uint(64);
        let word_type = || ParamType::FixedBytes(32);
        let words_type = || ParamType::Array(Box::new(word_type()));
        let read = |types: &[ParamType]| decode(types, arguments).ok();
        if is("commit(bytes32)") {
            let read = read(&[word_type()])?;
            Some(Self::Commit(word(&read[0])?))
        } else if is("settle(bytes32)") {
            let read = read(&[word_type()])?;
            Some(Self::Settle(word(&read[0])?))
        } else if is("demandLeaves(uint64,uint64,bytes32)") {
            let read = read(&[number_type(), number_type(), word_type()])?;
            Some(Self::DemandLeaves {
                anchored: number(&read[0])?,
                number: number(&read[1])?,
                salt: word(&read[2])?,
            })
        } else if is("demandInclusion((Batch,bytes,uint32,uint64,bytes32[]),bytes32)") {
            let members = vec![
                batch_type(),
                ParamType::Bytes,
                ParamType::Uint(32),
                number_type(),
                words_type(),
            ];
            let read = read(&[ParamType::Tuple(members), word_type()])?;
            evidence(&read[0], &read[1])
        } else if is("answerInclusion(Batch,uint64,bytes32[])") {
            let read = read(&[batch_type(), number_type(), words_type()])?;
            Some(Self::AnswerInclusion(Held {
                header: header(&read[0])?,
                anchored: number(&read[1])?,
                path: words(&read[2])?,
            }))
        } else if is("answerLeaves(uint64,Batch,bytes32[],bytes32[])") {
            let read = read(&[number_type(), batch_type(), words_type(), words_type()])?;
            let answer = Held {
                anchored: number(&read[0])?,
                header: header(&read[1])?,
                path: words(&read[2])?,
            };
            let leaves = words(&read[3])?;
            Some(Self::AnswerLeaves { answer, leaves })
        } else {
            None
        }
    }
}
