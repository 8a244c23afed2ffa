//! Files in the log: digest and description. Their bytes are stored elsewhere.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::FILE_NAME_CHARS_MAX;
use kedge_protocol::payload::digest_text;
use kedge_protocol::resource::{FileRecord, ResourceTrace};
use kedge_protocol::{Hash, Id, Prefix};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::rule::{RuleContext, RuleDecision};
use crate::text;
use crate::world::{ActionInput, Caller, World};

/// Decides an action on a file.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (_, caller, input) = context.parts();
    match input.kind {
        Kind::FileCreate => create(caller, input).map(RuleDecision::one),
        other => Err(Refusal::wrong_way(other)),
    }
}

/// Disclosed members of a file's record, in addition to the signed digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileMetadata {
    /// SHA-256 of the bytes.
    pub sha256: Hash,
    pub size_bytes: u64,
    /// Media type detected from the bytes.
    pub media_type: String,
}

/// Records a file of the caller's organization; its name is the action's target.
pub fn create(caller: &Caller, input: &ActionInput<'_>) -> Result<FileRecord, Refusal> {
    let stored: FileMetadata = text::read(input.payload)?;
    if digest_text(&stored.sha256) != input.signed {
        return Err(Refusal::field(
            "",
            "range",
            "the signed payload must be the digest of the file's bytes",
        ));
    }
    let name = input.target;
    let chars = name.chars().count();
    if name.trim().is_empty() || chars > FILE_NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let message = format!(
            "must have 1 to {FILE_NAME_CHARS_MAX} characters, none of them a control character"
        );
        return Err(Refusal::field("/name", "range", message));
    }
    Ok(FileRecord {
        id: Id::made_by(Prefix::File, input.content, 0),
        organization_id: caller.organization_id,
        wallet_id: caller.wallet_id,
        name: name.to_owned(),
        sha256: stored.sha256,
        size_bytes: stored.size_bytes,
        media_type: stored.media_type,
        trace: ResourceTrace::NEW.next(input.content),
    })
}
