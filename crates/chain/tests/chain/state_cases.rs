//! Cases about the state, against contracts on a real node: their openings are read from the events, and each answer is
//! taken.

use std::collections::BTreeMap;
use std::convert::Infallible;

use kedge_chain::contract::bond::{
    AnchoredAction, AnchoredHeader, BondEvent, CaseOpened, CaseState, CaseSubject, EntryClaim,
    answer_entry_calldata, answer_stale_entry_calldata, answer_state_calldata,
    challenge_entry_calldata, demand_made_state_calldata, demand_state_calldata, deposit_calldata,
    entry_case_id, state_case_id,
};
use kedge_chain::contract::{anchor_calldata, transact};
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::action::{ActionWords, Kind};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{LogLeaf, first_integrity};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::evidence::{
    CheckpointEvidence, EntryEvidence, HeaderEvidence, LeafEvidence, OpenedLeafEvidence,
};
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::state::entry::ApiKeyEntry;
use kedge_protocol::state::faults::LeafWords;
use kedge_protocol::state::trie::{
    NodePath, StateLeaves, StateNodes, StoredBranch, prove_state, update_state,
};
use kedge_protocol::state::{EntryFields, StateEntry, StateProof, state_path};
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::bond::{Bonded, TERMS};
use super::support::*;

const SALT: Hash = Hash([9; 32]);

/// Entries by their paths, without stored branches.
struct Entries(BTreeMap<Hash, Vec<u8>>);

impl StateNodes for Entries {
    type Error = Infallible;

    fn branch(&self, _: &NodePath) -> Result<Option<StoredBranch>, Infallible> {
        Ok(None)
    }
}

impl StateLeaves for Entries {
    type Error = Infallible;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), Infallible> {
        for (path, entry) in self.0.range(*first..=*last) {
            each(path, &keccak(entry));
        }
        Ok(())
    }
}

impl Entries {
    fn root(&self) -> Hash {
        update_state(self, self, &[]).unwrap().root
    }

    fn proof(&self, key: Id) -> StateProof {
        let path = state_path(&key);
        let mut proven = prove_state(self, self, &[path]).unwrap().unwrap();
        StateProof {
            key,
            entry: self.0.get(&path).cloned().unwrap_or_default(),
            nodes: proven.nodes.remove(0),
        }
    }
}

/// A bonded log of two batches. Its first one registers a wallet and makes two API keys, and its state lacks the second.
struct StateLog {
    bonded: Bonded,
    opener: SigningKey,
    words: Vec<LeafWords>,
    leaves: Vec<LogLeaf>,
    headers: [BatchHeader; 2],
    entries: Entries,
}

fn words(kind: &Kind, salt: u8) -> LeafWords {
    let ActionWords {
        kind,
        target,
        payload,
    } = ActionWords::of(kind, "", b"{}");
    LeafWords {
        kind,
        target,
        payload,
        signer: Address([1; 20]),
        authority: Hash([salt; 32]),
    }
}

impl StateLog {
    async fn new() -> Self {
        let bonded = Bonded::new().await;
        bonded
            .send(&payer(), deposit_calldata(), 900)
            .await
            .unwrap();
        let words = [Kind::WalletRegister, Kind::KeyCreate, Kind::KeyCreate]
            .iter()
            .zip(1..)
            .map(|(kind, salt)| words(kind, salt));
        let words: Vec<LeafWords> = words.collect();
        let leaves = words.iter().zip(1..).map(|(words, sequence)| LogLeaf {
            sequence,
            timestamp_ms: 1,
            content: words.content(),
            integrity: first_integrity(&words.content(), 0),
        });
        let leaves: Vec<LogLeaf> = leaves.collect();
        let hashes: Vec<Hash> = leaves.iter().map(LogLeaf::hash).collect();
        let header = |number, root| BatchHeader {
            number,
            first_sequence: 1 + 3 * number,
            count: 3,
            previous_head: Hash([1; 32]),
            head: Hash([2; 32]),
            root,
            history: Hash([3; 32]),
            state: Hash::ZERO,
            sealed_at_ms: 1,
        };
        let headers = [
            header(0, BatchTree::new(&hashes).root()),
            header(1, Hash([4; 32])),
        ];
        let organization_id = Id::made_by(Prefix::Organization, &leaves[0].content, 0);
        let organization = StateEntry {
            version: 1,
            sequence: 1,
            integrity: first_integrity(&leaves[0].content, 1),
            fields: EntryFields::Organization {},
        };
        let key = StateEntry {
            version: 1,
            sequence: 2,
            integrity: leaves[1].integrity,
            fields: EntryFields::ApiKey(ApiKeyEntry {
                organization_id,
                deleted: false,
            }),
        };
        let key_id = Id::made_by(Prefix::Key, &leaves[1].content, 0);
        let entries = [(organization_id, organization), (key_id, key)];
        let entries = entries
            .iter()
            .map(|(id, entry)| (state_path(id), entry.to_bytes()));
        Self {
            bonded,
            opener: kedge_devchain::insecure_development_keys()[3].clone(),
            words,
            leaves,
            headers,
            entries: Entries(entries.collect()),
        }
    }

