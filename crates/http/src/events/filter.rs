//! Event filters from the query.

use kedge_protocol::event::EventType;
use kedge_protocol::{Id, Prefix};
use kedge_replay::events::EventFilter;

use crate::auth::CallerSession;
use crate::error::{ApiError, ApiResult};
use crate::query::RequestParameter;
use crate::query::RequestQuery;

macro_rules! types {
    () => {
        r"object\\.(created|updated|transferred|locked|unlocked|burned|\\*)|template\\.(created|\\*)|variation\\.(created|\\*)|wallet\\.(registered|\\*)|file\\.(created|\\*)|action\\.(executed|failed|\\*)|batch\\.(sealed|anchored|\\*)|anchor\\.(confirmed|\\*)"
    };
}

/// Types, or prefixes of types, separated by commas.
const TYPES_SCHEMA: &str = concat!(
    r#"{"type": "string", "pattern": "^("#,
    types!(),
    ")(,(",
    types!(),
    r#"))*$"}"#
);

/// Filters of lists and streams.
pub const FILTERS: &[RequestParameter] = &[
    RequestParameter {
        name: "type",
        schema_type: TYPES_SCHEMA,
        description: "Only events of these types: one or several, separated by commas; `object.*` means all that begin so.",
    },
    RequestParameter {
        name: "object_id",
        schema_type: r#"{"type": "string", "pattern": "^obj_[0-7][0-9a-hjkmnp-tv-z]{25}$"}"#,
        description: "Only events of this object.",
    },
    RequestParameter {
        name: "template_id",
        schema_type: r#"{"type": "string", "pattern": "^tpl_[0-7][0-9a-hjkmnp-tv-z]{25}$"}"#,
        description: "Only events of this template and its objects.",
    },
    RequestParameter {
        name: "after_sequence",
        schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
        description: "Only events after this sequence.",
    },
];

/// Reads the caller's filter. Types that an API key may not read are left out, and refused if requested by name.
pub fn of_caller(query: &RequestQuery, session: &CallerSession) -> ApiResult<EventFilter> {
    let mut filter = read(query)?;
    session.check_events(&filter.types)?;
    if let Some(rights) = session.rights
        && filter.types.is_empty()
    {
        let seen = EventType::ALL.iter().filter(|seen| rights.see(**seen));
        let seen: Vec<EventType> = seen.copied().collect();
        if seen.len() < EventType::ALL.len() {
            filter.types = seen;
        }
    }
    Ok(filter)
}

/// Parses the filter; every given parameter must be valid.
fn read(query: &RequestQuery) -> ApiResult<EventFilter> {
    let id = |name: &str, prefix| -> ApiResult<Option<Id>> {
        query
            .get(name)
            .map(|text| {
                Id::parse_as(prefix, text).map_err(|error| ApiError::parameter(name, error))
            })
            .transpose()
    };
    let mut types = Vec::new();
    for name in query
        .get("type")
        .into_iter()
        .flat_map(|text| text.split(','))
    {
        types.extend(types_named(name)?);
    }
    types.sort_unstable();
    types.dedup();
    Ok(EventFilter {
        types,
        object_id: id("object_id", Prefix::Object)?,
        template_id: id("template_id", Prefix::Template)?,
    })
}

fn types_named(name: &str) -> ApiResult<Vec<EventType>> {
    let fits = |event_type: &&EventType| {
        let text = event_type.text();
        match name.strip_suffix('*') {
            Some(start) => start.ends_with('.') && text.starts_with(start),
            None => text == name,
        }
    };
    let found: Vec<EventType> = EventType::ALL.iter().filter(fits).copied().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let known: Vec<&str> = EventType::ALL.iter().map(|known| known.text()).collect();
    let message = format!(
        "{name:?} is not an event type; known types: {}",
        known.join(", ")
    );
    Err(ApiError::parameter("type", message))
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Code;

    use super::*;

    fn of(query: &str) -> ApiResult<EventFilter> {
        read(&RequestQuery::parse(Some(query), &[&["type", "object_id", "template_id"]]).unwrap())
    }

    #[test]
    fn the_schema_knows_every_type() {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for event_type in EventType::ALL {
            let (group, what) = event_type.text().split_once('.').unwrap();
            match groups.last_mut().filter(|(last, _)| *last == group) {
                Some((_, known)) => known.push(what),
                None => groups.push((group, vec![what])),
            }
        }
        let groups = groups.into_iter().map(|(group, known)| {
            let known = known.join("|");
            format!(r"{group}\\.({known}|\\*)")
        });
        assert_eq!(types!(), groups.collect::<Vec<_>>().join("|"));
    }

    #[test]
    fn types_are_listed_or_named_by_their_beginning() {
        let types = |query| of(query).unwrap().types;
        assert_eq!(types(""), []);
        assert_eq!(types("type=action.failed"), [EventType::ActionFailed]);
        assert_eq!(types("type=batch.*,batch.sealed").len(), 2);
        assert_eq!(types("type=object.*").len(), 6);
        for bad in [
            "type=",
            "type=object",
            "type=*",
            "type=ob*",
            "type=object.created,",
            "type=x",
        ] {
            assert_eq!(of(bad).unwrap_err().code, Code::ValidationError, "{bad}");
        }
        assert!(of("object_id=tpl_5yrzzxc7r7qyrbt578rhejqh4m").is_err());
    }
}
