//! Schemas of errors; the server's envelope writes them.

use std::borrow::Cow;

use kedge_http::field::FieldProblem;
use kedge_protocol::Code;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// An error in the service's envelope. In the document it is not called `ErrorView`, which is a built-in type in JavaScript
/// and elsewhere.
pub struct ErrorView;

impl JsonSchema for ErrorView {
    fn schema_name() -> Cow<'static, str> {
        "ApiError".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members = details(generator);
        members["message"] =
            json!({ "type": "string", "description": "What went wrong and what to do." });
        members["request_id"] = request_id();
        json_schema!({
            "type": "object",
            "properties": {
                "code": code(),
                "status": { "type": "integer", "description": "The HTTP status." },
                "body": {
                    "type": "object",
                    "description": "The context; members that do not apply are absent.",
                    "properties": members,
                    "required": ["message", "request_id"],
                },
            },
            "required": ["code", "status", "body"],
        })
    }
}

/// An error as problem details (RFC 9457).
pub struct ProblemView;

impl JsonSchema for ProblemView {
    fn schema_name() -> Cow<'static, str> {
        "Problem".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members = details(generator);
        let more = [
            (
                "type",
                json!({ "type": "string", "description": "`about:blank`: the code identifies the error." }),
            ),
            (
                "title",
                json!({ "type": "string", "description": "The status' name." }),
            ),
            (
                "status",
                json!({ "type": "integer", "description": "The HTTP status." }),
            ),
            (
                "detail",
                json!({ "type": "string", "description": "What went wrong and what to do." }),
            ),
            ("code", code()),
            ("request_id", request_id()),
        ];
        let required = more.each_ref().map(|(name, _)| *name);
        for (name, schema) in more {
            members[name] = schema;
        }
        json_schema!({ "type": "object", "properties": members, "required": required })
    }
}

fn code() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    json!({ "type": "string", "enum": codes, "description": "What went wrong, for programs." })
}

fn request_id() -> Value {
    json!({ "type": "string", "description": "The request's id, as in `X-Request-Id`." })
}

/// Members of errors besides code and message, each where it applies.
fn details(generator: &mut SchemaGenerator) -> Value {
    json!({
        "errors": {
            "type": "array",
            "description": "With VALIDATION_ERROR: what is wrong, and where.",
            "items": generator.subschema_for::<FieldProblem<'static>>(),
        },
        "resource": { "type": "string", "description": "The kind of resource that was not found." },
        "id": { "type": "string", "description": "The identifier that was not found." },
        "reason": {
            "type": "string",
            "enum": ["done", "refused"],
            "description": "With NONCE_REUSED: `done` if something of the request that spent the \
                nonce was done, `refused` if nothing was and a new request is needed. Absent while \
                this is unknown.",
        },
        "sequence": {
            "type": "integer",
            "description": "With NONCE_REUSED and `done`: the first sequence of the request that \
                spent the nonce, shown only to the signer's own organization.",
        },
        "recovered": {
            "type": "string",
            "description": "With SIGNATURE_INVALID: the address whose key made the signature.",
        },
        "minimum_sequence": {
            "type": "integer",
            "description": "With GONE, if older parts of the log are archived: the first sequence that \
                is still here.",
        },
        "minimum_batch": {
            "type": "integer",
            "description": "With GONE, if older parts of the log are archived: the first batch that is \
                still here. An export can begin there.",
        },
        "nearest_checkpoint": {
            "type": "integer",
            "description": "With GONE, if the checkpoint that was asked for cannot be proven: the batches of the nearest one \
                that can be.",
        },
        "policy": { "type": "string", "description": "With RATE_LIMITED: the limit that is used up." },
        "outcome": {
            "type": "string",
            "enum": ["nothing_done", "unknown"],
            "description": "With UNAVAILABLE: `nothing_done` means that nothing was done and \
                nothing will be; `unknown` that the request may be done, now or later: send exactly \
                the same signed request again, never a new one.",
        },
        "signer": { "type": "string", "description": "Of a signed request with an unknown outcome: its signer." },
        "nonce": { "type": "string", "description": "Its nonce, which is spent at most once." },
        "index": {
            "type": "integer",
            "description": "The first refused action of an atomic batch.",
        },
        "error": {
            "description": "That action's error, in the service's envelope.",
            "allOf": [generator.subschema_for::<ErrorView>()],
        },
    })
}
