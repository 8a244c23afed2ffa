//! Errors for requests over a limit.

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use kedge_net::window::WindowPeriod;
use kedge_protocol::Code;
use metrics::counter;

use super::fields;
use super::policy::{LimitPolicy, LimitStatus};
use crate::error::{ApiError, ErrorDetail};
use crate::metric_definitions::RATE_LIMITED;

/// 429 for the limit without room.
pub(super) fn refuse(standing: &LimitStatus, now_s: u64) -> ApiError {
    let policy = standing.policy;
    counter!(RATE_LIMITED, "policy" => policy.name()).increment(1);
    let wait_s = standing.resets_in_s(now_s);
    let what = match policy {
        LimitPolicy::LoginAddress | LimitPolicy::LoginAccount | LimitPolicy::LoginAccountHour => {
            "failed logins"
        }
        _ => "requests",
    };
    let window = match policy.period() {
        WindowPeriod::Minute => "a minute",
        WindowPeriod::QuarterHour => "in 15 minutes",
        WindowPeriod::Hour => "an hour",
        WindowPeriod::Day => "a day",
    };
    let message = format!(
        "the limit {} of {} {what} {window} is used up; try again in {wait_s} s",
        policy.name(),
        standing.limit
    );
    let mut headers = HeaderMap::with_capacity(5);
    let quota = fields::policy(&[(policy, standing.limit)]);
    fields::write(&mut headers, &mut [*standing], quota, now_s);
    limited(policy.name(), message, wait_s, &headers)
}

/// 429 for a limit or share of this name, with the headers that describe it.
pub(super) fn limited(
    name: &'static str,
    message: String,
    wait_s: u64,
    headers: &HeaderMap,
) -> ApiError {
    let error = ApiError {
        detail: ErrorDetail::Limit { policy: name },
        ..ApiError::new(Code::RateLimited, message)
    };
    let error = error.with_header(RETRY_AFTER, wait_s.to_string());
    headers.iter().fold(error, |error, (name, value)| {
        let text = value.to_str().unwrap_or_default();
        error.with_header(name.clone(), text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_limit_and_says_when_to_come_back() {
        let now_s = 1_795_255_308;
        let standing = LimitStatus {
            policy: LimitPolicy::ActionBatches,
            limit: 10,
            remaining: 0,
            resets_at_s: 1_795_255_320,
        };
        let error = refuse(&standing, now_s);
        assert_eq!(error.code, Code::RateLimited);
        let header = |name: &str| {
            let mut headers = error.headers.iter();
            headers
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(header("retry-after"), Some("12"));
        assert_eq!(header("x-ratelimit-limit"), Some("10"));
        assert_eq!(header("x-ratelimit-remaining"), Some("0"));
        assert_eq!(header("x-ratelimit-reset"), Some("1795255320"));
        assert_eq!(header("ratelimit"), Some(r#""action-batches";r=0;t=12"#));
        assert_eq!(
            error.message,
            "the limit action-batches of 10 requests a minute is used up; try again in 12 s"
        );
    }
}
