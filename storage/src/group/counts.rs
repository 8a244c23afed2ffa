//! Counts of a template's objects, and signers' spent nonces. The table `nonces` keeps a spent nonce's sequence next to
//! its signer's window, in a slot that a later nonce reuses. So a retry with a spent nonce can be answered with the
//! earlier outcome.

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::{Address, Id};

use super::WriteGroup;
use crate::tables::{Table, burned_key, spent_key, spent_row};

impl WriteGroup {
    /// Sets how many objects of a template were minted.
    pub fn put_minted(&mut self, template: Id, count: u64) {
        self.put(Table::Counters, &template.bytes, &count.to_be_bytes());
    }

    /// Sets how many of them were burned.
    pub fn put_burned(&mut self, template: Id, count: u64) {
        self.put(
            Table::Counters,
            &burned_key(&template),
            &count.to_be_bytes(),
        );
    }

    /// Sets the nonces that a signer has spent.
    pub fn put_nonces(&mut self, signer: Address, nonces: &NonceWindow) {
        self.put(Table::Nonces, &signer.0, &nonces.to_bytes());
    }

    /// Sets the sequence at which a signer's nonce was spent. It is kept as long as the nonce's window can reach it;
    /// then a later nonce reuses its slot.
    pub fn put_spent(&mut self, signer: Address, nonce: u64, sequence: u64) {
        let place = spent_row(nonce, sequence);
        self.put(Table::Nonces, &spent_key(&signer, nonce), &place);
    }
}
