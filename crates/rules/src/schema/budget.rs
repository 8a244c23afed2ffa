//! Budget of a template's schemas.

use kedge_protocol::limits::{SCHEMA_EFFORT_MAX, SCHEMA_PATTERNS_MAX, SCHEMA_POINTER_BYTES_MAX};
use serde_json::Value;

use super::{pattern, pointers};

/// Budget that the schemas of a template share, for their regular expressions: these take time to compile, for which
/// other requests wait, and memory.
#[derive(Debug)]
pub struct SchemaBudget {
    patterns: usize,
    /// `None` if no other request waits.
    effort: Option<u64>,
}

impl SchemaBudget {
    /// Budget for schemas of a log: only the rules bound them.
    pub fn of_the_log() -> Self {
        Self {
            patterns: SCHEMA_PATTERNS_MAX,
            effort: None,
        }
    }

    /// Budget for schemas of a request.
    pub fn of_a_request() -> Self {
        Self {
            effort: Some(SCHEMA_EFFORT_MAX),
            ..Self::of_the_log()
        }
    }

    /// Refuses a schema of a request whose places have pointers that are too long together.
    pub(super) fn check_pointers(&self, schema: &Value) -> Result<(), String> {
        if self.effort.is_none() || pointers::bytes(schema) <= SCHEMA_POINTER_BYTES_MAX {
            return Ok(());
        }
        Err(format!(
            "has places whose JSON pointers have more than {SCHEMA_POINTER_BYTES_MAX} bytes together: shorten the names above \
             many others, or nest less deeply"
        ))
    }

    /// Deducts the needs of these regular expressions, or reports the exceeded limit.
    pub(super) fn take(&mut self, patterns: &[(String, &str)]) -> Result<(), String> {
        let Some(left) = self.patterns.checked_sub(patterns.len()) else {
            return Err(format!(
                "has more regular expressions than the {SCHEMA_PATTERNS_MAX} that such schemas of a template may have together"
            ));
        };
        self.patterns = left;
        if let Some(effort) = &mut self.effort {
            let needed = patterns.iter().map(|(_, pattern)| pattern::effort(pattern));
            let needed = needed.fold(0, u64::saturating_add);
            *effort = effort.checked_sub(needed).ok_or_else(|| {
                "has regular expressions that take too long to compile: use fewer repetitions such as {1,100}, above all of \
                 classes such as \\p{L}"
                    .to_owned()
            })?;
        }
        Ok(())
    }
}
