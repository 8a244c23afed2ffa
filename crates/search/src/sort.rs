//! Order of a search's matches. A cursor's place depends on it: a creation sequence, a last sequence, or an index
//! entry.

use kedge_rules::FieldError;
use kedge_rules::json::JsonMembers;
use kedge_rules::paths::PropertyPath;
use kedge_rules::pointer::escape;

use super::parse::{FilterField, elements, refuse, text};
use crate::SearchError;

/// Order of matches.
#[derive(Debug)]
pub struct SearchSort {
    pub by: SortBy,
    /// Highest first.
    pub descending: bool,
}

#[derive(PartialEq, Eq, Debug)]
pub enum SortBy {
    /// Creation time.
    Created,
    /// Time of the last change.
    Updated,
    /// Value of an indexed property.
    Property(PropertyPath),
}

/// Parses `sort`; by default by creation, oldest first.
pub fn read(json: Option<&str>) -> Result<SearchSort, SearchError> {
    let default = SearchSort {
        by: SortBy::Created,
        descending: false,
    };
    let Some(json) = json else { return Ok(default) };
    let entries = elements(json, "/sort")?;
    let [entry] = entries.as_slice() else {
        return refuse(
            "/sort",
            "range",
            "must hold exactly one entry, {field, order}",
        );
    };
    let Some(JsonMembers(members)) = JsonMembers::of(entry.get()) else {
        return refuse("/sort/0", "type", "must be a JSON object");
    };
    let mut sort = None;
    let mut descending = false;
    for (name, value) in &members {
        let pointer = format!("/sort/0/{}", escape(name));
        match name.as_ref() {
            "field" => sort = Some(sort_field(&text(value, &pointer)?)?),
            "order" => {
                descending = match text(value, &pointer)?.as_ref() {
                    "asc" => false,
                    "desc" => true,
                    _ => return refuse(&pointer, "range", "must be asc or desc"),
                };
            }
            _ => return refuse(&pointer, "unknown", FieldError::UNKNOWN),
        }
    }
    match sort {
        Some(by) => Ok(SearchSort { by, descending }),
        None => refuse("/sort/0/field", "required", "is required"),
    }
}

fn sort_field(name: &str) -> Result<SortBy, SearchError> {
    match FilterField::parse(name) {
        Ok(FilterField::CreatedAt) => Ok(SortBy::Created),
        Ok(FilterField::UpdatedAt) => Ok(SortBy::Updated),
        Ok(FilterField::Property(path)) => Ok(SortBy::Property(path)),
        _ => refuse(
            "/sort/0/field",
            "range",
            "must be created_at, updated_at, or a property that the template's schema marks with x-index",
        ),
    }
}
