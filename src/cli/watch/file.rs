//! Filing a dispute: the commitment, the wait, the evidence. What is filed is stored before the
//! commitment is sent, so that a restart goes on with the same salt.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_chain::contract::bond::{
    AnchoredAction, BondContract, BondTerms, CaseState, action_case_id, challenge_action_calldata,
    commit_calldata, commitment, demand_inclusion_calldata, inclusion_case_id, report_calldata,
    settle_calldata,
};
use kedge_chain::contract::{AnchorState, TransactError, evidence_calldata, transact_paying};
use kedge_chain::rpc::At;
use kedge_chain::transaction::FeePolicy;
use kedge_client::watchtower::{Challenge, Finding};
use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::evidence::Evidence;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use serde::{Deserialize, Serialize};

use super::super::output::{Failure, print_line};
use super::super::trust::read_failure;
use super::chain::Contracts;

/// How long a transaction may take to be mined, in milliseconds.
const PATIENCE_MS: u64 = 10 * 60 * 1000;
/// How often the chain's time is looked at while a commitment ages.
const POLL: Duration = Duration::from_millis(500);

/// What is shown to the bond.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Subject {
    /// Evidence of a fault.
    Report(Box<Evidence>),
    /// A signed header whose anchoring is demanded.
    Demand(Box<SignedBatch>),
    /// An action that is challenged.
    Challenge(Box<Challenge>),
}

/// A dispute, as it is stored.
#[derive(Clone, Serialize, Deserialize)]
struct Dispute {
    subject: Subject,
    salt: Hash,
}

impl Dispute {
    fn new(finding: &Finding) -> Result<Self, Failure> {
        Ok(Self {
            subject: match finding {
                Finding::Fault(evidence) => Subject::Report(evidence.clone()),
                Finding::Missing(batch) => Subject::Demand(batch.clone()),
                Finding::Unauthorised(challenge) => Subject::Challenge(challenge.clone()),
            },
            salt: Hash(kedge_client::random::bytes()?),
        })
    }

    /// What is committed to.
    fn subject_hash(&self) -> Hash {
        match &self.subject {
            Subject::Report(evidence) => keccak(&evidence_calldata(evidence)),
            Subject::Demand(batch) => inclusion_case_id(batch.header.hash()),
            Subject::Challenge(challenge) => {
                let action = &challenge.action;
                action_case_id(action.batch.header.hash(), action.leaf.hash())
            }
        }
    }

    /// What opens its case.
    async fn opening(&self, contracts: &Contracts) -> Result<Vec<u8>, Failure> {
        match &self.subject {
            Subject::Report(evidence) => {
                Ok(report_calldata(&evidence_calldata(evidence), self.salt))
            }
            Subject::Demand(batch) => {
                let key_index = key_index(contracts, batch).await?;
                Ok(demand_inclusion_calldata(batch, key_index, self.salt))
            }
            Subject::Challenge(challenge) => {
                let action = AnchoredAction {
                    anchored_batches: challenge.anchored_batches,
                    header: &challenge.action.batch.header,
                    leaf: &challenge.action.leaf,
                    leaf_path: &challenge.action.path,
                    batch_path: &challenge.batch_path,
                };
                Ok(challenge_action_calldata(&action, self.salt))
            }
        }
    }

    /// What is asked for, for people.
    fn asked(&self) -> String {
        match &self.subject {
            Subject::Report(evidence) => evidence.fault().to_string(),
            Subject::Demand(batch) => format!("that batch {} is anchored", batch.header.number),
            Subject::Challenge(challenge) => {
                format!("the request of action {}", challenge.action.leaf.sequence)
            }
        }
    }
}

pub(super) struct Filer {
    key: SigningKey,
    path: PathBuf,
    /// The first one is under way; all are stored.
    disputes: VecDeque<Dispute>,
    is_done: bool,
}

/// How far a dispute has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its commitment is too young.
    Waits,
    /// The bond took it.
    Taken,
    /// The bond refused it: somebody was faster, or it is too old.
    Refused,
}

