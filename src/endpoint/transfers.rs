//! The rows of what travels as bytes or lines: files and the export.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{Content, Lines, UploadBody};
use kedge_api::resources::{Changed, FileView};

use super::Auth::Public;
use super::LimitClass::FileUploads;
use super::row::{answer, get, handler, signed};
use super::{ANY, Endpoint, Signs, docs, schema};
use crate::listing::LIST;
use crate::routes::{export, files};

/// The rows.
pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: FileUploads,
            request: Some(schema::<UploadBody>),
            status: 201,
            response: schema::<Changed<FileView>>,
            ..signed(
                Method::POST,
                "/files",
                &docs::files::CREATE,
                Signs::File,
                answer!(files::created),
            )
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<FileView>>,
            ..get("/files", &docs::files::LIST, handler!(files::list))
        },
        Endpoint {
            response: schema::<FileView>,
            etag: true,
            ..get("/files/{id}", &docs::files::GET, handler!(files::get))
        },
        Endpoint {
            media_type: ANY,
            response: schema::<Content>,
            etag: true,
            ..get(
                "/files/{id}/content",
                &docs::files::CONTENT,
                handler!(files::content),
            )
        },
        Endpoint {
            auth: Public,
            query: &[export::FROM],
            media_type: export::LINES,
            response: schema::<Lines>,
            ..get("/export", &docs::files::EXPORT, handler!(export::export))
        },
    ]
}
