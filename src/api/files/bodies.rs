//! Bodies of uploads, and what downloads return.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_protocol::limits::FILE_NAME_CHARS_MAX;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// An upload: a multipart body.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UploadBody {
    /// The bytes. The signed payload is their digest, `sha-256=:<base64>:`.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: String,
    /// The file's name, which is the signed target; the filename of the part `file` if absent.
    #[schemars(length(min = 1, max = FILE_NAME_CHARS_MAX), regex(pattern = FILE_NAME_PATTERN), required)]
    name: Option<String>,
}

/// No control characters, and at least one character that is not white space.
const FILE_NAME_PATTERN: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*\
    [^\\s\\u0000-\\u001f\\u007f-\\u009f]\
    [^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// A content's bytes.
pub struct ContentBytes;

impl JsonSchema for ContentBytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The bytes, with the media type detected from them." })
    }
}

/// Lines of JSON: `log`, then for each batch `batch` and the caller's `request`s, then `checkpoint`.
#[derive(JsonSchema)]
#[schemars(rename = "Lines")]
pub struct ExportLines(String);
