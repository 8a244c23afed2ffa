//! Rows of the sequencer keys that the log names, by their first batch.

use kedge_protocol::KeyActivation;
use kedge_protocol::resource::SequencerKey;

use super::row::stored;

// The row's key holds the batch.
stored! { KeyActivation (not from_batch = 0) { key } }
stored! { SequencerKey { id: Action, entry, trace } }
