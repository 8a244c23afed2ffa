//! The simulated contract against the deployed one, on the embedded chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ethers_core::types::{Bytes, H160, H256, TransactionReceipt};
use kedge_chain::contract::{DeployOptions, anchor_calldata, deploy};
use kedge_chain::rpc::{BlockTag, CallRequest, RpcClient, RpcError, RpcOptions};
use kedge_chain::transaction::{FeePolicy, TransactionRequest};
use kedge_devchain::{self as embedded, EmbeddedOptions, insecure_development_keys};
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::signature::SigningKey;

use super::*;
use crate::random::SimulationRandom;

const BATCHES: u64 = 40;
const TRIES: u64 = 300;

/// Roots of a log of batches.
pub(in crate::anchoring) struct Log {
    frontier: TreeFrontier,
    nodes: std::collections::HashMap<(u32, u64), Hash>,
    pub(in crate::anchoring) roots: Vec<Hash>,
}

impl TreeNodes for Log {
    type Error = std::convert::Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error> {
        Ok(self.nodes[&(level, index)])
    }
}

impl Log {
    /// A log of batches with these hashes.
    pub(in crate::anchoring) fn of(hashes: impl Iterator<Item = Hash>) -> Self {
        let mut log = Self {
            frontier: TreeFrontier::default(),
            nodes: std::collections::HashMap::new(),
            roots: vec![TreeFrontier::default().root()],
        };
        for hash in hashes {
            for node in log.frontier.append(log_tree::leaf(&hash)) {
                log.nodes.insert((node.level, node.index), node.hash);
            }
            log.roots.push(log.frontier.root());
        }
        log
    }
}

pub(in crate::anchoring) struct Deployed {
    pub(in crate::anchoring) rpc: RpcClient,
    pub(in crate::anchoring) address: Address,
    pub(in crate::anchoring) payer: SigningKey,
    nonce: u64,
}

impl Deployed {
    async fn call(&self, data: &[u8]) -> Result<Vec<u8>, RevertBytes> {
        self.call_of(self.address, data, 0).await
    }

