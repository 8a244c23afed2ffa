//! The rows of what travels as bytes or lines: files and the export.

use hyper::Method;

use super::Auth::Public;
use super::LimitClass::FileUploads;
use super::table::{handler, row};
use super::{Endpoint, Signs, schema};
use crate::listing::LIST;
use crate::routes::{export, files};
use crate::views::Page;
use crate::views::resources::{Changed, FileView};

/// The media type of bytes of any kind.
const BYTES: &str = "application/octet-stream";

/// An upload: a multipart body.
#[derive(schemars::JsonSchema)]
#[expect(
    dead_code,
    reason = "the body is read by the receiver; this describes it"
)]
struct UploadBody {
    /// The bytes. The signed payload is their digest, `sha-256=:<base64>:`.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: String,
    /// The file's name, which is the signed target; the filename of the part `file` if absent.
    name: Option<String>,
}

/// A content's bytes.
#[derive(schemars::JsonSchema)]
#[schemars(extend("contentMediaType" = "application/octet-stream"))]
#[expect(dead_code, reason = "describes an answer that is no JSON")]
struct Content(String);

/// Lines of JSON: `log`, then for each batch `batch` and the caller's `request`s, then `checkpoint`.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "describes an answer that is no single JSON value")]
struct Lines(String);

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            signs: Signs::File,
            limit: FileUploads,
            request: Some(schema::<UploadBody>),
            status: 201,
            response: schema::<Changed<FileView>>,
            handler: handler!(files::create),
            ..row(Method::POST, "/files", "Files", "Upload a file")
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<FileView>>,
            handler: handler!(files::list),
            ..row(
                Method::GET,
                "/files",
                "Files",
                "List the organization's files",
            )
        },
        Endpoint {
            response: schema::<FileView>,
            handler: handler!(files::get),
            ..row(
                Method::GET,
                "/files/{id}",
                "Files",
                "Read a file's description",
            )
        },
        Endpoint {
            media_type: BYTES,
            response: schema::<Content>,
            handler: handler!(files::content),
            ..row(
                Method::GET,
                "/files/{id}/content",
                "Files",
                "Download a file; takes one Range",
            )
        },
        Endpoint {
            auth: Public,
            query: &[export::FROM],
            media_type: export::LINES,
            response: schema::<Lines>,
            handler: handler!(export::export),
            ..row(
                Method::GET,
                "/export",
                "Log",
                "Export the log: every batch and leaf; with credentials the caller's own requests too",
            )
        },
    ]
}
