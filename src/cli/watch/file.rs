//! Files disputes: the commitment, the wait, the evidence or the demand, and the end of the case. What is filed is
//! stored, with its salt, before the commitment is sent, so that a restart continues with the same salt. The bond is
//! asked first how far a case has come: each exists once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_chain::contract::bond::{
    BondCase, BondContract, BondTerms, CaseState, commit_calldata, commitment, settle_calldata,
};
use kedge_chain::contract::{AnchorState, TransactError, transact_paying};
use kedge_chain::rpc::At;
use kedge_chain::transaction::FeePolicy;
use kedge_client::watchtower::Finding;
use kedge_protocol::Hash;
use kedge_protocol::signature::SigningKey;

use super::super::output::{Failure, print_line};
use super::super::trust::read_failure;
use super::chain::Contracts;
use super::dispute::{Dispute, Subject};
use super::memory::{read_json, write_json};

/// How long a transaction may take to be mined, in milliseconds.
const PATIENCE_MS: u64 = 10 * 60 * 1000;
/// How often to check the chain's time while a commitment ages.
const POLL: Duration = Duration::from_millis(500);

pub(super) struct Filer {
    key: SigningKey,
    /// Limit of all deposits together, in wei; the deposit of an answered case is lost.
    deposits_wei: u128,
    path: PathBuf,
    /// Reports before demands; all are stored.
    disputes: Vec<Dispute>,
    /// Cases for which a missing deposit was already reported.
    reported: BTreeSet<Hash>,
    is_done: bool,
}

/// The progress of a dispute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Its commitment is too young.
    Ages,
    /// It waits for the operator, or for a deposit.
    Waits,
    /// The bond accepted the report.
    Shown,
    /// The bond refused it.
    Refused,
    /// The case has ended.
    Over,
}

impl Filer {
    /// Continues with the stored disputes.
    pub(super) fn open(
        directory: &Path,
        key: SigningKey,
        deposits_wei: u128,
        contracts: &Contracts,
    ) -> Result<Self, Failure> {
        if contracts.bond.is_none() {
            return Err(Failure::usage(
                "--report: the anchor contract names no bond, so there is nothing to file with",
            ));
        }
        let path = directory.join("disputes.json");
        Ok(Self {
            key,
            deposits_wei,
            disputes: read_json(&path)?.unwrap_or_default(),
            path,
            reported: BTreeSet::new(),
            is_done: false,
        })
    }

    /// True once the bond is gone.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Accepts a finding; it is stored before anything is sent.
    pub(super) fn queue(&mut self, finding: &Finding) -> Result<(), Failure> {
        let dispute = Dispute::new(finding)?;
        let subject = dispute.subject_hash();
        if self
            .disputes
            .iter()
            .any(|known| known.subject_hash() == subject)
        {
            return Ok(());
        }
        // A fault is proven at once; a demand waits for its deadline.
        let reports = |known: &&Dispute| known.case().is_none();
        let place = match dispute.case() {
            None => self.disputes.iter().take_while(reports).count(),
            Some(_) => self.disputes.len(),
        };
        self.disputes.insert(place, dispute);
        self.save()
    }

    fn save(&self) -> Result<(), Failure> {
        write_json(&self.path, &self.disputes)
    }