    /// A contract's answer to a call from the payer, with a value.
    pub(in crate::anchoring) async fn call_of(
        &self,
        to: Address,
        data: &[u8],
        value_wei: u128,
    ) -> Result<Vec<u8>, RevertBytes> {
        let call = CallRequest {
            from: Some(H160(self.payer.address().0)),
            to: Some(H160(to.0)),
            value: Some(value_wei.into()),
            data: Some(Bytes::from(data.to_vec())),
            ..CallRequest::default()
        };
        match self.rpc.call(&call, BlockTag::Latest).await {
            Ok(answer) => Ok(answer.to_vec()),
            Err(RpcError::Node(error)) => Err(error.revert_data().unwrap_or_default()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends the data. Returns the block that holds it.
    async fn send(&mut self, data: Vec<u8>) -> u64 {
        let receipt = self.send_to(self.address, data, 0).await;
        assert_eq!(receipt.status, Some(1.into()));
        receipt.block_number.unwrap().as_u64()
    }

    /// Sends data and a value to a contract. Returns the receipt.
    pub(in crate::anchoring) async fn send_to(
        &mut self,
        to: Address,
        data: Vec<u8>,
        value_wei: u128,
    ) -> TransactionReceipt {
        let transaction = TransactionRequest {
            chain_id: DOMAIN.chain_id,
            nonce: self.nonce,
            fees: FeePolicy::default()
                .first_offer(&self.rpc.fee_history(1, &[50.0]).await.unwrap()),
            gas_limit: 1_000_000,
            to: Some(to),
            value_wei,
            data,
        };
        self.nonce += 1;
        let signed = transaction.sign(&self.payer);
        self.rpc.send_raw_transaction(&signed.raw).await.unwrap();
        let hash = H256(signed.hash.0);
        self.rpc.transaction_receipt(hash).await.unwrap().unwrap()
    }
}

/// A call of `anchor`, valid or invalid in one of many ways.
fn attempt(
    log: &Log,
    model: &SimulatedContract,
    now_s: u64,
    key: &SigningKey,
    random: &mut SimulationRandom,
) -> Vec<u8> {
    let (batches, sequence, _) = model.latest();
    let way = random.below(12);
    let to = match way {
        0 => 1 + random.below(BATCHES),
        _ => (batches + 1 + random.below(3)).min(BATCHES),
    };
    let from = if way == 1 { random.below(to) } else { batches };
    let checkpoint = Checkpoint {
        batches: to,
        sequence: if way == 2 {
            sequence.saturating_sub(random.below(2))
        } else {
            to * 10
        },
        head: keccak(&to.to_be_bytes()),
        history: if way == 3 {
            keccak(b"another")
        } else {
            log.roots[to as usize]
        },
        state: [Hash::ZERO, keccak(b"state")][random.below(2) as usize],
        issued_at_ms: match way {
            4 => now_s * 1_000 + AHEAD_MS_MAX + random.below(2_000),
            5 => now_s * 1_000 + AHEAD_MS_MAX,
            _ => now_s * 1_000,
        },
    };
    let mut proof = match (from, to) {
        (0, _) => Vec::new(),
        (from, to) if from < to => log_tree::consistency_path(log, from, to).unwrap(),
        _ => Vec::new(),
    };
    match way {
        6 => proof.push(Hash::ZERO),
        7 => proof.truncate(proof.len().saturating_sub(1)),
        _ => {}
    }
    let other = SigningKey::from_bytes(&[0x11; 32]).unwrap();
    let key = if way == 8 { &other } else { key };
    let mut data = anchor_calldata(&checkpoint.sign(&model.domain.separator(), key), &proof);
    if way == 9 {
        data[0] ^= 1;
    }
    data
}

/// A chain with an adjustable time, the contract on it, and the simulated contract.
pub(in crate::anchoring) struct Both {
    _place: tempfile::TempDir,
    _node: embedded::EmbeddedChainHandle,
    pub(in crate::anchoring) seconds: Arc<AtomicU64>,
    pub(in crate::anchoring) deployed: Deployed,
    pub(in crate::anchoring) model: SimulatedContract,
}

impl Both {
    pub(in crate::anchoring) async fn start(sequencer: &SigningKey) -> Self {
        let place = tempfile::tempdir().unwrap();
        let seconds = Arc::new(AtomicU64::new(1_800_000_000));
        let clock = Arc::clone(&seconds);
        let options = EmbeddedOptions {
            chain_id: DOMAIN.chain_id,
            journal_path: place.path().join("chain.journal"),
            listen: "127.0.0.1:0".parse().unwrap(),
            clock: Arc::new(move || clock.load(Ordering::SeqCst)),
        };
        let node = embedded::start(options).await.unwrap();
        let rpc = RpcClient::new(node.url().parse().unwrap(), RpcOptions::default());
        let keys = insecure_development_keys();
        let options = DeployOptions {
            owner: keys[0].address(),
            sequencer_key: sequencer.address(),
            domain_contract: None,
            fee_policy: FeePolicy::default(),
            patience_ms: 10_000,
        };
        let made = deploy(&rpc, &keys[0], &options).await.unwrap();
        let block = rpc.block(BlockTag::Block(made.block_number)).await.unwrap();
        let made_at_s = block.unwrap().timestamp.as_u64();
        let domain = Domain {
            verifying_contract: made.address,
            ..DOMAIN
        };
        let made_in = (made_at_s, made.block_number);
        Self {
            _place: place,
            _node: node,
            seconds,
            deployed: Deployed {
                rpc,
                address: made.address,
                payer: keys[1].clone(),
                nonce: 0,
            },
            model: SimulatedContract::new(sequencer.address(), domain, made_in),
        }
    }

    /// Compares the answers to all view calls of the server.
    pub(in crate::anchoring) async fn compare(&self, asked: u64, round: u64) {
        let questions = [
            selector("latest()").to_vec(),
            [&selector("checkpoint(uint64)")[..], &word(asked)].concat(),
            selector("domainSeparator()").to_vec(),
            selector("eip712Domain()").to_vec(),
            selector("bond()").to_vec(),
            selector("status()").to_vec(),
            selector("sequencerKeyCount()").to_vec(),
            [&selector("keyTerm(uint32)")[..], &word(0)].concat(),
            selector("coverage()").to_vec(),
        ];
        for question in questions {
            let made_up = self.model.view(&question);
            let real = self.deployed.call(&question).await;
            assert_eq!(made_up, real, "round {round}, {question:02x?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deployed_contract_decides_and_answers_the_same() {
    let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
    let mut both = Both::start(&sequencer).await;
    let hashes = (0..BATCHES).map(|number| keccak(&number.to_be_bytes()));
    let (log, mut random) = (Log::of(hashes), SimulationRandom::new(1, 30));
    let (mut taken, mut refused) = (0, std::collections::BTreeSet::new());
    for round in 0..TRIES {
        // A call runs at the head's time, a transaction in the next block, a second later.
        let head = both
            .deployed
            .rpc
            .block(BlockTag::Latest)
            .await
            .unwrap()
            .unwrap();
        let now_s = head.timestamp.as_u64();
        both.seconds.store(now_s + 1, Ordering::SeqCst);
        let data = attempt(&log, &both.model, now_s, &sequencer, &mut random);
        let made_up = both.model.clone().carry_out(&data, 0, now_s);
        let real = both.deployed.call(&data).await;
        match (made_up, real) {
            (Ok(_), Ok(_)) => {
                let block = both.deployed.send(data.clone()).await;
                both.model.carry_out(&data, block, now_s + 1).unwrap();
                taken += 1;
            }
            (Err(made_up), Err(real)) => {
                assert_eq!(made_up, real, "round {round}");
                refused.insert(real.get(..4).map(<[u8]>::to_vec));
            }
            (made_up, real) => panic!("round {round}: {made_up:?} and {real:?}"),
        }
        both.compare(random.below(BATCHES + 2), round).await;
    }
    assert!(taken > 8, "{taken} were taken");
    // Not newer, ahead of time, another signer, another history, an unknown function.
    assert_eq!(refused.len(), 5, "{refused:?}");
}