    /// The id of what a leaf's action makes.
    fn made(&self, leaf: usize, prefix: Prefix) -> Id {
        Id::made_by(prefix, &self.leaves[leaf].content, 0)
    }

    fn tree(&self, batches: usize) -> TreeFrontier {
        let mut frontier = TreeFrontier::default();
        for header in &self.headers[..batches] {
            frontier.append(log_tree::leaf(&header.hash()));
        }
        frontier
    }

    fn checkpoint(&self, batches: usize) -> SignedCheckpoint {
        let last = &self.headers[batches - 1];
        let checkpoint = Checkpoint {
            batches: batches as u64,
            sequence: last.first_sequence + 2,
            head: last.head,
            history: self.tree(batches).root(),
            state: self.entries.root(),
            issued_at_ms: now_ms(),
        };
        checkpoint.sign(&separator(self.bonded.anchor.address()), &sequencer_key())
    }

    async fn anchor(&self, batches: usize, proof: &[Hash]) {
        let data = anchor_calldata(&self.checkpoint(batches), proof);
        let (rpc, to) = (&self.bonded.rpc, Some(self.bonded.anchor.address()));
        transact(rpc, &payer(), to, data, &FeePolicy::default(), 10_000)
            .await
            .unwrap();
    }

    /// The path of the first batch in the history over both, which is also the proof that this extends the first one's.
    fn path(&self) -> [Hash; 1] {
        [log_tree::leaf(&self.headers[1].hash())]
    }

    /// Opens a case, whose event shows this subject, and answers it, but not with `refused`.
    async fn answers(
        &self,
        (case, subject): (Hash, CaseSubject),
        open: Vec<u8>,
        (refused, answer): (Vec<u8>, Vec<u8>),
    ) {
        let bonded = &self.bonded;
        bonded.commit(&self.opener, case, SALT).await;
        bonded.send(&self.opener, open, 1_000).await.unwrap();
        let opened = CaseOpened {
            id: case,
            opener: self.opener.address(),
            subject,
            deadline_s: bonded.case(case).await.deadline_s,
        };
        let last = bonded.events().await.pop();
        assert_eq!(last, Some(BondEvent::CaseOpened(opened)));
        assert_eq!(opened.subject.kind(), subject.kind());
        let refused = bonded.send(&payer(), refused, 0).await;
        assert!(refused.is_err(), "another answer was taken");
        bonded.send(&payer(), answer, 0).await.unwrap();
        assert_eq!(bonded.case(case).await.state, CaseState::Answered);
    }

    /// The claim of an entry, and the case that asks for its leaf.
    fn claimed(&self, leaf: usize, key: Id, is_first: bool) -> (EntryClaim, (Hash, CaseSubject)) {
        let made = &self.leaves[leaf];
        let claim = EntryClaim {
            key,
            is_first,
            sequence: made.sequence,
            integrity: first_integrity(&made.content, u32::from(is_first)),
        };
        (claim, (entry_case_id(&claim), CaseSubject::Entry(claim)))
    }

