//! Shares: what one organization may have of what is scarce at one moment. A caller without an organization is held to
//! the share of its address.

use hyper::HeaderMap;
use kedge_protocol::Id;
use metrics::counter;

use super::ClientAddress;
use super::fields;
use super::refusal::limited;
use crate::clock::now_s;
use crate::error::ApiError;
use crate::metric_definitions::RATE_LIMITED;

macro_rules! shares {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $retry_after_s:literal, $what:literal;)*) => {
        /// What a share is of. The names are part of the interface, like those of policies.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Share { $($(#[$doc])* $name),* }

        impl Share {
            /// Every share.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that callers see.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Seconds after which there may be room again.
            const fn retry_after_s(self) -> u64 {
                match self { $(Self::$name => $retry_after_s),* }
            }

            /// What it is a share of, in words.
            const fn what(self) -> &'static str {
                match self { $(Self::$name => $what),* }
            }
        }
    };
}

shares! {
    /// Requests in flight.
    Requests = "requests-in-flight", 1, "requests in flight";
    /// Event streams.
    Streams = "event-streams", 30, "event streams";
    /// Contents of files and exports that are being sent.
    Downloads = "downloads", 5, "downloads";
    /// Searches, counts and reads of the past.
    LongReads = "long-reads", 1, "long reads";
    /// Pages of lists.
    Pages = "page-reads", 1, "pages being read";
    /// Claims being checked.
    Claims = "claim-checks", 1, "claims being checked";
    /// Test messages to webhooks.
    WebhookTests = "webhook-attempts", 5, "attempts at webhooks";
}

/// The holder of a share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    /// An organization.
    Organization(Id),
    /// An address that names none.
    Address(ClientAddress),
}

impl Share {
    /// 429: the caller has all of its share, which is `limit`.
    pub fn refused(self, limit: usize) -> ApiError {
        counter!(RATE_LIMITED, "policy" => self.name()).increment(1);
        let (name, wait_s) = (self.name(), self.retry_after_s());
        let message = format!(
            "the share {name} of {limit} {} at one time is used up; try again in {wait_s} s",
            self.what()
        );
        let mut headers = HeaderMap::with_capacity(5);
        fields::write_share(&mut headers, name, limit as u64, wait_s, now_s());
        limited(name, message, wait_s, &headers)
    }

    /// 503: others have everything.
    pub fn all_taken(self) -> ApiError {
        let (what, wait_s) = (self.what(), self.retry_after_s());
        let message = format!("the server is at its limit of {what}; try again in {wait_s} s");
        ApiError::unavailable(message, wait_s)
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Code;

    use super::*;
    use crate::error::Detail;

    #[test]
    fn a_refusal_names_its_share() {
        let error = Share::Streams.refused(12);
        assert_eq!(error.code, Code::RateLimited);
        assert_eq!(
            error.detail,
            Detail::Limit {
                policy: "event-streams"
            }
        );
        let header = |name: &str| {
            let mut headers = error.headers.iter();
            let found = headers.find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(header("retry-after"), Some("30"));
        assert_eq!(header("x-ratelimit-limit"), Some("12"));
        assert_eq!(header("x-ratelimit-remaining"), Some("0"));
        let policy = r#""event-streams";q=12;qu="concurrent-requests""#;
        assert_eq!(header("ratelimit-policy"), Some(policy));
        assert_eq!(header("ratelimit"), Some(r#""event-streams";r=0;t=30"#));
    }
}
