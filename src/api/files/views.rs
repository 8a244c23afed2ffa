//! Answers that show files.

use kedge_http::scalars::{HashText, IdText, Time};
use kedge_protocol::resource::File;
use schemars::JsonSchema;
use serde::Serialize;

/// A file's description.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileView {
    /// Its id.
    pub id: IdText,
    /// Its organization.
    pub organization_id: IdText,
    /// The wallet that uploaded it.
    pub wallet_id: IdText,
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
    pub created_at: Time,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
}

impl From<File> for FileView {
    fn from(file: File) -> Self {
        Self {
            id: IdText(file.id),
            organization_id: IdText(file.organization_id),
            wallet_id: IdText(file.wallet_id),
            name: file.name,
            sha256: HashText(file.sha256),
            size_bytes: file.size_bytes,
            media_type: file.media_type,
            content_path: format!("/files/{}/content", file.id),
            created_at: Time(file.trace.created_at_ms),
            version: file.trace.version,
            integrity_hash: HashText(file.trace.integrity),
            sequence: file.trace.sequence,
        }
    }
}
