//! Verification of answers to signed requests.

use kedge_protocol::eip712::Domain;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::{Hash, Id, Prefix};

use crate::account::Account;
use crate::error::{VerificationError, VerificationResult};

impl Account {
    fn verifies(&self) -> bool {
        self.client().options().verify_receipts
    }

    fn check_domain(&self, reported: &Domain) -> VerificationResult {
        if *reported == self.client().domain() {
            return Ok(());
        }
        let text = format!("the receipt belongs to {reported:?}");
        Err(VerificationError::OtherLog(text))
    }

    /// Verifies the answer to a request of one action: a valid receipt for this action.
    pub(crate) fn check_single(
        &self,
        content: &Hash,
        action_id: Id,
        receipt: Option<&Receipt>,
    ) -> VerificationResult {
        if !self.verifies() {
            return Ok(());
        }
        let receipt = receipt.ok_or(VerificationError::NoReceipt { index: 0 })?;
        let client = self.client();
        self.check_domain(&receipt.domain)?;
        receipt.verify(&client.domain(), &client.sequencer_keys())?;
        if receipt.leaf.content != *content {
            return Err(VerificationError::OtherAction {
                expected: *content,
                found: receipt.leaf.content,
            });
        }
        client.see_batch(&receipt.batch)?;
        same_id(Id::of_hash(Prefix::Action, content), action_id)
    }

    /// Verifies that the id of a created resource follows from the action.
    pub(crate) fn check_made(
        &self,
        prefix: Prefix,
        content: &Hash,
        found: Id,
    ) -> VerificationResult {
        if !self.verifies() {
            return Ok(());
        }
        same_id(Id::made_by(prefix, content, 0), found)
    }

    /// Verifies the answer to a request of many actions. `done` holds the indices and sequences of the completed
    /// actions, `contents` the content hashes of all actions.
    pub(crate) fn check_many(
        &self,
        contents: &[Hash],
        done: &[(usize, u64)],
        receipt: Option<&BatchReceipt>,
    ) -> VerificationResult {
        if !self.verifies() {
            return Ok(());
        }
        let Some(receipt) = receipt else {
            return match done.first() {
                None => Ok(()),
                Some(&(index, _)) => Err(VerificationError::NoReceipt { index }),
            };
        };
        let shown = receipt
            .actions
            .iter()
            .map(|action| (action.index as usize, action.sequence));
        if !shown.eq(done.iter().copied()) {
            return Err(VerificationError::OtherActions);
        }
        let of_done: Vec<Hash> = done.iter().map(|&(index, _)| contents[index]).collect();
        let client = self.client();
        self.check_domain(&receipt.domain)?;
        receipt.verify(&client.domain(), &client.sequencer_keys(), &of_done)?;
        client.see_batch(&receipt.batch)
    }

    /// Verifies a proof file, and that it is about the requested action.
    pub(crate) fn check_proof(&self, asked: Id, proof: &ProofFile) -> VerificationResult {
        let client = self.client();
        proof.verify(&client.domain(), &client.sequencer_keys())?;
        client.see_batch(&proof.batch)?;
        let found = Id::of_hash(Prefix::Action, &proof.leaf.content);
        if found == asked {
            Ok(())
        } else {
            Err(VerificationError::OtherProof {
                expected: asked,
                found,
            })
        }
    }
}

fn same_id(expected: Id, found: Id) -> VerificationResult {
    if expected == found {
        Ok(())
    } else {
        Err(VerificationError::OtherId { expected, found })
    }
}
