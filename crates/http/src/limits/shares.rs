//! Shares of scarce resources for each organization, or for the address of a caller without one.

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
        /// Resource of a share. The names are part of the interface, like those of policies.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum ShareKind { $($(#[$doc])* $name),* }

        impl ShareKind {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that callers see.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Seconds after which there may be room.
            const fn retry_after_s(self) -> u64 {
                match self { $(Self::$name => $retry_after_s),* }
            }

            /// Description for error texts.
            const fn what(self) -> &'static str {
                match self { $(Self::$name => $what),* }
            }
        }
    };
}

shares! {
    Requests = "requests-in-flight", 1, "requests in flight";
    Streams = "event-streams", 30, "event streams";
    /// File contents and exports being sent.
    Downloads = "downloads", 5, "downloads";
    /// Searches, counts and reads of past states.
    LongReads = "long-reads", 1, "long reads";
    /// Pages of lists.
    Pages = "page-reads", 1, "pages being read";
    Claims = "claim-checks", 1, "claims being checked";
    WebhookTests = "webhook-attempts", 5, "attempts at webhooks";
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShareHolder {
    Organization(Id),
    /// An address without an organization.
    Address(ClientAddress),
}

impl ShareKind {
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

    /// 503: others hold everything.
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
    use crate::error::ErrorDetail;

    #[test]
    fn a_refusal_names_its_share() {
        let error = ShareKind::Streams.refused(12);
        assert_eq!(error.code, Code::RateLimited);
        assert_eq!(
            error.detail,
            ErrorDetail::Limit {
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
