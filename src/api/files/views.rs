//! Answers that show files.

use kedge_http::scalars::{HashText, ResourceIdText, TimeText};
use kedge_protocol::resource::FileRecord;
use schemars::JsonSchema;
use serde::Serialize;

/// A file's description.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileView {
    /// Its id.
    pub id: ResourceIdText,
    /// Its organization.
    pub organization_id: ResourceIdText,
    /// The wallet that uploaded it.
    pub wallet_id: ResourceIdText,
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: HashText,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The media type detected from the bytes.
    pub media_type: String,
    /// The path of the bytes on this service.
    pub content_path: String,
    /// When it was uploaded.
    pub created_at: TimeText,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
}

impl From<FileRecord> for FileView {
    fn from(file: FileRecord) -> Self {
        Self {
            id: ResourceIdText(file.id),
            organization_id: ResourceIdText(file.organization_id),
            wallet_id: ResourceIdText(file.wallet_id),
            name: file.name,
            sha256: HashText(file.sha256),
            size_bytes: file.size_bytes,
            media_type: file.media_type,
            content_path: format!("/files/{}/content", file.id),
            created_at: TimeText(file.trace.created_at_ms),
            version: file.trace.version,
            integrity_hash: HashText(file.trace.integrity),
            sequence: file.trace.sequence,
        }
    }
}
