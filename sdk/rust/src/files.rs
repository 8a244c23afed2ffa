//! Files: uploads signed by digest, downloads verified against it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::{Id, Prefix};

use crate::account::{Account, AuthorizedRequest};
use crate::error::{ClientResult, VerificationError};
use crate::page::{ListQuery, PageSource, Pages};
use crate::sign::SignableAction;
use crate::types::{ChangedResource, StoredFile};

impl Account {
    /// Uploads a file from memory.
    pub async fn upload(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> ClientResult<ChangedResource<StoredFile>> {
        let sha256 = sha256(bytes);
        // The boundary is computed from all bytes, so they cannot contain it.
        let boundary = URL_SAFE_NO_PAD.encode(sha256.0);
        let part = format!("\r\n--{boundary}\r\nContent-Disposition: form-data; name=");
        let mut body = part.trim_start().as_bytes().to_vec();
        body.extend_from_slice(b"\"name\"\r\n\r\n");
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(part.as_bytes());
        body.extend_from_slice(b"\"file\"\r\n\r\n");
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let request = AuthorizedRequest {
            headers: vec![("content-type", content_type)],
            ..AuthorizedRequest::new(Method::POST, "/files", Bytes::from(body))
        };
        let payload = digest_text(&sha256);
        let action = SignableAction {
            kind: &Kind::FileCreate,
            target: name,
            payload: payload.as_bytes(),
        };
        let (made, content): (ChangedResource<StoredFile>, _) = self
            .signed_alone(&request, &action, "uploading a file")
            .await?;
        self.check_made(Prefix::File, &content, made.resource.id)?;
        Ok(made)
    }

    /// Lists the organization's files.
    pub fn files(&self, query: &ListQuery) -> Pages<StoredFile> {
        Pages::new(
            PageSource::Account(self.clone()),
            "/files".to_owned(),
            query,
        )
    }

    /// Reads a file's description.
    pub async fn file(&self, id: Id) -> ClientResult<StoredFile> {
        self.get(&format!("/files/{id}"), "a file").await
    }

    /// Downloads a file, and verifies it against its digest.
    pub async fn download(&self, file: &StoredFile) -> ClientResult<Bytes> {
        let path = format!("/files/{}/content", file.id);
        let answer = self.fetch(&path).await?;
        if !answer.is_success() {
            return Err(answer.refusal());
        }
        if sha256(&answer.body) != file.sha256 {
            let why = "the received bytes do not match the file's digest";
            return Err(VerificationError::Inconsistent(why).into());
        }
        Ok(answer.body)
    }
}
