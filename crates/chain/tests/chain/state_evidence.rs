//! Evidence of faults of the state against the judges and the bond on a real node: the vectors, with real signatures,
//! proofs and places.

use std::collections::BTreeMap;

use kedge_chain::contract::bond::{deposit_calldata, report_calldata};
use kedge_chain::contract::{AnchorContractState, proven_word, state_evidence_calldata};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{
    ChangeEvidence, CheckpointEvidence, ContractView, EntryEvidence, EntryPairEvidence,
    FalseEntryRecords, HeaderEvidence, LeafEvidence, OpenedLeafEvidence, StateEvidence,
    TrespassRecords, judge_state,
};
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::state::faults::LeafWords;
use kedge_protocol::state::trie::StateRootBuilder;
use kedge_protocol::state::{EMPTY_STATE_ROOT, StateProof, state_path};
use kedge_protocol::{Address, Hash, Id};
use serde_json::{Value, json};

use super::bond::Bonded;
use super::support::*;

/// The records of the vectors, as this log's operator signs them.
struct Vectors {
    domain: Domain,
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().strip_prefix("0x").unwrap();
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// A state that holds at most this entry.
fn state_of(key: &Id, entry: &[u8]) -> (Hash, Vec<Vec<u8>>) {
    if entry.is_empty() {
        return (EMPTY_STATE_ROOT, Vec::new());
    }
    let (path, value) = (state_path(key), keccak(entry));
    let mut builder = StateRootBuilder::default();
    builder.add_leaf(&path, &value).unwrap();
    let mut node = vec![0xf8, 0x43, 0xa1, 0x20];
    node.extend(path.0);
    node.push(0xa0);
    node.extend(value.0);
    (builder.finish().0, vec![node])
}

impl Vectors {
    fn checkpoint(&self, value: &Value, root: Hash) -> CheckpointEvidence {
        let checkpoint = Checkpoint {
            batches: value["batches"].as_u64().unwrap(),
            sequence: value["sequence"].as_u64().unwrap(),
            head: Hash([1; 32]),
            history: Hash([2; 32]),
            state: if value["root"] == json!(true) {
                root
            } else {
                Hash::ZERO
            },
            issued_at_ms: 1,
        };
        let signed = checkpoint.sign(&self.domain.separator(), &sequencer_key());
        CheckpointEvidence::of(&signed, 0)
    }

    fn entry(&self, value: &Value) -> EntryEvidence {
        let key: Id = value["id"].as_str().unwrap().parse().unwrap();
        let entry = bytes(&value["entry"]);
        let (root, nodes) = state_of(&key, &entry);
        EntryEvidence {
            checkpoint: self.checkpoint(&value["checkpoint"], root),
            proof: StateProof { key, entry, nodes },
        }
    }

    fn wallet(&self, evidence: &Value) -> Option<Box<EntryEvidence>> {
        let wallet = evidence.get("wallet").filter(|wallet| !wallet.is_null())?;
        Some(Box::new(self.entry(wallet)))
    }

    /// The leaf as the only one of a batch.
    fn leaf(&self, value: &Value) -> OpenedLeafEvidence {
        let leaf = LogLeaf {
            sequence: value["sequence"].as_u64().unwrap(),
            timestamp_ms: value["timestamp_ms"].as_u64().unwrap(),
            content: hash(&value["content"]),
            integrity: hash(&value["integrity"]),
        };
        let header = BatchHeader {
            number: 0,
            first_sequence: 1,
            count: 1,
            previous_head: Hash([1; 32]),
            head: Hash([2; 32]),
            root: leaf.hash(),
            history: Hash([3; 32]),
            state: Hash::ZERO,
            sealed_at_ms: 1,
        };
        let batch = header.sign(&self.domain.separator(), &sequencer_key());
        let words = value["words"].as_array().map(|words| LeafWords {
            kind: hash(&words[0]),
            target: hash(&words[1]),
            payload: hash(&words[2]),
            signer: Address(hash(&words[3]).0[12..].try_into().unwrap()),
            authority: hash(&words[4]),
        });
        OpenedLeafEvidence {
            action: LeafEvidence {
                leaf,
                index: 0,
                path: Vec::new(),
                batch: HeaderEvidence::signed(&batch, 0),
            },
            words,
        }
    }

    fn leaves(&self, value: &Value) -> Vec<OpenedLeafEvidence> {
        let leaves = value.as_array().unwrap().iter();
        leaves.map(|leaf| self.leaf(leaf)).collect()
    }

    fn pair(&self, evidence: &Value, names: [&str; 2]) -> EntryPairEvidence {
        let [first, second] = names.map(|name| self.entry(&evidence[name]));
        EntryPairEvidence { first, second }
    }

