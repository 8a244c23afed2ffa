//! Encoding of errors: the service's envelope `{code, status, body}`, problem details (RFC 9457) on request, or
//! `{message}` under v2 paths.

use hyper::HeaderMap;
use hyper::header::ACCEPT;
use kedge_actors::api::NonceOutcome;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::error::{ApiError, ApiResult, ErrorDetail};
use crate::field::FieldProblem;
use crate::scalars::AddressText;

pub const PROBLEM_JSON: &str = "application/problem+json";

/// Encoding of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorForm {
    Envelope,
    Problem,
    /// `{message}`, as in v2.
    Legacy,
}

impl ErrorForm {
    /// Problem details for callers that accept their media type, the envelope for all others.
    pub fn of(headers: &HeaderMap) -> Self {
        let asks = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|part| {
                let media_type = part.split(';').next().unwrap_or_default();
                media_type.trim().eq_ignore_ascii_case(PROBLEM_JSON)
            });
        if asks { Self::Problem } else { Self::Envelope }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Envelope | Self::Legacy => "application/json",
            Self::Problem => PROBLEM_JSON,
        }
    }

    pub fn write(self, error: &ApiError, request_id: &str) -> Vec<u8> {
        let written = match self {
            Self::Envelope => serde_json::to_vec(&ErrorEnvelope { error, request_id }),
            Self::Problem => serde_json::to_vec(&ProblemBody { error, request_id }),
            Self::Legacy => serde_json::to_vec(&LegacyError {
                message: &error.message,
            }),
        };
        written.expect("errors hold only texts and numbers")
    }
}

/// An error in the service's envelope.
pub struct ErrorEnvelope<'a> {
    pub error: &'a ApiError,
    /// Id of the request that it answers.
    pub request_id: &'a str,
}

impl ErrorEnvelope<'_> {
    /// The envelope's JSON, for embedding in an answer.
    pub fn to_raw(&self) -> ApiResult<Box<RawValue>> {
        to_raw_value(self).map_err(|error| ApiError::internal(&error))
    }
}

impl Serialize for ErrorEnvelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", self.error.code.text())?;
        map.serialize_entry("status", &self.error.status().as_u16())?;
        let body = ErrorBody {
            error: self.error,
            request_id: self.request_id,
        };
        map.serialize_entry("body", &body)?;
        map.end()
    }
}

struct ErrorBody<'a> {
    error: &'a ApiError,
    request_id: &'a str,
}

impl Serialize for ErrorBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &self.error.message)?;
        map.serialize_entry("request_id", self.request_id)?;
        write_detail(&mut map, &self.error.detail, self.request_id)?;
        map.end()
    }
}

#[derive(Serialize)]
struct LegacyError<'a> {
    message: &'a str,
}

struct ProblemBody<'a> {
    error: &'a ApiError,
    request_id: &'a str,
}

impl Serialize for ProblemBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let code = self.error.code;
        let mut map = serializer.serialize_map(None)?;
        // No page describes the codes one by one (RFC 9457, 4.2.1).
        map.serialize_entry("type", "about:blank")?;
        let status = self.error.status();
        map.serialize_entry("title", status.canonical_reason().unwrap_or_default())?;
        map.serialize_entry("status", &status.as_u16())?;
        map.serialize_entry("detail", &self.error.message)?;
        map.serialize_entry("code", code.text())?;
        map.serialize_entry("request_id", self.request_id)?;
        write_detail(&mut map, &self.error.detail, self.request_id)?;
        map.end()
    }
}

