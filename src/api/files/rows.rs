//! Endpoints of files and the export.

use hyper::Method;
use kedge_http::limits::LimitClass::FileUploads;
use kedge_http::query::Parameter;
use kedge_http::signing::Signs;
use kedge_protocol::Code;

use crate::api::Endpoint;
use crate::api::committed_answer::Changed;
use crate::api::document::{Doc, Link};
use crate::api::endpoint::Auth::Public;
use crate::api::endpoint::{ANY, schema};
use crate::api::files::bodies::{Content, Lines, UploadBody};
use crate::api::files::views::FileView;
use crate::api::files::{export, handlers};
use crate::api::listing;
use crate::api::listing::Page;
use crate::api::row::{TO_ACTION, TO_PROOF, answer, get, handler, signed};

pub(in crate::api) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            limit: FileUploads,
            request: Some(schema::<UploadBody>),
            status: 201,
            response: schema::<Changed<FileView>>,
            ..signed(
                Method::POST,
                "/files",
                &CREATE,
                Signs::File,
                answer!(handlers::created),
            )
        },
        Endpoint {
            query: &[listing::LIST],
            response: schema::<Page<FileView>>,
            ..get("/files", &LIST, handler!(handlers::list))
        },
        Endpoint {
            response: schema::<FileView>,
            etag: true,
            ..get("/files/{id}", &GET, handler!(handlers::get))
        },
        Endpoint {
            media_type: ANY,
            response: schema::<Content>,
            etag: true,
            ..get("/files/{id}/content", &CONTENT, handler!(handlers::content))
        },
        Endpoint {
            auth: Public,
            query: &[export::FROM],
            media_type: export::LINES,
            response: schema::<Lines>,
            ..get("/export", &EXPORT, handler!(export::export))
        },
    ]
}

const TAG: &str = "Files";

const TO_CONTENT: Link = Link::with_parameters("getFileContent", &[("id", "$response.body#/id")]);

const LOCATION: &[Parameter] = &[Parameter {
    name: "Location",
    schema_type: "string",
    description: "The path of the file's description.",
}];

const CONTENT_DIGEST_SENT: &[Parameter] = &[Parameter {
    name: "Content-Digest",
    schema_type: r#"{"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"}"#,
    description: "The digest of the whole body (RFC 9530); a body with another digest is refused.",
}];

const CREATE: Doc = Doc {
    id: "uploadFile",
    tag: TAG,
    summary: "Upload a file",
    description: "Accepts a file as `multipart/form-data`, hashes it as it arrives, and puts its digest \
        into the log. The signature covers that digest, `sha-256=:…:`, as the payload, and the name as \
        the target: the part `name`, or else the filename of the part `file`. The media type is detected \
        from the bytes, whatever was sent.",
    request_headers: CONTENT_DIGEST_SENT,
    response_headers: LOCATION,
    links: &[
        Link::with_parameters("getFile", &[("id", "$response.body#/id")]),
        TO_CONTENT,
        TO_ACTION,
        TO_PROOF,
    ],
    ..Doc::MISSING
};

const LIST: Doc = Doc {
    id: "listFiles",
    tag: TAG,
    summary: "List the organization's files",
    description: "The files of the caller's organization, in the order of upload.",
    links: &[Link::with_parameters(
        "getFile",
        &[("id", "$response.body#/items/0/id")],
    )],
    ..Doc::MISSING
};

const GET: Doc = Doc {
    id: "getFile",
    tag: TAG,
    summary: "Read a file's description",
    description: "A file's name, size, media type and digest.",
    links: &[TO_CONTENT],
    ..Doc::MISSING
};

const RANGE: &[Parameter] = &[
    Parameter {
        name: "Range",
        schema_type: "string",
        description: "`bytes=` and one range (RFC 9110, 14.2). Several ranges, or an invalid one, give the whole file.",
    },
    Parameter {
        name: "If-Range",
        schema_type: "string",
        description: "The ETag for which `Range` is meant; if the file has another one, the whole file is sent.",
    },
];

const OF_CONTENT: &[Parameter] = &[
    Parameter {
        name: "Content-Disposition",
        schema_type: "string",
        description: "`attachment`, with the file's name.",
    },
    Parameter {
        name: "Content-Digest",
        schema_type: "string",
        description: "The digest of the bytes that were sent (RFC 9530).",
    },
    Parameter {
        name: "Repr-Digest",
        schema_type: "string",
        description: "The digest of the whole file (RFC 9530).",
    },
    Parameter {
        name: "Accept-Ranges",
        schema_type: "string",
        description: "`bytes`.",
    },
    Parameter {
        name: "Content-Range",
        schema_type: "string",
        description: "For a part: which bytes, of how many.",
    },
];

const CONTENT: Doc = Doc {
    id: "getFileContent",
    tag: TAG,
    summary: "Download a file",
    description: "The file's bytes with their detected media type, always as an attachment.",
    errors: &[Code::RangeNotSatisfiable],
    also: &[(206, "The part that `Range` requested.")],
    request_headers: RANGE,
    response_headers: OF_CONTENT,
    ..Doc::MISSING
};

const EXPORT: Doc = Doc {
    id: "exportLog",
    tag: "Log",
    summary: "Export the log",
    description: "The log as lines of JSON that anyone can replay: `log` first, then each batch with its \
        leaves, and `checkpoint` at the end. With credentials, each batch is followed by the \
        organization's own requests in it, with their signatures.",
    errors: &[Code::Unauthenticated, Code::TokenExpired, Code::Forbidden],
    may_authenticate: true,
    ..Doc::MISSING
};
