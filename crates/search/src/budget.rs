//! Limit of one search's reads: 50,000 rows and 64 MiB of properties, including the reads for choosing a plan. Beyond
//! it the search is refused with advice.

use kedge_protocol::limits::{SEARCH_BYTES_MAX, SEARCH_ROWS_MAX, SEARCH_TESTED_BYTES_MAX};

use crate::SearchError;
use crate::filter::TestedBytes;

/// Reads so far.
#[derive(Default, Debug)]
pub(super) struct SearchBudget {
    /// Number of index entries and objects.
    rows: usize,
    bytes: usize,
}

impl SearchBudget {
    /// Counts an index entry.
    pub(super) fn entry(&mut self) -> Result<(), SearchError> {
        self.count(1, 0)
    }

    /// Counts an object.
    pub(super) fn object(&mut self, property_bytes: usize) -> Result<(), SearchError> {
        self.count(1, property_bytes)
    }

    fn count(&mut self, rows: usize, bytes: usize) -> Result<(), SearchError> {
        self.rows += rows;
        self.bytes += bytes;
        if self.rows <= SEARCH_ROWS_MAX && self.bytes <= SEARCH_BYTES_MAX {
            return Ok(());
        }
        let read = if self.rows > SEARCH_ROWS_MAX {
            format!("{SEARCH_ROWS_MAX} rows")
        } else {
            format!("{SEARCH_BYTES_MAX} bytes")
        };
        Err(SearchError::field(
            "/filter",
            "range",
            format!(
                "would read more than {read}; narrow it with template_id, owner_id, created_at, or \
                 with eq, in, a range or prefix on a property that the template's schema marks with \
                 x-index"
            ),
        ))
    }

    /// Checks the bytes tested by conditions.
    pub(super) fn check_tested(tested: &TestedBytes) -> Result<(), SearchError> {
        if tested.bytes() <= SEARCH_TESTED_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "would hold values with more than {SEARCH_TESTED_BYTES_MAX} bytes together against its conditions; use fewer \
             conditions on large properties, or narrow it"
        );
        Err(SearchError::field("/filter", "range", message))
    }

    /// Counts a template read for the plan.
    pub(super) fn template(&mut self, bytes: usize) -> Result<(), SearchError> {
        self.count(1, bytes)
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}