fn write_detail<M: SerializeMap>(
    map: &mut M,
    detail: &ErrorDetail,
    request_id: &str,
) -> Result<(), M::Error> {
    match detail {
        ErrorDetail::None => Ok(()),
        ErrorDetail::Fields(fields) => {
            let fields: Vec<FieldProblem<'_>> = fields.iter().map(FieldProblem::from).collect();
            map.serialize_entry("errors", &fields)
        }
        ErrorDetail::Resource { resource, id } => {
            map.serialize_entry("resource", resource)?;
            map.serialize_entry("id", id)
        }
        ErrorDetail::NothingDone => map.serialize_entry("outcome", "nothing_done"),
        ErrorDetail::Unknown { spending } => {
            map.serialize_entry("outcome", "unknown")?;
            if let Some((signer, nonce)) = spending {
                map.serialize_entry("signer", signer)?;
                map.serialize_entry("nonce", &nonce.to_string())?;
            }
            Ok(())
        }
        ErrorDetail::Limit { policy } => map.serialize_entry("policy", policy),
        ErrorDetail::Nonce(NonceOutcome::Refused) => map.serialize_entry("reason", "refused"),
        ErrorDetail::Nonce(NonceOutcome::Done { sequence }) => {
            map.serialize_entry("reason", "done")?;
            match sequence {
                Some(sequence) => map.serialize_entry("sequence", sequence),
                None => Ok(()),
            }
        }
        ErrorDetail::Recovered(address) => map.serialize_entry("recovered", &AddressText(*address)),
        ErrorDetail::Archived {
            minimum_sequence,
            minimum_batch,
        } => {
            map.serialize_entry("minimum_sequence", minimum_sequence)?;
            map.serialize_entry("minimum_batch", minimum_batch)
        }
        ErrorDetail::NearestCheckpoint(batches) => {
            map.serialize_entry("nearest_checkpoint", batches)
        }
        ErrorDetail::Action { index, error } => {
            map.serialize_entry("index", index)?;
            map.serialize_entry("error", &ErrorEnvelope { error, request_id })
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use kedge_protocol::Code;
    use serde_json::json;

    use super::*;

    fn written(form: ErrorForm, error: &ApiError) -> serde_json::Value {
        serde_json::from_slice(&form.write(error, "r-1")).unwrap()
    }

    #[test]
    fn all_forms_tell_the_same() {
        let error = ApiError::not_found("object", "obj_x");
        assert_eq!(
            written(ErrorForm::Envelope, &error),
            json!({"code": "RESOURCE_NOT_FOUND", "status": 404, "body": {
                "message": "there is no object \"obj_x\", or it is not yours to see",
                "request_id": "r-1", "resource": "object", "id": "obj_x"}})
        );
        let problem = written(ErrorForm::Problem, &error);
        assert_eq!(problem["code"], "RESOURCE_NOT_FOUND");
        assert_eq!(problem["status"], 404);
        assert_eq!(problem["id"], "obj_x");
        let message = "there is no object \"obj_x\", or it is not yours to see";
        assert_eq!(
            written(ErrorForm::Legacy, &error),
            json!({ "message": message })
        );
    }

    #[test]
    fn a_limit_is_named_in_both_forms() {
        let error = ApiError {
            detail: ErrorDetail::Limit {
                policy: "tier-minute",
            },
            ..ApiError::new(Code::RateLimited, "wait")
        };
        let envelope = written(ErrorForm::Envelope, &error);
        assert_eq!(envelope["status"], 429);
        assert_eq!(envelope["body"]["policy"], "tier-minute");
        let problem = written(ErrorForm::Problem, &error);
        assert_eq!(
            (&problem["code"], &problem["policy"]),
            (&json!("RATE_LIMITED"), &json!("tier-minute"))
        );
    }

    #[test]
    fn an_unavailable_server_says_what_it_did() {
        let body = |error: &ApiError| written(ErrorForm::Envelope, error)["body"].clone();
        assert_eq!(body(&ApiError::overloaded())["outcome"], "nothing_done");
        let unknown = ApiError::unknown(Some((kedge_protocol::Address([1; 20]), 7)));
        let reported = body(&unknown);
        assert_eq!(
            (&reported["outcome"], &reported["nonce"]),
            (&json!("unknown"), &json!("7"))
        );
        assert!(
            reported["signer"].as_str().unwrap().starts_with("0x"),
            "{reported}"
        );
        assert_eq!(written(ErrorForm::Problem, &unknown)["outcome"], "unknown");
        // A change may have been made before the server failed; a read changes nothing.
        let failed = ApiError::new(Code::Internal, "failed");
        assert_eq!(body(&failed.clone().of_change())["outcome"], "unknown");
        assert_eq!(body(&failed)["outcome"], serde_json::Value::Null);
        let refused = ApiError::new(Code::Forbidden, "no");
        assert_eq!(refused.clone().of_change(), refused);
    }

    #[test]
    fn an_atomic_failure_names_its_action() {
        let error = ApiError {
            detail: ErrorDetail::Action {
                index: 4,
                error: Box::new(ApiError::new(Code::Forbidden, "no")),
            },
            ..ApiError::new(Code::StateViolation, "action 4 was refused")
        };
        let body = &written(ErrorForm::Envelope, &error)["body"];
        assert_eq!(body["index"], 4);
        assert_eq!(body["error"]["code"], "FORBIDDEN");
        assert_eq!(body["error"]["body"]["request_id"], "r-1");
    }

    #[test]
    fn problem_details_are_for_those_who_ask() {
        let mut headers = HeaderMap::new();
        assert_eq!(ErrorForm::of(&headers), ErrorForm::Envelope);
        let accept = HeaderValue::from_static("application/json, Application/Problem+JSON;q=0.5");
        headers.insert(ACCEPT, accept);
        assert_eq!(ErrorForm::of(&headers), ErrorForm::Problem);
    }
}
