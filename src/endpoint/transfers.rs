//! The rows of what travels as bytes or lines: files and the export.

use hyper::Method;
use kedge_api::Page;
use kedge_api::bodies::{Content, Lines, UploadBody};
use kedge_api::resources::{Changed, FileView};

use super::Auth::Public;
use super::LimitClass::FileUploads;
use super::table::{ANY, documented, handler};
use super::{Endpoint, Signs, docs, schema};
use crate::listing::LIST;
use crate::routes::{export, files};

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
            ..documented(Method::POST, "/files", &docs::files::CREATE)
        },
        Endpoint {
            query: &[LIST],
            response: schema::<Page<FileView>>,
            handler: handler!(files::list),
            ..documented(Method::GET, "/files", &docs::files::LIST)
        },
        Endpoint {
            response: schema::<FileView>,
            etag: true,
            handler: handler!(files::get),
            ..documented(Method::GET, "/files/{id}", &docs::files::GET)
        },
        Endpoint {
            media_type: ANY,
            response: schema::<Content>,
            etag: true,
            handler: handler!(files::content),
            ..documented(Method::GET, "/files/{id}/content", &docs::files::CONTENT)
        },
        Endpoint {
            auth: Public,
            query: &[export::FROM],
            media_type: export::LINES,
            response: schema::<Lines>,
            handler: handler!(export::export),
            ..documented(Method::GET, "/export", &docs::files::EXPORT)
        },
    ]
}
