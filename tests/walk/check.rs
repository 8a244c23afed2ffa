//! Properties of every answer to any request.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::ask::Got;

/// Parses one of the two families of rate-limit fields, `"name";a=1;b=2`, into names and first numbers.
fn members<'a>(field: &'a str, parameters: [&str; 2]) -> Vec<(&'a str, u64)> {
    let one = |text: &'a str| {
        let parts: Vec<&str> = text.split(';').collect();
        let numbers: Vec<u64> = parameters
            .iter()
            .zip(&parts[1..])
            .map(|(name, part)| {
                let number = part.strip_prefix(&format!("{name}="));
                number.and_then(|number| number.parse().ok()).unwrap()
            })
            .collect();
        assert_eq!((parts.len(), numbers.len()), (3, 2), "{field}");
        (parts[0].trim_matches('"'), numbers[0])
    };
    field.split(", ").map(one).collect()
}

/// Checks the common properties of an answer.
#[track_caller]
pub(crate) fn every_answer(got: &Got) {
    let reported = got.reported();
    assert_eq!(got.header("x-request-id"), got.request_id, "{reported}");
    let number = |name: &str| -> u64 {
        let value = got.header(name).parse();
        value.unwrap_or_else(|_| panic!("{name}: {:?} {reported}", got.headers))
    };
    let (limit, remaining) = (number("x-ratelimit-limit"), number("x-ratelimit-remaining"));
    assert!(remaining <= limit, "{reported}");
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let reset = number("x-ratelimit-reset");
    let day_s = 24 * 60 * 60;
    assert!(
        (now_s.as_secs() - 5..=now_s.as_secs() + day_s).contains(&reset),
        "{reported}"
    );
    let standings = members(got.header("ratelimit"), ["r", "t"]);
    let policies = members(got.header("ratelimit-policy"), ["q", "w"]);
    assert_eq!(standings.len(), policies.len(), "{reported}");
    assert!(
        standings.contains(&(standings[0].0, remaining)),
        "{reported}"
    );
    assert!(policies.contains(&(standings[0].0, limit)), "{reported}");
    number("x-sequence");
    assert_eq!(
        got.header("x-content-type-options"),
        "nosniff",
        "{reported}"
    );
    let policy = got.header("content-security-policy");
    assert!(policy.contains("default-src 'none'"), "{reported}");
    assert_eq!(got.header("referrer-policy"), "no-referrer", "{reported}");
    assert!(!got.header("cache-control").is_empty(), "{reported}");
    assert_eq!(got.headers.get("server"), None, "{reported}");
    if got.status >= 400 && !got.asked.starts_with("HEAD") {
        error(got);
    }
}

/// Checks an error's form.
#[track_caller]
fn error(got: &Got) {
    let reported = got.reported();
    let body = got.json();
    let problem = got.header("content-type") == "application/problem+json";
    let inner = if problem { &body } else { &body["body"] };
    assert_eq!(body["status"], got.status, "{reported}");
    assert!(body["code"].is_string(), "{reported}");
    assert_eq!(inner["request_id"], got.request_id.as_str(), "{reported}");
    if problem {
        for name in ["type", "title", "detail"] {
            assert!(body[name].is_string(), "{name}: {reported}");
        }
    } else {
        assert_eq!(got.header("content-type"), "application/json", "{reported}");
        assert_eq!(names(&body), ["body", "code", "status"], "{reported}");
        let message = inner["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{reported}");
    }
    match body["code"].as_str() {
        Some("VALIDATION_ERROR") => {
            for error in inner["errors"].as_array().into_iter().flatten() {
                assert_eq!(names(error), ["code", "message", "pointer"], "{reported}");
            }
        }
        Some("RESOURCE_NOT_FOUND") => {
            assert!(
                inner["resource"].is_string() && inner["id"].is_string(),
                "{reported}"
            );
        }
        Some("METHOD_NOT_ALLOWED") => assert!(!got.header("allow").is_empty(), "{reported}"),
        Some("RATE_LIMITED") => {
            let wait_s: u64 = got.header("retry-after").parse().unwrap();
            assert!(wait_s >= 1, "{reported}");
            assert!(inner["policy"].is_string(), "{reported}");
        }
        Some("UNAUTHENTICATED" | "TOKEN_EXPIRED") => {
            assert!(!got.header("www-authenticate").is_empty(), "{reported}");
        }
        Some("NONCE_REUSED") => assert!(!got.header("x-nonce-highest").is_empty(), "{reported}"),
        Some("UNAVAILABLE") => assert!(!got.header("retry-after").is_empty(), "{reported}"),
        _ => {}
    }
}

#[track_caller]
pub(crate) fn names(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value}"));
    let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Checks for a refusal with this code.
#[track_caller]
pub(crate) fn refused(got: &Got, code: &str) {
    assert!(got.status >= 400, "{code} expected: {}", got.reported());
    let body = got.json();
    assert_eq!(body["code"], code, "{}", got.reported());
    if code == "SEQUENCE_NOT_REACHED" {
        let again = got.headers.get("retry-after");
        assert!(again.is_some(), "when to come again: {}", got.reported());
    }
    assert_eq!(got.status, status_of(code), "{}", got.reported());
}

pub(crate) fn status_of(code: &str) -> u16 {
    match code {
        "VALIDATION_ERROR" | "MALFORMED_JSON" | "CURSOR_INVALID" => 400,
        "UNAUTHENTICATED"
        | "TOKEN_EXPIRED"
        | "CREDENTIALS_INVALID"
        | "SIGNATURE_REQUIRED"
        | "SIGNATURE_INVALID"
        | "DEADLINE_EXPIRED" => 401,
        "FORBIDDEN" => 403,
        "RESOURCE_NOT_FOUND" => 404,
        "METHOD_NOT_ALLOWED" => 405,
        "NONCE_REUSED"
        | "CONFLICT"
        | "EMAIL_TAKEN"
        | "IDEMPOTENCY_IN_PROGRESS"
        | "SEQUENCE_NOT_REACHED" => 409,
        "GONE" => 410,
        "PRECONDITION_FAILED" => 412,
        "PAYLOAD_TOO_LARGE" | "OBJECT_TOO_LARGE" | "BATCH_TOO_LARGE" => 413,
        "UNSUPPORTED_MEDIA_TYPE" => 415,
        "RANGE_NOT_SATISFIABLE" => 416,
        "STATE_VIOLATION" | "IDEMPOTENCY_MISMATCH" => 422,
        "RATE_LIMITED" => 429,
        "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        other => panic!("no code of the service: {other}"),
    }
}
