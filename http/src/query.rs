//! The query of a request: `name=value` pairs, each name once, none that the endpoint does not know.

use kedge_protocol::percent;

use crate::error::ApiError;

/// A parameter of the query, or a header.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its JSON Schema: the name of a type, or the whole as JSON text.
    pub schema_type: &'static str,
    /// What it does.
    pub description: &'static str,
}

/// The parameters of a request, decoded.
#[derive(Clone, Default, Debug)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query; every name must be among `known`.
    pub fn parse(query: Option<&str>, known: &[&[&str]]) -> Result<Self, ApiError> {
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

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// A parameter that is a whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        self.get(name)
            .map(|value| {
                decimal(value).ok_or_else(|| ApiError::parameter(name, "must be a whole number"))
            })
            .transpose()
    }
}

/// A whole number in plain decimal digits: no sign, no white space.
pub fn decimal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Undoes percent-encoding (RFC 3986, 2.1) and `+` for a space.
fn decode(text: &str) -> Result<String, ApiError> {
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
        let query = Query::parse(Some("limit=20&cursor=a%2Bb+c"), known).unwrap();
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
            assert!(Query::parse(Some(bad), known).is_err(), "{bad}");
        }
        for bad in ["-1", "+1", "1.5", "", " 1", "18446744073709551616"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }
}