    fn evidence(&self, fault: &str, value: &Value) -> StateEvidence {
        use StateEvidence as E;
        let (entry, leaf) = (
            |name: &str| self.entry(&value[name]),
            || self.leaf(&value["leaf"]),
        );
        let kind = value["kind"].as_str().map(str::to_owned);
        let pair = || self.pair(value, ["first", "second"]);
        match fault {
            "unrooted checkpoint" => E::UnrootedCheckpoint {
                first: self.checkpoint(&value["first"], Hash([7; 32])),
                second: self.checkpoint(&value["second"], Hash([7; 32])),
            },
            "malformed state" => E::MalformedState {
                entry: entry("entry"),
            },
            "stale state" => E::StaleState {
                entry: entry("entry"),
                leaf: leaf(),
            },
            "false entry" => E::FalseEntry(FalseEntryRecords {
                entry: entry("entry"),
                leaf: leaf(),
                kind,
                to: value["to"].as_str().and_then(|to| to.parse().ok()),
                wallet: None,
            }),
            "missing state" => E::MissingState {
                entry: entry("entry"),
                leaf: leaf(),
                kind: kind.unwrap(),
            },
            "rewritten state" => E::RewrittenState(pair()),
            "two-faced state" => E::TwoFacedState(pair()),
            "twin state" => E::TwinState(pair()),
            "false address" => E::FalseAddress(self.pair(value, ["object", "wallet"])),
            "oversupply: template" => E::Oversupply(self.pair(value, ["object", "template"])),
            "oversupply: serial" | "oversupply: max_supply" => E::Oversupply(pair()),
            "false owner" => E::FalseOwner(ChangeEvidence {
                first: entry("first"),
                second: entry("second"),
                leaves: self.leaves(&value["leaves"]),
            }),
            "trespass" => E::Trespass(TrespassRecords {
                object: entry("object"),
                template: entry("template"),
                leaves: self.leaves(&value["leaves"]),
                leaf: leaf(),
                kind,
                wallet: self.wallet(value),
            }),
            "foreign hand" => E::ForeignHand {
                entry: entry("entry"),
                leaf: leaf(),
                wallet: self.wallet(value),
            },
            "ghost member" => E::GhostMember {
                leaf: leaf(),
                wallet: entry("wallet"),
            },
            other => panic!("{other}"),
        }
    }
}

/// A vector: its name, its fault, its evidence, and whether it convicts.
type Row = (String, String, StateEvidence, bool);

fn rows(vectors: &Vectors) -> Vec<Row> {
    let text = include_str!("../../../protocol/vectors/state-faults.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let rows = file["vectors"].as_array().unwrap().iter().map(|row| {
        let fault = row["fault"].as_str().unwrap();
        let evidence = vectors.evidence(fault, &row["evidence"]);
        let name = row["name"].as_str().unwrap().to_owned();
        (
            name,
            fault.to_owned(),
            evidence,
            row["verdict"] == "convict",
        )
    });
    rows.collect()
}

impl Bonded {
    /// Whether one of the judges convicts.
    async fn is_judged(&self, calldata: &[u8]) -> bool {
        let judges = self.judges;
        for judge in [judges.state, judges.history, judges.signer] {
            let call = json!([{"to": judge, "data": to_hex(calldata)}, "latest"]);
            if let Ok(word) = raw(&self.rpc, "eth_call", call).await {
                assert_eq!(word, json!(proven_word()));
                return true;
            }
        }
        false
    }

    /// Files evidence; the bond is lost.
    async fn loses_to(&self, evidence: &StateEvidence) {
        let start = self.anvil.raw("evm_snapshot", json!([])).await;
        let calldata = state_evidence_calldata(evidence);
        let salt = Hash([9; 32]);
        let reporter = payer();
        self.commit(&reporter, keccak(&calldata), salt).await;
        let sent = self.send(&reporter, report_calldata(&calldata, salt), 0);
        sent.await.unwrap();
        let fault = evidence.fault();
        let state = self.anchor.state().await.unwrap();
        assert_eq!(state, AnchorContractState::Frozen, "{fault}");
        let bond = self.bond.state().await.unwrap();
        assert_eq!(bond.bond_wei, 0, "{fault}");
        self.anvil.raw("evm_revert", json!([start])).await;
    }
}

// Holds invariant 268.
#[tokio::test]
async fn evidence_of_the_state_has_its_verdict_on_chain() {
    let bonded = Bonded::new().await;
    bonded
        .send(&payer(), deposit_calldata(), 900)
        .await
        .unwrap();
    let domain = Domain {
        chain_id: CHAIN_ID,
        verifying_contract: bonded.anchor.address(),
    };
    let trust = ContractView::new(domain, sequencer_key().address());
    let mut convicted = BTreeMap::new();
    for (name, fault, evidence, convicts) in rows(&Vectors { domain }) {
        assert_eq!(judge_state(&evidence, &trust).is_ok(), convicts, "{name}");
        let calldata = state_evidence_calldata(&evidence);
        assert_eq!(bonded.is_judged(&calldata).await, convicts, "{name}");
        if convicts {
            convicted.entry(fault).or_insert(evidence);
        }
    }
    assert_eq!(convicted.len(), 16);
    for evidence in convicted.values() {
        bonded.loses_to(evidence).await;
    }
}
