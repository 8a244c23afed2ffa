//! Filing of disputes: the commitment, the wait, the evidence or demand, and the end of the case. A dispute is stored
//! with its salt before the commitment is sent, so a restart continues with the same salt. Each case exists once, so
//! its state is read from the bond first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_chain::contract::bond::{
    BondCase, BondContract, BondTerms, CaseState, commit_calldata, commitment, settle_calldata,
};
use kedge_chain::contract::{AnchorContractState, TransactError, transact_paying};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Hash;
use kedge_protocol::signature::SigningKey;

use crate::tower::Finding;

use crate::chain::WatchedContracts;
use crate::dispute::FiledDispute;
use crate::memory::{read_json, write_json};
use crate::report::{WatchError, WatchtowerReport};

/// How long to wait for a transaction, in milliseconds.
const PATIENCE_MS: u64 = 10 * 60 * 1000;
/// Interval of checks of the chain's time while a commitment ages.
const POLL: Duration = Duration::from_millis(500);

pub(crate) struct Filer {
    report: WatchtowerReport,
    key: SigningKey,
    /// Limit of all deposits together; the deposit of an answered case is lost.
    deposits_wei: u128,
    path: PathBuf,
    /// Reports before demands; all are on disk.
    disputes: Vec<FiledDispute>,
    /// Cases whose missing deposit was already reported.
    reported: BTreeSet<Hash>,
    is_done: bool,
}

/// Result of a pass over all disputes.
#[derive(Default)]
pub(crate) struct FilingSummary {
    /// Batches whose leaves the operator published in an answer.
    pub(crate) published: Vec<u64>,
    /// Error of a dispute that made no progress.
    pub(crate) failure: Option<WatchError>,
}

/// State of a dispute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FilingProgress {
    /// The commitment is too young.
    Ages,
    /// Waits for the operator, or for funds.
    Waits,
    /// The bond accepted the report.
    Shown,
    /// The bond rejected the report.
    Refused,
    Over,
}

impl Filer {
    /// Loads the stored disputes.
    pub(crate) fn open(
        directory: &Path,
        key: SigningKey,
        deposits_wei: u128,
        contracts: &WatchedContracts,
        report: WatchtowerReport,
    ) -> Result<Self, WatchError> {
        if contracts.bond.is_none() {
            return Err(WatchError::usage(
                "--report: the anchor contract names no bond, so there is nothing to file with",
            ));
        }
        let path = directory.join("disputes.json");
        Ok(Self {
            report,
            key,
            deposits_wei,
            disputes: read_json(&path)?.unwrap_or_default(),
            path,
            reported: BTreeSet::new(),
            is_done: false,
        })
    }

    /// Whether the bond is gone.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Stores a finding as a dispute, before anything is sent.
    pub(crate) fn queue(&mut self, finding: &Finding) -> Result<(), WatchError> {
        let dispute = FiledDispute::new(finding)?;
        let subject = dispute.subject_hash();
        if self
            .disputes
            .iter()
            .any(|known| known.subject_hash() == subject)
        {
            return Ok(());
        }
        // A fault is provable immediately; a demand waits for its deadline.
        let reports = |known: &&FiledDispute| known.case().is_none();
        let place = match dispute.case() {
            None => self.disputes.iter().take_while(reports).count(),
            Some(_) => self.disputes.len(),
        };
        self.disputes.insert(place, dispute);
        self.save()
    }

    fn save(&self) -> Result<(), WatchError> {
        write_json(&self.path, &self.disputes)
    }