    /// Advances the disputes. Commitments that have to age are waited for or, unless `waits`, left to the next call.
    /// Returns the batches whose leaves the operator published in an answer.
    pub(super) async fn file(
        &mut self,
        contracts: &Contracts,
        waits: bool,
    ) -> Result<Vec<u64>, Failure> {
        let Some((bond, terms)) = &contracts.bond else {
            return Ok(Vec::new());
        };
        let mut published = Vec::new();
        loop {
            let mut is_aging = false;
            let mut place = 0;
            while place < self.disputes.len() {
                let dispute = self.disputes[place].clone();
                if self.has_ended(contracts, bond).await? {
                    return Ok(published);
                }
                let progress = if dispute.is_over {
                    Progress::Waits
                } else {
                    self.advance(contracts, bond, terms, &dispute).await?
                };
                match progress {
                    Progress::Ages => is_aging = true,
                    Progress::Waits => {}
                    Progress::Shown | Progress::Refused => {
                        self.disputes.remove(place);
                        self.save()?;
                        continue;
                    }
                    Progress::Over => {
                        self.disputes[place].is_over = true;
                        self.save()?;
                        published.extend(dispute.published());
                    }
                }
                place += 1;
            }
            if !(waits && is_aging) {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        self.has_ended(contracts, bond).await?;
        Ok(published)
    }

    /// The batches whose leaves the operator published in an answer.
    pub(super) fn published(&self) -> impl Iterator<Item = u64> {
        let over = self.disputes.iter().filter(|dispute| dispute.is_over);
        over.filter_map(Dispute::published)
    }

    /// Whether the bond is gone; if so, recovers the deposits that it returns.
    async fn has_ended(
        &mut self,
        contracts: &Contracts,
        bond: &BondContract,
    ) -> Result<bool, Failure> {
        let state = contracts.anchor.state().await.map_err(read_failure)?;
        if state == AnchorState::Frozen && !self.is_done {
            self.take_back(bond).await?;
            self.is_done = true;
        }
        Ok(self.is_done)
    }

    /// Once the bond is gone, settling our own case returns its deposit.
    async fn take_back(&self, bond: &BondContract) -> Result<(), Failure> {
        for id in self.disputes.iter().filter_map(Dispute::case) {
            let case = bond.case(id, At::Latest).await.map_err(read_failure)?;
            if case.state == CaseState::Open && case.opener == self.key.address() {
                self.settle(bond, id).await?;
            }
        }
        Ok(())
    }

    async fn advance(
        &mut self,
        contracts: &Contracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &Dispute,
    ) -> Result<Progress, Failure> {
        let Some(id) = dispute.case() else {
            let shown = self.show(contracts, bond, terms, dispute, 0).await?;
            if let (Subject::Report(evidence), Progress::Shown) = (&dispute.subject, shown) {
                let fault = evidence.fault();
                print_line(format_args!("proven {fault}: the bond is lost"))?;
            }
            return Ok(shown);
        };
        let case = bond.case(id, At::Latest).await.map_err(read_failure)?;
        if case.state != CaseState::None {
            return self.follow(contracts, bond, dispute, id, &case).await;
        }
        let deposit_wei = bond.case_deposit_wei().await.map_err(read_failure)?;
        let open_cases = bond.open_cases().await.map_err(read_failure)?;
        if open_cases >= terms.open_cases_max || !self.may_spend(bond, id, deposit_wei).await? {
            return Ok(Progress::Waits);
        }
        let shown = self.show(contracts, bond, terms, dispute, deposit_wei);
        let shown = shown.await?;
        if shown == Progress::Ages {
            return Ok(shown);
        }
        // Somebody else may have opened the same case a moment before.
        let case = bond.case(id, At::Latest).await.map_err(read_failure)?;
        if case.state == CaseState::None {
            return Ok(Progress::Refused);
        }
        print_line(format_args!("demanded {}", dispute.asked()))?;
        self.follow(contracts, bond, dispute, id, &case).await
    }

    /// A case that the bond holds: it is settled once its deadline has passed.
    async fn follow(
        &self,
        contracts: &Contracts,
        bond: &BondContract,
        dispute: &Dispute,
        id: Hash,
        case: &BondCase,
    ) -> Result<Progress, Failure> {
        let asked = dispute.asked();
        if case.state != CaseState::Open {
            print_line(format_args!("answered or settled: {asked}"))?;
            return Ok(Progress::Over);
        }
        if contracts.now_s().await? <= case.deadline_s {
            return Ok(Progress::Waits);
        }
        if self.settle(bond, id).await? {
            print_line(format_args!(
                "no answer in time ({asked}): the bond is lost"
            ))?;
        }
        Ok(Progress::Over)
    }

    /// False if somebody else was faster.
    async fn settle(&self, bond: &BondContract, id: Hash) -> Result<bool, Failure> {
        match self.send(bond, settle_calldata(id), 0).await {
            Ok(()) => Ok(true),
            Err(TransactError::Reverted(why)) => {
                print_line(format_args!("not settled: {why}"))?;
                Ok(false)
            }
            Err(error) => Err(Failure::refused(error)),
        }
    }

    /// Whether a further deposit is allowed in addition to those of open and answered cases.
    async fn may_spend(
        &mut self,
        bond: &BondContract,
        case: Hash,
        deposit_wei: u128,
    ) -> Result<bool, Failure> {
        let mut spent_wei: u128 = 0;
        for id in self.disputes.iter().filter_map(Dispute::case) {
            let known = bond.case(id, At::Latest).await.map_err(read_failure)?;
            let is_out = matches!(known.state, CaseState::Open | CaseState::Answered);
            if is_out && known.opener == self.key.address() {
                spent_wei = spent_wei.saturating_add(known.deposit_wei);
            }
        }
        if spent_wei.saturating_add(deposit_wei) <= self.deposits_wei {
            return Ok(true);
        }
        if self.reported.insert(case) {
            let allowed_wei = self.deposits_wei;
            print_line(format_args!(
                "not demanded: it needs a deposit of {deposit_wei} wei, and {spent_wei} of the \
                 {allowed_wei} wei that --deposits-wei allows are spent"
            ))?;
        }
        Ok(false)
    }

    /// Commits and, once the commitment is old enough, reveals.
    async fn show(
        &self,
        contracts: &Contracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &Dispute,
        value_wei: u128,
    ) -> Result<Progress, Failure> {
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
        if contracts.now_s().await? < since_s + terms.reveal_delay_s {
            return Ok(Progress::Ages);
        }
        let opening = dispute.opening(contracts).await?;
        match self.send(bond, opening, value_wei).await {
            Ok(()) => Ok(Progress::Shown),
            Err(TransactError::Reverted(why)) => {
                print_line(format_args!("refused ({}): {why}", dispute.asked()))?;
                Ok(Progress::Refused)
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
