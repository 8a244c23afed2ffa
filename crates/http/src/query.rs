//! Query parameters: `name=value` pairs, each name once, all known to the endpoint.

use kedge_protocol::percent;
use serde::Deserialize;

use crate::error::{ApiError, ApiResult};

/// A query parameter or header of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct RequestParameter {
    pub name: &'static str,
    /// JSON Schema: a type's name, or the whole schema as JSON.
    pub schema_type: &'static str,
    pub description: &'static str,
}

/// Bounds of a whole number in its JSON Schema.
#[derive(Deserialize)]
struct NumberSchema<'a> {
    #[serde(rename = "type")]
    schema_type: &'a str,
    #[serde(default)]
    minimum: u64,
    #[serde(default = "number_max")]
    maximum: u64,
}

fn number_max() -> u64 {
    u64::MAX
}

impl RequestParameter {
    /// A parameter of any text.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            schema_type: "string",
            description,
        }
    }

    /// Checks the value, if it is a whole number, against its schema's bounds.
    pub fn check_number(&self, query: &RequestQuery) -> ApiResult<()> {
        let name = self.name;
        // A test parses every row's schema.
        let Ok(schema) = serde_json::from_str::<NumberSchema<'_>>(self.schema_type) else {
            return Ok(());
        };
        if schema.schema_type != "integer" {
            return Ok(());
        }
        let bounds = schema.minimum..=schema.maximum;
        match query.number(name)? {
            Some(number) if !bounds.contains(&number) => {
                let (least, most) = bounds.into_inner();
                let message = format!("must be {least} to {most}. {}", self.description);
                Err(ApiError::field(&format!("/{name}"), "range", message))
            }
            _ => Ok(()),
        }
    }
}

/// Decoded query parameters.
#[derive(Clone, Default, Debug)]
pub struct RequestQuery(Vec<(String, String)>);

impl RequestQuery {
    /// Parses a query; every name must be among `known`.
    pub fn parse(query: Option<&str>, known: &[&[&str]]) -> ApiResult<Self> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !known.iter().any(|names| names.contains(&name.as_str())) {
                let names = known.concat().join(", ");
                let known = if names.is_empty() { "none" } else { &names };
                return Err(ApiError::parameter(
                    &format!("query parameter {name:?}"),
                    format_args!("is not known here; known: {known}"),
                ));
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(ApiError::parameter(&name, "appears twice in the query"));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    pub fn number(&self, name: &str) -> ApiResult<Option<u64>> {
        let number = |value| {
            let wrong = || ApiError::field(&format!("/{name}"), "type", "must be a whole number");
            decimal(value).ok_or_else(wrong)
        };
        self.get(name).map(number).transpose()
    }
}

/// A whole number in decimal digits, without sign or white space.
pub fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Undoes percent-encoding (RFC 3986, 2.1) and `+` for a space.
fn decode(text: &str) -> ApiResult<String> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let bytes = percent::decode(&text.replace('+', " ")).ok_or_else(bad_encoding)?;
    String::from_utf8(bytes).map_err(|_| bad_encoding())
}

fn bad_encoding() -> ApiError {
    ApiError::parameter("the query", "has a percent-encoding that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_known() {
        let known: &[&[&str]] = &[&["limit", "cursor"], &["owner_id"]];
        let query = RequestQuery::parse(Some("limit=20&cursor=a%2Bb+c"), known).unwrap();
        assert_eq!(query.number("limit").unwrap(), Some(20));
        assert_eq!(query.get("cursor"), Some("a+b c"));
        assert_eq!(query.get("owner_id"), None);
        for bad in [
            "limt=1",
            "limit=1&limit=2",
            "cursor=%zz",
            "cursor=%ff",
            "cursor=%2",
        ] {
            assert!(RequestQuery::parse(Some(bad), known).is_err(), "{bad}");
        }
        for bad in ["-1", "+1", "1.5", "", " 1", "18446744073709551616"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    // Holds invariant 230.
    #[test]
    fn numbers_keep_to_the_bounds_of_their_schema() {
        let of = |schema_type, query: &str| {
            let parameter = RequestParameter {
                name: "n",
                schema_type,
                description: "What it is.",
            };
            let query = RequestQuery::parse(Some(query), &[&["n"]]).unwrap();
            parameter
                .check_number(&query)
                .map_err(|error| error.message.into_owned())
        };
        let bounded = r#"{"type": "integer", "minimum": 1, "maximum": 9}"#;
        for good in ["", "n=1", "n=9"] {
            assert_eq!(of(bounded, good), Ok(()), "{good}");
        }
        for bad in ["n=0", "n=10"] {
            let message = "/n must be 1 to 9. What it is.".to_owned();
            assert_eq!(of(bounded, bad), Err(message), "{bad}");
        }
        let message = "/n must be a whole number".to_owned();
        assert_eq!(of(bounded, "n=one"), Err(message));
        assert_eq!(of(r#"{"type": "integer"}"#, "n=0"), Ok(()));
        assert_eq!(of(r#"{"type": "string", "pattern": "^x$"}"#, "n=0"), Ok(()));
        assert_eq!(of("string", "n=0"), Ok(()));
    }
}
