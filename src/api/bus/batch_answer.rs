//! JSON of the answer to a batch. Two similar lines follow for each action, so member names are copied: serde looks at
//! each byte of a name each time.

use kedge_protocol::receipt::{BatchReceipt, ReceiptAction};

use crate::api::bus::views::{BatchAnswer, BatchResult, MinimalAction};

/// Bytes of an answer besides its lines.
const FRAME_BYTES: usize = 2_048;
/// Bytes of an action's two lines.
const LINES_BYTES: usize = 288;
/// The text before the list of actions in a receipt whose list is empty.
const EMPTY_LIST: &str = "\"actions\":[";

impl BatchAnswer<'_> {
    /// The answer as JSON, identical to serde's output.
    ///
    /// # Errors
    /// If serde reports one.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = JsonBuffer(Vec::with_capacity(
            FRAME_BYTES + self.results.len() * LINES_BYTES,
        ));
        text.push("{\"results\":[");
        text.list(&self.results, |text, result| match result {
            BatchResult::Minimal(minimal) => {
                text.minimal(minimal);
                Ok(())
            }
            other => serde_json::to_writer(&mut text.0, other),
        })?;
        text.push("],\"receipt\":");
        match &self.receipt {
            None => text.push("null"),
            Some(receipt) => text.receipt(receipt)?,
        }
        text.push("}");
        Ok(text.0)
    }
}

/// JSON being written.
struct JsonBuffer(Vec<u8>);

impl JsonBuffer {
    fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, before: &str, number: impl itoa::Integer) {
        self.push(before);
        self.push(itoa::Buffer::new().format(number));
    }

    fn list<T>(
        &mut self,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Result<(), serde_json::Error>,
    ) -> Result<(), serde_json::Error> {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(",");
            }
            write(self, item)?;
        }
        Ok(())
    }

    fn minimal(&mut self, action: &MinimalAction) {
        let MinimalAction {
            sequence,
            leaf_index,
            object_version,
        } = *action;
        self.number("{\"sequence\":", sequence);
        self.number(",\"leaf_index\":", leaf_index);
        self.number(",\"object_version\":", object_version);
        self.push("}");
    }

    fn receipt_action(&mut self, action: &ReceiptAction) {
        let ReceiptAction {
            index,
            sequence,
            timestamp_ms,
            leaf_index,
            previous_integrity,
        } = *action;
        self.number("{\"index\":", index);
        self.number(",\"sequence\":", sequence);
        self.number(",\"timestamp_ms\":", timestamp_ms);
        self.number(",\"leaf_index\":", leaf_index);
        self.push(",\"previous_integrity\":\"");
        let mut hash = const_hex::Buffer::<32, true>::new();
        self.push(hash.format(&previous_integrity.0));
        self.push("\"}");
    }

    fn receipt(&mut self, receipt: &BatchReceipt) -> Result<(), serde_json::Error> {
        let around = serde_json::to_string(&BatchReceipt {
            actions: Vec::new(),
            proof: receipt.proof.clone(),
            ..*receipt
        })?;
        let Some((before, after)) = around.split_once(EMPTY_LIST) else {
            return serde_json::to_writer(&mut self.0, receipt);
        };
        self.push(before);
        self.push(EMPTY_LIST);
        self.list(&receipt.actions, |text, action| {
            text.receipt_action(action);
            Ok(())
        })?;
        self.push(after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use std::borrow::Cow;

    use kedge_protocol::batch::{BatchHeader, SignedBatch};
    use kedge_protocol::eip712::Domain;
    use kedge_protocol::receipt::RECEIPT_VERSION;
    use kedge_protocol::signature::Signature;
    use kedge_protocol::{Address, Hash};
    use serde_json::value::RawValue;

    use super::*;
    use crate::api::bus::views::RefusedAction;

    fn receipt(actions: u32) -> BatchReceipt {
        let line = |index: u32| ReceiptAction {
            index: index * 2,
            sequence: u64::MAX - u64::from(index),
            timestamp_ms: 1_800_000_000_123,
            leaf_index: index,
            previous_integrity: Hash([index as u8; 32]),
        };
        let header = BatchHeader {
            number: 7,
            first_sequence: 9,
            count: actions,
            previous_head: Hash([1; 32]),
            head: Hash([2; 32]),
            root: Hash([3; 32]),
            history: Hash([4; 32]),
            state: Hash::ZERO,
            sealed_at_ms: 1_800_000_000_124,
        };
        BatchReceipt {
            version: RECEIPT_VERSION,
            domain: Domain {
                chain_id: 31_337,
                verifying_contract: Address([9; 20]),
            },
            batch: SignedBatch {
                header,
                signature: Signature([5; 65]),
            },
            actions: (0..actions).map(line).collect(),
            proof: vec![Hash([6; 32]); 3],
        }
    }

    #[test]
    fn it_is_the_text_that_serde_writes() {
        let minimal = |sequence| {
            BatchResult::Minimal(MinimalAction {
                sequence,
                leaf_index: 3,
                object_version: 12,
            })
        };
        let refused = || {
            let error = RawValue::from_string(r#"{"code":"X","actions":[]}"#.to_owned()).unwrap();
            BatchResult::Refused(RefusedAction {
                error: Cow::Owned(error),
            })
        };
        for (results, receipt) in [
            (vec![], None),
            (vec![refused()], None),
            (vec![minimal(0)], Some(receipt(1))),
            (
                vec![minimal(1), refused(), minimal(u64::MAX)],
                Some(receipt(2)),
            ),
        ] {
            let answer = BatchAnswer { results, receipt };
            let text = String::from_utf8(answer.to_json().unwrap()).unwrap();
            assert_eq!(text, serde_json::to_string(&answer).unwrap());
        }
    }
}
