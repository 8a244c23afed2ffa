//! What an edge sends to the leader over the cluster's servers, and the answer, as bytes: a version and bincode. Both are
//! bounded. What does not read back to its last byte is malformed.

use std::net::IpAddr;
use std::str::FromStr as _;
use std::time::Duration;

use bincode::config::{Configuration, Limit};
use bincode::{Decode, Encode};
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use kedge_protocol::Hash;

/// The version of both.
const VERSION: u8 = 1;
/// Bytes of the longest body of a request that is sent this way.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of the longest request, with its headers.
const REQUEST_BYTES_MAX: usize = BODY_BYTES_MAX + 256 * 1024;
/// Bytes of the longest answer: the receipts of 500 actions have a part of it.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

const REQUESTS: Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    Limit<REQUEST_BYTES_MAX>,
> = bincode::config::standard().with_limit::<REQUEST_BYTES_MAX>();
const ANSWERS: Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    Limit<ANSWER_BYTES_MAX>,
> = bincode::config::standard().with_limit::<ANSWER_BYTES_MAX>();

type Fields = Vec<(String, Vec<u8>)>;

/// A message that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

fn malformed(error: &dyn std::fmt::Display) -> Malformed {
    Malformed(error.to_string())
}

/// A request that an edge submits.
#[derive(Encode, Decode, Clone, PartialEq, Eq, Debug)]
pub struct Submitted {
    /// The caller's address.
    pub caller: IpAddr,
    /// How long the edge waits for the answer, in milliseconds.
    pub patience_ms: u32,
    /// The digest whose signature the edge has checked.
    pub checked: [u8; 32],
    method: String,
    path: String,
    headers: Fields,
    body: Vec<u8>,
}

/// What the leader answers.
#[derive(Encode, Decode, Clone, PartialEq, Eq, Debug)]
pub enum Answered {
    /// The answer to the caller.
    Given {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Fields,
        /// Its body.
        body: Vec<u8>,
    },
    /// Nothing was done, for this reason.
    Refused(Refusal),
    /// Something may have been done, but its answer cannot be sent this way.
    TooLong,
}

/// Why the leader did nothing.
#[derive(Encode, Decode, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It does not trust the edge, or no longer.
    Untrusted,
    /// It does not read the message.
    Malformed,
    /// Too many requests of edges are in flight.
    Crowded,
}

fn write(value: impl Encode, config: impl bincode::config::Config) -> Result<Bytes, Malformed> {
    let mut bytes = vec![VERSION];
    bincode::encode_into_std_write(value, &mut bytes, config).map_err(|error| malformed(&error))?;
    Ok(bytes.into())
}

fn read<T: Decode<()>>(bytes: &[u8], config: impl bincode::config::Config) -> Result<T, Malformed> {
    let (&version, rest) = bytes
        .split_first()
        .ok_or_else(|| malformed(&"it is empty"))?;
    if version != VERSION {
        return Err(Malformed(format!(
            "its version is {version}, not {VERSION}"
        )));
    }
    let (value, length) =
        bincode::decode_from_slice(rest, config).map_err(|error| malformed(&error))?;
    if length != rest.len() {
        return Err(malformed(&"it has bytes after its end"));
    }
    Ok(value)
}

fn fields(headers: &HeaderMap) -> Fields {
    let field = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    headers.iter().map(field).collect()
}

fn headers(fields: Fields) -> Result<HeaderMap, Malformed> {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        let name = HeaderName::from_str(&name).map_err(|error| malformed(&error))?;
        let value = HeaderValue::from_bytes(&value).map_err(|error| malformed(&error))?;
        headers.append(name, value);
    }
    Ok(headers)
}

impl Submitted {
    /// A request with a whole body.
    pub fn of(
        parts: &Parts,
        body: &Bytes,
        caller: IpAddr,
        checked: Hash,
        patience: Duration,
    ) -> Self {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        Self {
            caller,
            patience_ms: u32::try_from(patience.as_millis()).unwrap_or(u32::MAX),
            checked: checked.0,
            method: parts.method.as_str().to_owned(),
            path: path.to_owned(),
            headers: fields(&parts.headers),
            body: body.to_vec(),
        }
    }

    /// Writes it; nothing if it is too long.
    pub fn write(&self) -> Option<Bytes> {
        let bytes = write(self, REQUESTS).ok()?;
        (bytes.len() <= REQUEST_BYTES_MAX).then_some(bytes)
    }

