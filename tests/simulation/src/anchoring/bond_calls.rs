//! Decoding of calls to the bond.

use ethers_core::abi::{ParamType, Token, decode};
use ethers_core::types::U256;
use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};

use super::bond_actions::{ChallengedAction, UntrustedOpening};
use super::contract::selector;

/// A call that changes the state.
#[derive(Clone, Debug)]
pub(super) enum BondCall {
    Commit(Hash),
    ChallengeAction {
        action: ChallengedAction,
        salt: Hash,
    },
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
    AnswerAction {
        batch_hash: Hash,
        leaf: LogLeaf,
        opened: UntrustedOpening,
    },
    AnswerStale {
        answer: CheckpointedBatch,
        leaf: Hash,
    },
    AnswerLeaves {
        answer: CheckpointedBatch,
        leaves: Vec<Hash>,
    },
    AnswerInclusion(CheckpointedBatch),
    Settle(Hash),
}

/// A batch under a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct CheckpointedBatch {
    pub(super) anchored: u64,
    pub(super) header: BatchHeader,
    pub(super) path: Vec<Hash>,
}

const BATCH: &str = "(uint64,uint64,uint32,bytes32,bytes32,bytes32,bytes32,bytes32,uint64)";
const LEAF: &str = "(uint64,uint64,bytes32,bytes32)";
const OPENING: &str =
    "(bytes32,bytes32,bytes32,bytes32,address,uint64,uint64,bool,uint32,bytes32[],bytes)";

fn number_type() -> ParamType {
    ParamType::Uint(64)
}

fn word_type() -> ParamType {
    ParamType::FixedBytes(32)
}

fn words_type() -> ParamType {
    ParamType::Array(Box::new(word_type()))
}

fn batch_type() -> ParamType {
    let mut members = vec![number_type(), number_type(), ParamType::Uint(32)];
    members.extend(std::iter::repeat_with(word_type).take(5));
    members.push(number_type());
    ParamType::Tuple(members)
}

fn leaf_type() -> ParamType {
    ParamType::Tuple(vec![number_type(), number_type(), word_type(), word_type()])
}

fn opening_type() -> ParamType {
    let mut members: Vec<_> = std::iter::repeat_with(word_type).take(4).collect();
    members.extend([
        ParamType::Address,
        number_type(),
        number_type(),
        ParamType::Bool,
        ParamType::Uint(32),
        words_type(),
        ParamType::Bytes,
    ]);
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

fn leaf(token: &Token) -> Option<LogLeaf> {
    let members = token.clone().into_tuple()?;
    Some(LogLeaf {
        sequence: number(&members[0])?,
        timestamp_ms: number(&members[1])?,
        content: word(&members[2])?,
        integrity: word(&members[3])?,
    })
}

fn opened(token: &Token) -> Option<UntrustedOpening> {
    let members = token.clone().into_tuple()?;
    Some(UntrustedOpening {
        words: ActionWords {
            kind: word(&members[0])?,
            target: word(&members[1])?,
            payload: word(&members[2])?,
        },
        salt: word(&members[3])?,
        head: RequestHead {
            signer: Address(members[4].clone().into_address()?.0),
            nonce: number(&members[5])?,
            deadline_s: number(&members[6])?,
            atomic: members[7].clone().into_bool()?,
        },
        index: number(&members[8])?,
        action_hashes: words(&members[9])?,
        signature: members[10].clone().into_bytes()?,
    })
}

fn challenged(token: &Token, salt: &Token) -> Option<BondCall> {
    let members = token.clone().into_tuple()?;
    let action = ChallengedAction {
        anchored: number(&members[0])?,
        header: header(&members[1])?,
        leaf: leaf(&members[2])?,
        leaf_path: words(&members[3])?,
        batch_path: words(&members[4])?,
    };
    let salt = word(salt)?;
    Some(BondCall::ChallengeAction { action, salt })
}

fn evidence(token: &Token, salt: &Token) -> Option<BondCall> {
    let members = token.clone().into_tuple()?;
    let signature: [u8; 65] = members[1].clone().into_bytes()?.try_into().ok()?;
    Some(BondCall::DemandInclusion {
        batch: SignedBatch {
            header: header(&members[0])?,
            signature: Signature(signature),
        },
        key_index: number(&members[2])?,
        salt: word(salt)?,
    })
}

#[derive(Clone, Copy)]
struct BondCalldata<'a> {
    function: [u8; 4],
    arguments: &'a [u8],
}

impl<'a> BondCalldata<'a> {
    fn of(data: &'a [u8]) -> Option<Self> {
        let (function, arguments) = data.split_first_chunk()?;
        Some(Self {
            function: *function,
            arguments,
        })
    }

    /// Whether the call is of this function.
    fn is(&self, signature: &str) -> bool {
        let signature = signature.replace("Batch", BATCH).replace("Leaf", LEAF);
        self.function == selector(&signature.replace("Opening", OPENING))
    }

    fn read(&self, types: &[ParamType]) -> Option<Vec<Token>> {
        decode(types, self.arguments).ok()
    }
}

impl BondCall {
    /// Decodes a call; `None` for unknown functions.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        let data = BondCalldata::of(data)?;
        let (is, read) = (
            |of: &str| data.is(of),
            |types: &[ParamType]| data.read(types),
        );
        if is("commit(bytes32)") {
            let read = read(&[word_type()])?;
            Some(Self::Commit(word(&read[0])?))
        } else if is("settle(bytes32)") {
            let read = read(&[word_type()])?;
            Some(Self::Settle(word(&read[0])?))
        } else if is("challengeAction((uint64,Batch,Leaf,bytes32[],bytes32[]),bytes32)") {
            let members = vec![
                number_type(),
                batch_type(),
                leaf_type(),
                words_type(),
                words_type(),
            ];
            let read = read(&[ParamType::Tuple(members), word_type()])?;
            challenged(&read[0], &read[1])
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
        } else {
            Self::read_answer(data)
        }
    }

    fn read_answer(data: BondCalldata<'_>) -> Option<Self> {
        let (is, read) = (
            |of: &str| data.is(of),
            |types: &[ParamType]| data.read(types),
        );
        if is("answerAction(bytes32,Leaf,Opening)") {
            let read = read(&[word_type(), leaf_type(), opening_type()])?;
            Some(Self::AnswerAction {
                batch_hash: word(&read[0])?,
                leaf: leaf(&read[1])?,
                opened: opened(&read[2])?,
            })
        } else if is("answerStale(Batch,bytes32,uint64,bytes32[])") {
            let read = read(&[batch_type(), word_type(), number_type(), words_type()])?;
            let answer = CheckpointedBatch {
                header: header(&read[0])?,
                anchored: number(&read[2])?,
                path: words(&read[3])?,
            };
            let leaf = word(&read[1])?;
            Some(Self::AnswerStale { answer, leaf })
        } else if is("answerInclusion(Batch,uint64,bytes32[])") {
            let read = read(&[batch_type(), number_type(), words_type()])?;
            Some(Self::AnswerInclusion(CheckpointedBatch {
                header: header(&read[0])?,
                anchored: number(&read[1])?,
                path: words(&read[2])?,
            }))
        } else if is("answerLeaves(uint64,Batch,bytes32[],bytes32[])") {
            let read = read(&[number_type(), batch_type(), words_type(), words_type()])?;
            let answer = CheckpointedBatch {
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
