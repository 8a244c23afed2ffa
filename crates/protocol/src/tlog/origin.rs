//! The origin of a log's notes: `<host>/<chain id>/<verifying contract>`. Witnesses keep what they know of a log under
//! its origin, so it is made once and never changes.

use std::fmt;

use url::Url;

use crate::eip712::Domain;
use crate::hash::to_hex;
use crate::limits::TLOG_ORIGIN_BYTES_MAX;

/// The first line of a log's notes, and the name in each of its signature lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlogOrigin(String);

/// Why there is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlogOriginError {
    /// The text is not an absolute URL.
    #[error("not a URL: {0}")]
    Url(#[from] url::ParseError),
    /// The URL's scheme is neither `http` nor `https`.
    #[error("the URL's scheme is {0:?}; a log's is http or https")]
    Scheme(String),
    /// The origin does not end with the log's chain id and contract.
    #[error("the origin does not end with {0:?}")]
    OtherLog(String),
    /// The part before the chain id is not a host as the URL standard writes it, or holds a `+`.
    #[error("{0:?} is no host that a note may name")]
    Host(String),
    /// Longer than a cosigned message can name.
    #[error("the origin has {0} bytes; the limit is {TLOG_ORIGIN_BYTES_MAX}")]
    TooLong(usize),
}

impl TlogOrigin {
    /// The origin of a log that is served at `public_url`: the host as the URL standard (WHATWG) serialises it, the
    /// chain id, and the contract in lower case. Port, path and user are left out.
    ///
    /// # Errors
    /// Why a log at this URL has no tiles.
    pub fn of_url(public_url: &str, domain: &Domain) -> Result<Self, TlogOriginError> {
        let url = Url::parse(public_url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TlogOriginError::Scheme(url.scheme().to_owned()));
        }
        let host = url.host_str().unwrap_or_default();
        Self::parse(&format!("{host}{}", suffix(domain)), domain)
    }

    /// Reads the origin of a note, or one that is kept with the log: any host, and the chain id and contract of the
    /// domain. A host's internationalised labels are not checked, so that the answer is the same with every version of
    /// Unicode.
    ///
    /// # Errors
    /// The text is not an origin of this log.
    pub fn parse(text: &str, domain: &Domain) -> Result<Self, TlogOriginError> {
        let suffix = suffix(domain);
        let Some(host) = text.strip_suffix(&suffix) else {
            return Err(TlogOriginError::OtherLog(suffix));
        };
        if host.is_empty() || !host.bytes().all(may_be_in_host) {
            return Err(TlogOriginError::Host(host.to_owned()));
        }
        if text.len() > TLOG_ORIGIN_BYTES_MAX {
            return Err(TlogOriginError::TooLong(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text of the origin.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TlogOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn suffix(domain: &Domain) -> String {
    let contract = to_hex(&domain.verifying_contract.0);
    format!("/{}/{contract}", domain.chain_id)
}

/// Whether a serialised host may hold the byte: none of the standard's forbidden code points but the colons and
/// brackets of IPv6, no upper case, and no `+`, which no name in a note may hold.
fn may_be_in_host(byte: u8) -> bool {
    byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && !b"#%+/<>?@\\^|".contains(&byte)
}