    /// Reads one.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > REQUEST_BYTES_MAX {
            return Err(malformed(&"it is too long"));
        }
        read(bytes, REQUESTS)
    }

    /// The request itself.
    pub fn into_request(self) -> Result<Request<Bytes>, Malformed> {
        let mut request = Request::new(Bytes::from(self.body));
        let method = Method::from_bytes(self.method.as_bytes());
        *request.method_mut() = method.map_err(|error| malformed(&error))?;
        *request.uri_mut() = self
            .path
            .parse::<Uri>()
            .map_err(|error| malformed(&error))?;
        *request.headers_mut() = headers(self.headers)?;
        Ok(request)
    }
}

impl Answered {
    /// A node's answer.
    pub fn of(response: Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        Self::Given {
            status: parts.status.as_u16(),
            headers: fields(&parts.headers),
            body: body.to_vec(),
        }
    }

    /// Writes it.
    pub fn write(&self) -> Bytes {
        let written = write(self, ANSWERS).ok();
        let short = written.filter(|bytes| bytes.len() <= ANSWER_BYTES_MAX);
        // A variant without contents always fits.
        short.unwrap_or_else(|| write(&Self::TooLong, ANSWERS).unwrap_or_default())
    }

    /// Reads one.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(malformed(&"it is too long"));
        }
        read(bytes, ANSWERS)
    }

    /// The answer for the caller, of what a node gave.
    pub fn response(
        status: u16,
        fields: Fields,
        body: Vec<u8>,
    ) -> Result<Response<Bytes>, Malformed> {
        let mut response = Response::new(Bytes::from(body));
        let status = StatusCode::from_u16(status);
        *response.status_mut() = status.map_err(|error| malformed(&error))?;
        *response.headers_mut() = headers(fields)?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submitted(body: &[u8]) -> Submitted {
        let request = Request::builder()
            .method("POST")
            .uri("/objects?a=1")
            .header("x-signature", "0x12")
            .header("prefer", "return=minimal")
            .header("prefer", "other");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let caller = "192.0.2.1".parse().unwrap();
        let body = Bytes::copy_from_slice(body);
        let digest = Hash([7; 32]);
        Submitted::of(&parts, &body, caller, digest, Duration::from_secs(3))
    }

    #[test]
    fn a_request_reads_back_as_it_was() {
        let sent = submitted(b"{}");
        let bytes = sent.write().unwrap();
        let read = Submitted::read(&bytes).unwrap();
        assert_eq!(read, sent);
        assert_eq!((read.patience_ms, read.checked), (3_000, [7; 32]));
        let request = read.into_request().unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "/objects?a=1");
        assert_eq!(request.headers().get_all("prefer").iter().count(), 2);
        assert_eq!(request.headers()["x-signature"], "0x12");
        assert_eq!(request.body(), "{}");
    }

    #[test]
    fn an_answer_reads_back_as_it_was_and_a_long_one_is_named() {
        let mut response = Response::new(Bytes::from_static(b"{}"));
        response
            .headers_mut()
            .insert("x-sequence", HeaderValue::from_static("7"));
        for answered in [
            Answered::of(response),
            Answered::Refused(Refusal::Crowded),
            Answered::TooLong,
        ] {
            assert_eq!(Answered::read(&answered.write()), Ok(answered));
        }
        let long = Answered::of(Response::new(vec![0; ANSWER_BYTES_MAX].into()));
        assert_eq!(Answered::read(&long.write()), Ok(Answered::TooLong));
    }

    #[test]
    fn what_is_cut_too_long_or_of_another_version_is_malformed() {
        let bytes = submitted(b"{\"a\":1}").write().unwrap();
        for length in 0..bytes.len() {
            assert!(Submitted::read(&bytes[..length]).is_err(), "{length}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(Submitted::read(&longer).is_err());
        let mut other = bytes.to_vec();
        other[0] = 2;
        assert!(Submitted::read(&other).is_err());
        assert!(submitted(&vec![b' '; REQUEST_BYTES_MAX]).write().is_none());
        // A length that no bytes follow takes no memory.
        let huge = [&[VERSION][..], &[0xff; 64]].concat();
        assert!(Submitted::read(&huge).is_err());
        let mut wrong = submitted(b"");
        wrong.method = "NO METHOD".to_owned();
        assert!(wrong.into_request().is_err());
        let mut wrong = submitted(b"");
        wrong.headers.push(("a b".to_owned(), Vec::new()));
        assert!(wrong.into_request().is_err());
    }
}
