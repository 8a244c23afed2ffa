//! The five headers of a signed request.

use hyper::HeaderMap;
use kedge_protocol::Code;
use kedge_protocol::limits::DEADLINE_AHEAD_S_MAX;
use kedge_protocol::signature::{Signature, SignatureError};
use kedge_protocol::{Address, Hash};

use crate::error::{ApiError, ApiResult};
use crate::query::decimal;

/// r ‖ s ‖ v, hexadecimal.
const SIGNATURE: &str = "x-signature";
const ADDRESS: &str = "x-signature-address";
const NONCE: &str = "x-signature-nonce";
const DEADLINE: &str = "x-signature-deadline";
const SALT: &str = "x-signature-salt";

pub const ALL: [&str; 5] = [SIGNATURE, ADDRESS, NONCE, DEADLINE, SALT];

/// The parsed headers, not yet checked against the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignatureHeaders {
    pub signature: Signature,
    /// The alleged signer.
    pub signer: Address,
    pub nonce: u64,
    /// Unix seconds.
    pub deadline_s: u64,
    pub salt_seed: Hash,
}

impl SignatureHeaders {
    /// Parses the headers. A missing one is SIGNATURE_REQUIRED, an unreadable one SIGNATURE_INVALID. A deadline too far
    /// ahead is VALIDATION_ERROR, because the signer is not in doubt. [`Self::check_deadline`] checks whether it has
    /// passed.
    pub fn read(headers: &HeaderMap, now_s: u64) -> ApiResult<Self> {
        let missing: Vec<&str> = ALL
            .into_iter()
            .filter(|name| !headers.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            return Err(ApiError::new(
                Code::SignatureRequired,
                format!(
                    "this request changes something and must be signed; missing: {}",
                    missing.join(", ")
                ),
            ));
        }
        let read = Self {
            signature: parsed(headers, SIGNATURE, |text| {
                text.parse()
                    .map_err(|error: SignatureError| error.to_string())
            })?,
            signer: parsed(headers, ADDRESS, |text| {
                text.parse::<Address>().map_err(|error| error.to_string())
            })?,
            nonce: parsed(headers, NONCE, number)?,
            deadline_s: parsed(headers, DEADLINE, number)?,
            salt_seed: parsed(headers, SALT, |text| {
                text.parse::<Hash>().map_err(|error| error.to_string())
            })?,
        };
        if read.deadline_s.saturating_sub(now_s) > DEADLINE_AHEAD_S_MAX {
            return Err(ApiError::parameter(
                DEADLINE,
                format_args!(
                    "may be at most {DEADLINE_AHEAD_S_MAX} s ahead; the server's time is {now_s}"
                ),
            ));
        }
        Ok(read)
    }

    /// The signer that a request names, without proof.
    pub fn signer(headers: &HeaderMap) -> Option<Address> {
        let mut named = headers.get_all(ADDRESS).iter();
        let only = named.next().filter(|_| named.next().is_none())?;
        only.to_str().ok()?.trim().parse().ok()
    }

    /// Refuses a request whose deadline has passed. One carried out before its deadline is still answered after it.
    pub fn check_deadline(&self, now_s: u64) -> ApiResult<()> {
        if self.deadline_s >= now_s {
            return Ok(());
        }
        Err(ApiError::new(
            Code::DeadlineExpired,
            format!(
                "{DEADLINE} {} is past; the server's time is {now_s}",
                self.deadline_s
            ),
        ))
    }
}

fn number(text: &str) -> Result<u64, String> {
    decimal(text).ok_or_else(|| "must be a whole decimal number below 2^64".to_owned())
}

fn parsed<T>(
    headers: &HeaderMap,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> ApiResult<T> {
    let invalid = |why: &str| ApiError::new(Code::SignatureInvalid, format!("{name}: {why}"));
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(invalid("appears twice"));
    }
    let text = first.and_then(|value| value.to_str().ok());
    let text = text.ok_or_else(|| invalid("must be plain ASCII"))?;
    parse(text.trim()).map_err(|why| invalid(&why))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use kedge_protocol::signature::SigningKey;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn good() -> HeaderMap {
        let key = SigningKey::from_bytes(&[1; 32]).unwrap();
        let mut headers = HeaderMap::new();
        let values = [
            key.sign(&Hash([2; 32])).to_string(),
            key.address().to_string(),
            "7".to_owned(),
            (NOW_S + 60).to_string(),
            Hash([3; 32]).to_string(),
        ];
        for (name, value) in ALL.into_iter().zip(values) {
            headers.insert(name, HeaderValue::from_str(&value).unwrap());
        }
        headers
    }

    #[test]
    fn each_wrong_header_has_its_code() {
        let read = SignatureHeaders::read(&good(), NOW_S).unwrap();
        assert_eq!((read.nonce, read.deadline_s), (7, NOW_S + 60));
        let high_s = format!("0x{}{}1b", "01".repeat(32), "ff".repeat(31) + "01");
        let cases = [
            (SIGNATURE, "", Code::SignatureInvalid),
            (SIGNATURE, "0x1234", Code::SignatureInvalid),
            (SIGNATURE, &high_s, Code::SignatureInvalid),
            (
                ADDRESS,
                "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
                Code::SignatureInvalid,
            ),
            (NONCE, "-1", Code::SignatureInvalid),
            (NONCE, "18446744073709551616", Code::SignatureInvalid),
            (DEADLINE, "soon", Code::SignatureInvalid),
            (DEADLINE, "1799999999", Code::DeadlineExpired),
            (DEADLINE, "1800086401", Code::ValidationError),
            (SALT, "0xzz", Code::SignatureInvalid),
        ];
        for (name, value, code) in cases {
            let mut headers = good();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            let read = SignatureHeaders::read(&headers, NOW_S);
            let checked = read.and_then(|read| read.check_deadline(NOW_S));
            let error = checked.unwrap_err();
            assert_eq!(error.code, code, "{name}: {value}");
            assert!(error.message.contains(name), "{}", error.message);
        }
        for name in ALL {
            let mut headers = good();
            headers.remove(name);
            let error = SignatureHeaders::read(&headers, NOW_S).unwrap_err();
            assert_eq!(error.code, Code::SignatureRequired, "{name}");
            assert!(error.message.ends_with(name), "{}", error.message);
        }
    }
}