    /// A leaf of the first batch, by the first checkpoint.
    fn shown(&self, leaf: usize, answer: impl FnOnce(&AnchoredAction<'_>) -> Vec<u8>) -> Vec<u8> {
        let hashes: Vec<Hash> = self.leaves.iter().map(LogLeaf::hash).collect();
        answer(&AnchoredAction {
            anchored_batches: 1,
            header: &self.headers[0],
            leaf: &self.leaves[leaf],
            leaf_path: &BatchTree::new(&hashes).proof(&[leaf]),
            batch_path: &[],
        })
    }

    async fn shows_the_leaf_of_an_entry(&self) {
        let organization = self.made(0, Prefix::Organization);
        let (claim, case) = self.claimed(0, organization, true);
        let holder = AnchoredHeader {
            anchored_batches: 1,
            header: &self.headers[0],
            path: &[],
        };
        let proof = self.entries.proof(organization);
        let open = challenge_entry_calldata(1, &proof, &holder, SALT);
        let by = |leaf| self.shown(leaf, |shown| answer_entry_calldata(&claim, shown, 0));
        self.answers(case, open, (by(1), by(0))).await;
    }

    async fn shows_that_there_is_no_entry(&self) {
        let missing = self.made(2, Prefix::Key);
        let hashes: Vec<Hash> = self.leaves.iter().map(LogLeaf::hash).collect();
        let maker = OpenedLeafEvidence {
            action: LeafEvidence {
                leaf: self.leaves[2],
                index: 2,
                path: BatchTree::new(&hashes).proof(&[2]),
                batch: HeaderEvidence::anchored(self.headers[0], 1, Vec::new()),
            },
            words: Some(self.words[2]),
        };
        let open = demand_made_state_calldata(1, &missing, &maker, 0, SALT);
        let case = state_case_id(1, &missing);
        let subject = CaseSubject::State {
            batches: 1,
            key: missing,
        };
        let proof = self.entries.proof(missing);
        assert!(proof.entry.is_empty());
        let another = StateProof {
            key: missing,
            ..self.entries.proof(self.made(1, Prefix::Key))
        };
        let answers = (
            answer_state_calldata(1, &another),
            answer_state_calldata(1, &proof),
        );
        self.answers((case, subject), open, answers).await;
    }

    async fn shows_an_entry(&self) {
        let key = self.made(1, Prefix::Key);
        let known = EntryEvidence {
            checkpoint: CheckpointEvidence::of(&self.checkpoint(2), 0),
            proof: self.entries.proof(key),
        };
        let open = demand_state_calldata(1, &known, SALT);
        let case = state_case_id(1, &key);
        let subject = CaseSubject::State { batches: 1, key };
        let absent = StateProof {
            entry: Vec::new(),
            ..known.proof.clone()
        };
        let answers = (
            answer_state_calldata(1, &absent),
            answer_state_calldata(1, &known.proof),
        );
        self.answers((case, subject), open, answers).await;
    }

    /// A later checkpoint opens the window again, but the first one's had closed.
    async fn shows_that_an_entry_is_old(&self) {
        self.bonded.pass(TERMS.challenge_window_s).await;
        let path = self.path();
        self.anchor(2, &path).await;
        let key = self.made(1, Prefix::Key);
        let (claim, case) = self.claimed(1, key, false);
        let holder = |anchored_batches, path| AnchoredHeader {
            anchored_batches,
            header: &self.headers[0],
            path,
        };
        let proof = self.entries.proof(key);
        let open = challenge_entry_calldata(2, &proof, &holder(2, &path), SALT);
        let answers = (
            answer_stale_entry_calldata(&claim, &holder(2, &path)),
            answer_stale_entry_calldata(&claim, &holder(1, &[])),
        );
        self.answers(case, open, answers).await;
    }
}

#[tokio::test]
async fn cases_about_the_state_are_opened_seen_and_answered() {
    let log = StateLog::new().await;
    log.anchor(1, &[]).await;
    log.shows_the_leaf_of_an_entry().await;
    log.shows_that_there_is_no_entry().await;
    log.shows_an_entry().await;
    log.shows_that_an_entry_is_old().await;
}
