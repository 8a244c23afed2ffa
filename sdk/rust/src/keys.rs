//! Trusted sequencer keys: the pinned ones, or the first ones that the server states, and successors that the log
//! proves.

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::eip712::Domain;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{ReceiptError, check_header};
use kedge_protocol::{Address, KeyActivation, SequencerKeys, percent};
use serde::Deserialize;

use crate::client::{Client, send};
use crate::error::{ClientResult, VerificationError};
use crate::retry::RetryPolicy;
use crate::transport::{HttpCall, HttpTransport};

/// Status of a server without a key list; such a log has one key.
const NOT_FOUND: u16 = 404;

/// An entry of the server's key list.
#[derive(Deserialize)]
struct StatedKey {
    key: Address,
    from_batch: u64,
    sequence: Option<u64>,
    proof: Option<ProofFile>,
}

impl StatedKey {
    fn entry(&self) -> KeyActivation {
        KeyActivation {
            key: self.key,
            from_batch: self.from_batch,
        }
    }
}

#[derive(Deserialize)]
struct StatedKeyPage {
    items: Vec<StatedKey>,
    cursor: Option<String>,
}

/// Reads the server's key list; empty if the server has none.
async fn stated(transport: &HttpTransport, retry: &RetryPolicy) -> ClientResult<Vec<StatedKey>> {
    let mut keys = Vec::new();
    let mut path = "/sequencer-keys?limit=1000".to_owned();
    loop {
        let answer = send(transport, retry, &HttpCall::get(&path)).await?;
        if answer.status == NOT_FOUND {
            return Ok(keys);
        }
        let page: StatedKeyPage = answer.read("the sequencer's keys")?;
        let is_named = |key: &StatedKey| key.from_batch == 0 || key.sequence.is_some();
        keys.extend(page.items.into_iter().filter(is_named));
        match page.cursor {
            None => return Ok(keys),
            Some(cursor) => {
                path = format!(
                    "/sequencer-keys?limit=1000&cursor={}",
                    percent::encode(&cursor)
                );
            }
        }
    }
}

/// Adds the successors that the log proves to the trusted keys.
fn follow(trusted: &mut SequencerKeys, stated: &[StatedKey], domain: &Domain) -> ClientResult<()> {
    let known = trusted.entries().iter();
    if let Some((known, stated)) = known
        .zip(stated)
        .find(|(known, stated)| **known != stated.entry())
    {
        let (known, stated) = (known.key, stated.key);
        let text = format!("it states the sequencer key {stated} instead of {known}");
        return Err(VerificationError::OtherLog(text).into());
    }
    for key in stated.iter().skip(trusted.entries().len()) {
        let text = format!("its log does not show the sequencer key {}", key.key);
        let missing = || VerificationError::OtherLog(text);
        let proof = key.proof.as_ref().ok_or_else(missing)?;
        let named = trusted
            .follow(proof, domain)
            .map_err(VerificationError::Key)?;
        if named != key.entry() {
            let text = format!("its log names {named:?}, but it states {:?}", key.entry());
            return Err(VerificationError::OtherLog(text).into());
        }
    }
    Ok(())
}

/// The keys to trust at the start: the pinned keys and their successors, or, without a pin, the keys that the server
/// states. `reported` is the server's current signing key.
pub(crate) async fn first(
    transport: &HttpTransport,
    retry: &RetryPolicy,
    domain: &Domain,
    pinned: Option<&SequencerKeys>,
    reported: Address,
) -> ClientResult<SequencerKeys> {
    let stated = stated(transport, retry).await?;
    let Some(pinned) = pinned else {
        if stated.is_empty() {
            return Ok(reported.into());
        }
        let entries = stated.iter().map(StatedKey::entry).collect();
        let keys = SequencerKeys::new(entries);
        return keys.map_err(|error| VerificationError::OtherLog(error.to_string()).into());
    };
    let mut keys = pinned.clone();
    if stated.is_empty() && keys.last().key != reported {
        let text = format!(
            "it states the sequencer key {reported} instead of {}",
            keys.last().key
        );
        return Err(VerificationError::OtherLog(text).into());
    }
    follow(&mut keys, &stated, domain)?;
    Ok(keys)
}

impl Client {
    /// Trusted sequencer keys, each with the first batch that it signs.
    pub fn sequencer_keys(&self) -> SequencerKeys {
        let keys = self.keys().read();
        keys.clone()
    }

    /// The log's first sequencer key; [`Client::sequencer_keys`] has its successors.
    pub fn sequencer(&self) -> Address {
        self.sequencer_keys().first()
    }

    /// Fetches sequencer keys that are new in the log, and trusts those with a proof.
    pub async fn update_keys(&self) -> ClientResult<()> {
        let retry = &self.options().retry;
        let stated = stated(self.transport(), retry).await?;
        let mut keys = self.sequencer_keys();
        follow(&mut keys, &stated, &self.domain())?;
        let mut trusted = self.keys().write();
        if keys.extends(&trusted) {
            *trusted = keys;
        }
        Ok(())
    }

    /// Fetches the key of a header if no trusted key signed it. The check that follows fails if the log does not prove
    /// that key.
    pub(crate) async fn learn_key_of(&self, batch: Option<&SignedBatch>) {
        let Some(batch) = batch else { return };
        let checked = check_header(batch, &self.domain(), &self.sequencer_keys());
        if let Err(ReceiptError::OtherSequencer { .. }) = checked {
            let _checked_later = self.update_keys().await;
        }
    }
}