impl Filer {
    /// Goes on with what was under way.
    pub(super) fn open(
        directory: &Path,
        key: SigningKey,
        contracts: &Contracts,
    ) -> Result<Self, Failure> {
        if contracts.bond.is_none() {
            return Err(Failure::usage(
                "--report: the anchor contract names no bond, so there is nothing to file with",
            ));
        }
        let path = directory.join("disputes.json");
        let disputes = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => VecDeque::new(),
            Err(error) => return Err(Failure::refused(format!("{}: {error}", path.display()))),
        };
        Ok(Self {
            key,
            path,
            disputes,
            is_done: false,
        })
    }

    /// True once the bond is gone.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes a finding; it is stored before anything is sent.
    pub(super) fn queue(&mut self, finding: &Finding) -> Result<(), Failure> {
        let dispute = Dispute::new(finding)?;
        let subject = dispute.subject_hash();
        if self
            .disputes
            .iter()
            .all(|known| known.subject_hash() != subject)
        {
            // A fault is proven at once, a demand waits for its deadline.
            if matches!(dispute.subject, Subject::Report(_)) {
                let reports = |known: &&Dispute| matches!(known.subject, Subject::Report(_));
                let place = self.disputes.iter().take_while(reports).count();
                self.disputes.insert(place, dispute);
            } else {
                self.disputes.push_back(dispute);
            }
            self.save()?;
        }
        Ok(())
    }

    fn save(&self) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(&self.disputes).map_err(Failure::refused)?;
        let beside = self.path.with_extension("new");
        let written = fs::File::create(&beside).and_then(|mut file| {
            std::io::Write::write_all(&mut file, &bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)
        });
        written.map_err(|error| Failure::refused(format!("{}: {error}", self.path.display())))
    }

    /// Goes on with the disputes. What has to wait is waited for, or, unless `waits`, left to the
    /// next call.
    pub(super) async fn file(&mut self, contracts: &Contracts, waits: bool) -> Result<(), Failure> {
        let Some((bond, terms)) = &contracts.bond else {
            return Ok(());
        };
        while let Some(dispute) = self.disputes.front().cloned() {
            let state = contracts.anchor.state().await.map_err(read_failure)?;
            if state == AnchorState::Frozen {
                self.is_done = true;
                return Ok(());
            }
            let is_over = if let Subject::Report(evidence) = &dispute.subject {
                let shown = self.show(contracts, bond, terms, &dispute, 0, waits);
                let shown = shown.await?;
                if shown == Shown::Taken {
                    let fault = evidence.fault();
                    print_line(format_args!("proven {fault}: the bond is taken"))?;
                    self.is_done = true;
                }
                shown != Shown::Waits
            } else {
                self.demand(contracts, bond, terms, &dispute, waits).await?
            };
            if !is_over {
                return Ok(());
            }
            self.disputes.pop_front();
            self.save()?;
        }
        Ok(())
    }

    /// Opens a case, and settles it once its deadline is over; true at its end.
    async fn demand(
        &self,
        contracts: &Contracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &Dispute,
        waits: bool,
    ) -> Result<bool, Failure> {
        let id = dispute.subject_hash();
        let asked = dispute.asked();
        let mut case = bond.case(id, At::Latest).await.map_err(read_failure)?;
        if case.state == CaseState::None {
            let deposit_wei = bond.case_deposit_wei().await.map_err(read_failure)?;
            let shown = self.show(contracts, bond, terms, dispute, deposit_wei, waits);
            match shown.await? {
                Shown::Waits => return Ok(false),
                Shown::Refused => return Ok(true),
                Shown::Taken => {}
            }
            print_line(format_args!("demanded {asked}"))?;
            case = bond.case(id, At::Latest).await.map_err(read_failure)?;
        }
        if case.state != CaseState::Open {
            print_line(format_args!("answered, or settled: {asked}"))?;
            return Ok(true);
        }
        if contracts.now_s().await? <= case.deadline_s {
            return Ok(false);
        }
        let settled = self.send(bond, settle_calldata(id), 0).await;
        settled.map_err(Failure::refused)?;
        print_line(format_args!(
            "no answer in time ({asked}): the bond is taken"
        ))?;
        Ok(true)
    }

    /// Commits, waits until the commitment is old enough, and shows.
    async fn show(
        &self,
        contracts: &Contracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &Dispute,
        value_wei: u128,
        waits: bool,
    ) -> Result<Shown, Failure> {
        let word = commitment(
            contracts.domain.chain_id,
            bond.address(),
            self.key.address(),
            dispute.subject_hash(),
            dispute.salt,
        );
        let mut since_s = bond.committed_at_s(word).await.map_err(read_failure)?;
        if since_s == 0 {
            let sent = self.send(bond, commit_calldata(word), 0).await;
            sent.map_err(Failure::refused)?;
            since_s = bond.committed_at_s(word).await.map_err(read_failure)?;
        }
        while contracts.now_s().await? < since_s + terms.reveal_delay_s {
            if !waits {
                return Ok(Shown::Waits);
            }
            tokio::time::sleep(POLL).await;
        }
        let opening = dispute.opening(contracts).await?;
        match self.send(bond, opening, value_wei).await {
            Ok(()) => Ok(Shown::Taken),
            Err(TransactError::Reverted(why)) => {
                print_line(format_args!("refused ({}): {why}", dispute.asked()))?;
                Ok(Shown::Refused)
            }
            Err(error) => Err(Failure::refused(error)),
        }
    }

    async fn send(
        &self,
        bond: &BondContract,
        data: Vec<u8>,
        value_wei: u128,
    ) -> Result<(), TransactError> {
        let fees = FeePolicy::default();
        let to = Some(bond.address());
        transact_paying(
            bond.rpc(),
            &self.key,
            to,
            data,
            value_wei,
            &fees,
            PATIENCE_MS,
        )
        .await
        .map(|_| ())
    }
}

/// The place in the contract's list of the key that signed a header.
async fn key_index(contracts: &Contracts, batch: &SignedBatch) -> Result<u32, Failure> {
    let digest = batch.header.digest(&contracts.domain.separator());
    let signer = batch.signature.recover(&digest).map_err(Failure::refused)?;
    let keys = contracts.anchor.key_terms().await.map_err(read_failure)?;
    let place = keys.iter().position(|term| term.key == signer);
    let place = place.and_then(|place| u32::try_from(place).ok());
    place.ok_or_else(|| Failure::refused("the header is signed by no key of the contract"))
}
