//! All the faults of a body in one answer. What reads a body stops at the first member of a wrong form, and a rule names
//! only what it looks at; the schema of the document knows the rest.

use std::sync::{LazyLock, OnceLock};

use kedge_http::body::Text;
use kedge_http::error::{ApiError, Detail};
use kedge_protocol::Code;
use kedge_rules::schema::BodySchema;

use crate::api::TABLE;

/// The longest body whose other faults are looked for, in bytes.
const BYTES_MAX: usize = 16 * 1024;
/// The most faults that one answer names.
const FAULTS_MAX: usize = 20;

/// The schemas of the rows' bodies, each compiled when a body is refused first.
static SCHEMAS: LazyLock<Vec<OnceLock<Option<BodySchema>>>> =
    LazyLock::new(|| TABLE.iter().map(|_| OnceLock::new()).collect());

/// A body as it was sent, kept until it is known to be right.
pub(super) struct Sent {
    /// The row, by its index in the table.
    row: usize,
    /// Empty if its faults are not looked for.
    text: String,
}

impl Sent {
    pub(super) fn of(row: Option<usize>, body: &Text) -> Self {
        let row = row.filter(|_| body.text.len() <= BYTES_MAX);
        Self {
            row: row.unwrap_or_default(),
            text: row.map(|_| body.text.clone()).unwrap_or_default(),
        }
    }

    /// Adds the body's other faults to an error that names one of them.
    pub(super) fn with_all_faults(&self, error: ApiError) -> ApiError {
        let Detail::Fields(named) = &error.detail else {
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
