//! All faults of a body in one error. Parsers stop at the first malformed member, and rules report only what they look
//! at; the document's schema finds the rest.

use std::sync::{LazyLock, OnceLock};

use kedge_http::body::BodyText;
use kedge_http::error::{ApiError, ErrorDetail};
use kedge_protocol::Code;
use kedge_rules::schema::BodySchema;

use crate::api::TABLE;

/// Size limit of bodies that are searched for further faults.
const BYTES_MAX: usize = 16 * 1024;
/// Limit of faults in one answer.
const FAULTS_MAX: usize = 20;

/// Schemas of the rows' bodies, each compiled at the first refusal.
static SCHEMAS: LazyLock<Vec<OnceLock<Option<BodySchema>>>> =
    LazyLock::new(|| TABLE.iter().map(|_| OnceLock::new()).collect());

/// A copy of the body, kept until it is known to be correct.
pub(super) struct CheckedBody {
    /// The row's index in the table.
    row: usize,
    /// Empty if its faults are not looked for.
    text: String,
}

impl CheckedBody {
    pub(super) fn of(row: Option<usize>, body: &BodyText) -> Self {
        let row = row.filter(|_| body.text.len() <= BYTES_MAX);
        Self {
            row: row.unwrap_or_default(),
            text: row.map(|_| body.text.clone()).unwrap_or_default(),
        }
    }

    /// Adds the body's other faults to an error that names one of them.
    pub(super) fn with_all_faults(&self, error: ApiError) -> ApiError {
        let ErrorDetail::Fields(named) = &error.detail else {
            return error;
        };
        let Ok(value) = serde_json::from_str(&self.text) else {
            return error;
        };
        let Some(kept) = SCHEMAS
            .get(self.row)
            .filter(|_| error.code == Code::ValidationError)
        else {
            return error;
        };
        let schema = kept.get_or_init(|| crate::api::document::body_schema(&TABLE[self.row]));
        let mut more = schema
            .as_ref()
            .map_or_else(Vec::new, |schema| schema.faults(&value));
        more.retain(|fault| named.iter().all(|known| known.pointer != fault.pointer));
        if more.is_empty() {
            return error;
        }
        let mut all = named.clone();
        all.append(&mut more);
        all.truncate(FAULTS_MAX);
        ApiError {
            headers: error.headers,
            ..ApiError::fields(all)
        }
    }
}
