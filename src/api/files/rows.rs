//! Endpoints of files and the export.

use hyper::Method;
use kedge_http::limits::LimitClass::FileUploads;
use kedge_http::query::RequestParameter;
use kedge_http::signing::SigningScheme;
use kedge_protocol::resource::Area;
use kedge_protocol::{Code, Prefix};

use crate::api::EndpointRow;
use crate::api::committed_answer::ResourceChange;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc, PathParameter};
use crate::api::endpoint::EndpointAuth::Public;
use crate::api::endpoint::{ANY, schema};
use crate::api::files::bodies::{ContentBytes, ExportLines, UploadBody};
use crate::api::files::views::FileView;
use crate::api::files::{export, handlers};
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::log;
use crate::api::row::{TO_ACTION, TO_PROOF, answer, get, handler, signed};
use crate::api::state::rows::WAIT;

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            limit: FileUploads,
            request: Some(schema::<UploadBody>),
            status: 201,
            response: schema::<ResourceChange<FileView>>,
            ..signed(
                Method::POST,
                "/files",
                &CREATE,
                SigningScheme::File,
                answer!(handlers::created),
            )
        },
        EndpointRow {
            query: &[listing::LIST],
            response: schema::<ListPage<FileView>>,
            ..get("/files", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            response: schema::<FileView>,
            etag: true,
            ..get("/files/{id}", &GET, handler!(handlers::get))
        },
        EndpointRow {
            media_type: ANY,
            response: schema::<ContentBytes>,
            etag: true,
            ..get("/files/{id}/content", &CONTENT, handler!(handlers::content))
        },
        EndpointRow {
            auth: Public,
            query: &[export::FROM, &[WAIT]],
            media_type: export::LINES,
            response: schema::<ExportLines>,
            ..get("/export", &EXPORT, handler!(export::export))
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Files",
    description: "Files whose digests are in the log.",
    area: Some(Area::Files),
    ids: &[("/files/", PathParameter::Id(Prefix::File))],
};

const TO_CONTENT: AnswerLink = AnswerLink::with_id("getFileContent");

const LOCATION: &[RequestParameter] = &[RequestParameter::text(
    "Location",
    "The path of the file's description.",
)];

const CONTENT_DIGEST_SENT: &[RequestParameter] = &[RequestParameter {
    name: "Content-Digest",
    schema_type: r#"{"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"}"#,
    description: "The digest of the whole body (RFC 9530); a body with another digest is refused.",
}];

const CREATE: EndpointDoc = EndpointDoc {
    id: "uploadFile",
    heading: &HEADING,
    summary: "Upload a file",
    description: "Accepts a file as `multipart/form-data`, hashes it as it arrives, and puts its digest \
        into the log. The signature covers that digest, `sha-256=:…:`, as the payload, and the name as \
        the target: the part `name`, or else the filename of the part `file`. The media type is detected \
        from the bytes, whatever was sent.",
    request_headers: CONTENT_DIGEST_SENT,
    response_headers: LOCATION,
    links: &[
        AnswerLink::with_id("getFile"),
        TO_CONTENT,
        TO_ACTION,
        TO_PROOF,
    ],
    ..EndpointDoc::MISSING
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listFiles",
    heading: &HEADING,
    summary: "List the organization's files",
    description: "The files of the caller's organization, in the order of upload.",
    links: &[AnswerLink::with_first_id("getFile")],
    ..EndpointDoc::MISSING
};

const GET: EndpointDoc = EndpointDoc {
    id: "getFile",
    heading: &HEADING,
    summary: "Read a file's description",
    description: "A file's name, size, media type and digest.",
    links: &[TO_CONTENT],
    ..EndpointDoc::MISSING
};

const RANGE: &[RequestParameter] = &[
    RequestParameter::text(
        "Range",
        "`bytes=` and one range (RFC 9110, 14.2). Several ranges, or an invalid one, give the whole file.",
    ),
    RequestParameter::text(
        "If-Range",
        "The ETag for which `Range` is meant; if the file has another one, the whole file is sent.",
    ),
];

const OF_CONTENT: &[RequestParameter] = &[
    RequestParameter::text("Content-Disposition", "`attachment`, with the file's name."),
    RequestParameter::text(
        "Content-Digest",
        "The digest of the bytes that were sent (RFC 9530).",
    ),
    RequestParameter::text("Repr-Digest", "The digest of the whole file (RFC 9530)."),
    RequestParameter::text("Accept-Ranges", "`bytes`."),
    RequestParameter::text("Content-Range", "For a part: which bytes, of how many."),
];

const CONTENT: EndpointDoc = EndpointDoc {
    id: "getFileContent",
    heading: &HEADING,
    summary: "Download a file",
    description: "The file's bytes with their detected media type, always as an attachment.",
    errors: &[Code::RangeNotSatisfiable],
    also: &[(206, "The part that `Range` requested.")],
    request_headers: RANGE,
    response_headers: OF_CONTENT,
    ..EndpointDoc::MISSING
};

const EXPORT: EndpointDoc = EndpointDoc {
    id: "exportLog",
    heading: &log::rows::HEADING,
    summary: "Export the log",
    description: "The log as lines of JSON that anyone can replay: `log` first, then each batch with its \
        leaves, and `checkpoint` at the end. With credentials, each batch is followed by the \
        organization's own requests in it, with their signatures.",
    errors: &[Code::Unauthenticated, Code::TokenExpired, Code::Forbidden],
    may_authenticate: true,
    ..EndpointDoc::MISSING
};