    /// Advances all disputes independently. With `waits`, waits for commitments to age; otherwise leaves them to the
    /// next call.
    pub(crate) async fn file(
        &mut self,
        contracts: &WatchedContracts,
        waits: bool,
    ) -> Result<FilingSummary, WatchError> {
        let mut filed = FilingSummary::default();
        let Some((bond, terms)) = &contracts.bond else {
            return Ok(filed);
        };
        loop {
            let mut is_aging = false;
            let mut place = 0;
            filed.failure = None;
            while place < self.disputes.len() {
                let dispute = self.disputes[place].clone();
                if self.has_ended(contracts, bond).await? {
                    return Ok(filed);
                }
                let advanced = if dispute.is_over {
                    Ok(FilingProgress::Waits)
                } else {
                    self.advance(contracts, bond, terms, &dispute).await
                };
                match advanced {
                    // Retried in the next round; other disputes do not wait for it.
                    Err(failure) => {
                        (self.report.warning)(&format!("{}: {failure}", dispute.asked()));
                        filed.failure = Some(failure);
                    }
                    Ok(FilingProgress::Ages) => is_aging = true,
                    Ok(FilingProgress::Waits) => {}
                    Ok(FilingProgress::Shown | FilingProgress::Refused) => {
                        self.disputes.remove(place);
                        self.save()?;
                        continue;
                    }
                    Ok(FilingProgress::Over) => {
                        self.disputes[place].is_over = true;
                        self.save()?;
                        filed.published.extend(dispute.published());
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
        Ok(filed)
    }

    /// Batches whose leaves the operator published in an answer.
    pub(crate) fn published(&self) -> impl Iterator<Item = u64> {
        let over = self.disputes.iter().filter(|dispute| dispute.is_over);
        over.filter_map(FiledDispute::published)
    }

    /// Whether the bond is gone; recovers the deposits that it returns.
    async fn has_ended(
        &mut self,
        contracts: &WatchedContracts,
        bond: &BondContract,
    ) -> Result<bool, WatchError> {
        let state = contracts
            .anchor
            .state()
            .await
            .map_err(WatchError::contract)?;
        if state == AnchorContractState::Frozen && !self.is_done {
            self.take_back(bond).await?;
            self.is_done = true;
        }
        Ok(self.is_done)
    }

    /// Settles our cases after the bond is gone, which returns their deposits.
    async fn take_back(&self, bond: &BondContract) -> Result<(), WatchError> {
        let mut failed = None;
        for id in self.disputes.iter().filter_map(FiledDispute::case) {
            if let Err(failure) = self.take_back_one(bond, id).await {
                failed = Some(failure);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn take_back_one(&self, bond: &BondContract, id: Hash) -> Result<(), WatchError> {
        let case = bond.case(id, BlockTag::Latest).await;
        let case = case.map_err(WatchError::contract)?;
        if case.state == CaseState::Open && case.opener == self.key.address() {
            self.settle(bond, id).await?;
        }
        Ok(())
    }

    async fn advance(
        &mut self,
        contracts: &WatchedContracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &FiledDispute,
    ) -> Result<FilingProgress, WatchError> {
        let Some(id) = dispute.case() else {
            let shown = self.show(contracts, bond, terms, dispute, 0).await?;
            if let (Some(fault), FilingProgress::Shown) = (dispute.fault(), shown) {
                self.report
                    .line(format_args!("proven {fault}: the bond is lost"))?;
            }
            return Ok(shown);
        };
        let case = bond
            .case(id, BlockTag::Latest)
            .await
            .map_err(WatchError::contract)?;
        if case.state != CaseState::None {
            return self.follow(contracts, bond, dispute, id, &case).await;
        }
        let deposit_wei = bond
            .case_deposit_wei()
            .await
            .map_err(WatchError::contract)?;
        let open_cases = bond.open_cases().await.map_err(WatchError::contract)?;
        if open_cases >= terms.open_cases_max || !self.may_spend(bond, id, deposit_wei).await? {
            return Ok(FilingProgress::Waits);
        }
        let shown = self.show(contracts, bond, terms, dispute, deposit_wei);
        let shown = shown.await?;
        if shown == FilingProgress::Ages {
            return Ok(shown);
        }
        // Another account may have opened the same case meanwhile.
        let case = bond
            .case(id, BlockTag::Latest)
            .await
            .map_err(WatchError::contract)?;
        if case.state == CaseState::None {
            return Ok(FilingProgress::Refused);
        }
        self.report
            .line(format_args!("demanded {}", dispute.asked()))?;
        self.follow(contracts, bond, dispute, id, &case).await
    }

    /// Follows a case of the bond, and settles it after its deadline.
    async fn follow(
        &self,
        contracts: &WatchedContracts,
        bond: &BondContract,
        dispute: &FiledDispute,
        id: Hash,
        case: &BondCase,
    ) -> Result<FilingProgress, WatchError> {
        let asked = dispute.asked();
        if case.state != CaseState::Open {
            self.report
                .line(format_args!("answered or settled: {asked}"))?;
            return Ok(FilingProgress::Over);
        }
        if contracts.now_s().await? <= case.deadline_s {
            return Ok(FilingProgress::Waits);
        }
        if self.settle(bond, id).await? {
            self.report.line(format_args!(
                "no answer in time ({asked}): the bond is lost"
            ))?;
        }
        Ok(FilingProgress::Over)
    }

    /// Settles a case; false if another account was faster.
    async fn settle(&self, bond: &BondContract, id: Hash) -> Result<bool, WatchError> {
        match self.send(bond, settle_calldata(id), 0).await {
            Ok(()) => Ok(true),
            Err(TransactError::Reverted(why)) => {
                self.report.line(format_args!("not settled: {why}"))?;
                Ok(false)
            }
            Err(error) => Err(WatchError::failed(error)),
        }
    }

    /// Whether the limit allows another deposit beyond those of open and answered cases.
    async fn may_spend(
        &mut self,
        bond: &BondContract,
        case: Hash,
        deposit_wei: u128,
    ) -> Result<bool, WatchError> {
        let mut spent_wei: u128 = 0;
        for id in self.disputes.iter().filter_map(FiledDispute::case) {
            let known = bond
                .case(id, BlockTag::Latest)
                .await
                .map_err(WatchError::contract)?;
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
            self.report.line(format_args!(
                "not demanded: it needs a deposit of {deposit_wei} wei, and {spent_wei} of the \
                 {allowed_wei} wei that --deposits-wei allows are spent"
            ))?;
        }
        Ok(false)
    }

    /// Commits and, once the commitment is old enough, reveals.
    async fn show(
        &self,
        contracts: &WatchedContracts,
        bond: &BondContract,
        terms: &BondTerms,
        dispute: &FiledDispute,
        value_wei: u128,
    ) -> Result<FilingProgress, WatchError> {
        let word = commitment(
            contracts.domain.chain_id,
            bond.address(),
            self.key.address(),
            dispute.subject_hash(),
            dispute.salt,
        );
        let mut since_s = bond
            .committed_at_s(word)
            .await
            .map_err(WatchError::contract)?;
        if since_s == 0 {
            let sent = self.send(bond, commit_calldata(word), 0).await;
            sent.map_err(WatchError::failed)?;
            since_s = bond
                .committed_at_s(word)
                .await
                .map_err(WatchError::contract)?;
        }
        if contracts.now_s().await? < since_s + terms.reveal_delay_s {
            return Ok(FilingProgress::Ages);
        }
        let opening = dispute.opening(contracts).await?;
        match self.send(bond, opening, value_wei).await {
            Ok(()) => Ok(FilingProgress::Shown),
            Err(TransactError::Reverted(why)) => {
                self.report
                    .line(format_args!("refused ({}): {why}", dispute.asked()))?;
                Ok(FilingProgress::Refused)
            }
            Err(error) => Err(WatchError::failed(error)),
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
