//! Node URLs, with their secrets kept out of logs.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::Uri;
use hyper::header::HeaderValue;
use kedge_protocol::percent;

use super::error::EndpointError;

/// A node's URL. Credentials (`user:password@`) go into a header; `Display` and `Debug` show only scheme, host and
/// port, because hosted nodes carry their access key in the path or the query.
#[derive(Clone)]
pub struct RpcEndpoint {
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl RpcEndpoint {
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

impl FromStr for RpcEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let (scheme, rest) = text.split_once("://").ok_or(EndpointError::Scheme)?;
        if scheme != "http" && scheme != "https" {
            return Err(EndpointError::Scheme);
        }
        let authority_length = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_length);
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority),
        };
        if host.is_empty() {
            return Err(EndpointError::Malformed);
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        let uri = format!("{scheme}://{host}{path}")
            .parse()
            .map_err(|_| EndpointError::Malformed)?;
        let authorization = credentials.map(basic_authorization).transpose()?;
        Ok(Self { uri, authorization })
    }
}

/// Header of RFC 7617's Basic scheme, from percent-decoded user and password.
fn basic_authorization(credentials: &str) -> Result<HeaderValue, EndpointError> {
    let decoded = percent::decode(credentials).ok_or(EndpointError::Malformed)?;
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64.encode(decoded)))
        .map_err(|_| EndpointError::Malformed)?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Display for RpcEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.uri.scheme_str().unwrap_or("http");
        let host = self.uri.host().unwrap_or("");
        write!(f, "{scheme}://{host}")?;
        match self.uri.port() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for RpcEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let endpoint: RpcEndpoint = "https://user:p%40ss@node.example:8545/v3/secret-key?token=abc"
            .parse()
            .unwrap();
        assert_eq!(endpoint.to_string(), "https://node.example:8545");
        assert_eq!(format!("{endpoint:?}"), "https://node.example:8545");
        assert_eq!(
            endpoint.authorization().unwrap().to_str().unwrap(),
            "Basic dXNlcjpwQHNz"
        );
        assert_eq!(endpoint.uri().path(), "/v3/secret-key");
        assert_eq!(endpoint.uri().query(), Some("token=abc"));
    }

    #[test]
    fn only_http_and_https() {
        assert_eq!(
            "ws://127.0.0.1:8545".parse::<RpcEndpoint>().unwrap_err(),
            EndpointError::Scheme
        );
        assert_eq!(
            "http:///path".parse::<RpcEndpoint>().unwrap_err(),
            EndpointError::Malformed
        );
        let plain: RpcEndpoint = "http://127.0.0.1:8545".parse().unwrap();
        assert_eq!(plain.uri().to_string(), "http://127.0.0.1:8545/");
        assert!(plain.authorization().is_none());
    }
}
