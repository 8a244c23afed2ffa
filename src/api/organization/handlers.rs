//! The caller's organization: its tier, its limits, and forecasts of their use.

use hyper::StatusCode;
use hyper::header::IF_NONE_MATCH;
use kedge_http::clock::now_ms;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{
    LOG_BYTES, LimitPolicy, LimitUse, LogUse, OrganizationLimits, PerLimit, WindowPeriod, price_of,
};
use kedge_http::preconditions;
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{ResourceIdText, TimeText};
use kedge_protocol::Code;
use kedge_protocol::resource::Organization;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::call::HandlerCall;
use crate::api::row::PRIVATE;

/// An organization, as its members see it.
#[derive(Serialize, JsonSchema)]
pub struct OwnOrganization {
    id: ResourceIdText,
    name: String,
    /// `free`, `developer`, `enterprise`, or `custom` for what was agreed with the operator.
    tier: &'static str,
    /// The price of the tier.
    price: &'static str,
    /// How many requests it may send, and how many bytes it may have in the log; null is no limit.
    limits: LimitsView,
    /// How many requests it has sent, including this one.
    usage: UsageView,
    /// When each limit will be reached; null if there is no limit.
    forecast: ForecastView,
}

/// The limits of an organization.
#[derive(Serialize, JsonSchema)]
struct LimitsView {
    #[serde(flatten)]
    requests: OrganizationLimits,
    /// Bytes that its requests may add to the log, with the objects and variations that they make
    /// (`log-bytes`). Beyond that, writes are refused with 403.
    log_bytes: Option<u64>,
}

/// When each limit will be used up.
#[derive(Serialize, JsonSchema)]
struct ForecastView {
    #[serde(flatten)]
    requests: PerLimit<Option<LimitForecast>>,
    /// The bytes in the log.
    log_bytes: Option<LogForecast>,
}

/// When the log's quota is used up.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct LogForecast {
    /// The quota's name, as in `policy` of a refusal.
    policy: &'static str,
    /// Bytes left.
    remaining: u64,
    /// When nothing will be left, if bytes continue to be added at the average rate since the
    /// organization was created; null if that is too far away to tell.
    exhausted_at: Option<TimeText>,
}

/// The latest time that a forecast can state: the year 9999.
const FORECAST_MS_MAX: u64 = 253_402_300_799_000;

fn log_forecast(used: LogUse, made_at_ms: u64, now_ms: u64) -> Option<LogForecast> {
    let limit = used.limit?;
    let remaining = limit.saturating_sub(used.bytes);
    let gone_ms = u128::from(now_ms.saturating_sub(made_at_ms).max(1_000));
    let left_ms = u128::from(remaining) * gone_ms / u128::from(used.bytes.max(1));
    let at_ms = u128::from(now_ms) + left_ms;
    let at_ms = u64::try_from(at_ms).ok();
    Some(LogForecast {
        policy: LOG_BYTES,
        remaining,
        exhausted_at: at_ms.filter(|at| *at <= FORECAST_MS_MAX).map(TimeText),
    })
}

/// Requests counted in the current windows.
#[derive(Serialize, JsonSchema)]
struct UsageView {
    /// In this minute.
    minute: MinuteUsage,
    /// On this UTC day.
    day: DayUsage,
    /// Bytes that its requests have added to the log, with the objects and variations that they made.
    log_bytes: u64,
}

/// Requests counted in this minute.
#[derive(Serialize, JsonSchema)]
struct MinuteUsage {
    /// All requests that count.
    requests: u64,
    /// POST /objects and PATCH /objects/{id}.
    object_writes: u64,
    /// POST /ebus/actions/batch.
    action_batches: u64,
    /// POST /files.
    file_uploads: u64,
    /// POST /templates.
    template_writes: u64,
    /// GET /objects, GET /templates and GET /batches.
    list_reads: u64,
}

/// Requests counted on this UTC day.
#[derive(Serialize, JsonSchema)]
struct DayUsage {
    /// All requests that count.
    requests: u64,
}

/// The forecast of a limit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Forecast")]
struct LimitForecast {
    /// The limit's name, as in `policy` of a refusal.
    policy: &'static str,
    /// Requests left in this window.
    remaining: u64,
    /// When the next window begins.
    resets_at: TimeText,
    /// When nothing will be left, if requests continue at the rate since the window began; null if
    /// the window ends first.
    exhausted_at: Option<TimeText>,
}

/// When `limit` is reached at the rate of this window so far, if that is before it ends.
fn exhausted_at_ms(limit: u64, used: u64, period: WindowPeriod, now_ms: u64) -> Option<u64> {
    if used >= limit {
        return Some(now_ms);
    }
    let window = period.window(now_ms / 1000);
    let (begun_ms, ends_ms) = (period.begins_s(window) * 1000, period.ends_s(window) * 1000);
    // The first requests of a window show no rate yet.
    let gone_ms = (now_ms - begun_ms).max(1_000);
    // In 128 bits: the factors are far below 2^64, but their product may not be.
    let left_ms = u128::from(limit - used) * u128::from(gone_ms) / u128::from(used.max(1));
    let at_ms = u128::from(now_ms) + left_ms;
    let is_before_reset = used > 0 && at_ms < u128::from(ends_ms);
    is_before_reset.then_some(at_ms as u64)
}

fn forecast(
    policy: LimitPolicy,
    limit: Option<u64>,
    used: u64,
    now_ms: u64,
) -> Option<LimitForecast> {
    let limit = limit?;
    let period = policy.period();
    let window = period.window(now_ms / 1000);
    Some(LimitForecast {
        policy: policy.name(),
        remaining: limit.saturating_sub(used),
        resets_at: TimeText(period.ends_s(window) * 1000),
        exhausted_at: exhausted_at_ms(limit, used, period, now_ms).map(TimeText),
    })
}

impl UsageView {
    fn of(used: &PerLimit<u64>, log_bytes: u64) -> Self {
        Self {
            log_bytes,
            minute: MinuteUsage {
                requests: used.requests_per_minute,
                object_writes: used.object_writes_per_minute,
                action_batches: used.action_batches_per_minute,
                file_uploads: used.file_uploads_per_minute,
                template_writes: used.template_writes_per_minute,
                list_reads: used.list_reads_per_minute,
            },
            day: DayUsage {
                requests: used.requests_per_day,
            },
        }
    }
}

/// `GET /organizations/me`
pub async fn me(call: HandlerCall) -> ApiResult<HttpReply> {
    let id = call.session()?.organization_id;
    let published = call.published();
    let organization = published.snapshot.organization(id)?.ok_or_else(|| {
        ApiError::new(
            Code::Unauthenticated,
            "the token's organization does not exist",
        )
    })?;
    let now_ms = now_ms();
    let usage = call.services.limits.rates.used(id, now_ms / 1000)?;
    let log = call.services.limits.rates.log_use(id)?;
    // The count of this request is given back if the answer is 304. So the caller's cached answer is compared with the
    // answer as it would be without this request.
    if call.headers.contains_key(IF_NONE_MATCH) {
        let shown = without_one(&usage);
        let same = tag(&organization, &shown, log, now_ms)?;
        let reply = answer(&organization, &shown, log, now_ms, published.head.sequence)?;
        let reply = reply.tagged(&call.headers, &same, PRIVATE);
        if reply.status == StatusCode::NOT_MODIFIED {
            return Ok(reply);
        }
    }
    let tag = tag(&organization, &usage, log, now_ms)?;
    let reply = answer(&organization, &usage, log, now_ms, published.head.sequence)?;
    // Other requests may have been given back meanwhile, which leads to the caller's cached answer.
    Ok(reply.tagged(&call.headers, &tag, PRIVATE))
}

fn answer(
    organization: &Organization,
    usage: &LimitUse,
    log: LogUse,
    now_ms: u64,
    sequence: u64,
) -> ApiResult<HttpReply> {
    HttpReply::ok(
        sequence,
        &OwnOrganization::of(organization, usage, log, now_ms),
    )
}

/// The tag of an answer. It covers everything except the forecasts: these are estimates and differ in each millisecond.
fn tag(
    organization: &Organization,
    usage: &LimitUse,
    log: LogUse,
    now_ms: u64,
) -> ApiResult<String> {
    let mut view = OwnOrganization::of(organization, usage, log, now_ms);
    if let Some(log) = &mut view.forecast.log_bytes {
        log.exhausted_at = None;
    }
    view.forecast.requests = PerLimit::each(|policy| {
        let shown = view.forecast.requests.of(policy).cloned().flatten()?;
        Some(LimitForecast {
            exhausted_at: None,
            ..shown
        })
    });
    let bytes = serde_json::to_vec(&view).map_err(|error| ApiError::internal(&error))?;
    Ok(preconditions::answer_tag(&organization.trace, &bytes))
}

/// The counts before the current request.
fn without_one(usage: &LimitUse) -> LimitUse {
    let mut before = usage.clone();
    for count in [
        &mut before.used.requests_per_minute,
        &mut before.used.requests_per_day,
    ] {
        *count = count.saturating_sub(1);
    }
    before
}

impl OwnOrganization {
    fn of(organization: &Organization, usage: &LimitUse, log: LogUse, now_ms: u64) -> Self {
        let LimitUse { tier, limits, used } = usage;
        Self {
            id: ResourceIdText(organization.id),
            name: organization.name.clone(),
            tier: tier.name(),
            price: price_of(tier),
            forecast: ForecastView {
                requests: PerLimit::each(|policy| {
                    forecast(policy, *limits.of(policy)?, *used.of(policy)?, now_ms)
                }),
                log_bytes: log_forecast(log, organization.trace.created_at_ms, now_ms),
            },
            usage: UsageView::of(used, log.bytes),
            limits: LimitsView {
                requests: limits.clone(),
                log_bytes: log.limit,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 s before the end of a minute.
    const NOW_MS: u64 = 1_795_255_308_000;

    #[test]
    fn a_limit_runs_out_at_the_windows_own_pace() {
        let at = |limit, used| exhausted_at_ms(limit, used, WindowPeriod::Minute, NOW_MS);
        // 48 s have passed: one request a second.
        assert_eq!(at(50, 48), Some(NOW_MS + 2_000));
        assert_eq!(at(60, 48), None, "the window ends just then");
        assert_eq!(at(59, 48), Some(NOW_MS + 11_000));
        assert_eq!(at(50, 50), Some(NOW_MS));
        assert_eq!(at(50, 51), Some(NOW_MS));
        assert_eq!(at(50, 0), None);
        assert_eq!(at(0, 0), Some(NOW_MS));
        let begun = exhausted_at_ms(50, 1, WindowPeriod::Minute, 1_795_255_260_000);
        assert_eq!(begun, Some(1_795_255_260_000 + 49_000));
    }

    #[test]
    fn the_log_fills_at_the_pace_of_the_organizations_life() {
        let used = |bytes, limit| LogUse {
            bytes,
            limit: Some(limit),
        };
        let at = |used| log_forecast(used, NOW_MS - 10_000, NOW_MS).unwrap();
        let half = at(used(50, 100));
        assert_eq!((half.policy, half.remaining), ("log-bytes", 50));
        let when = |time: Option<TimeText>| serde_json::to_value(time).unwrap();
        assert_eq!(
            when(half.exhausted_at),
            when(Some(TimeText(NOW_MS + 10_000)))
        );
        let full = at(used(120, 100));
        assert_eq!(full.remaining, 0);
        assert_eq!(when(full.exhausted_at), when(Some(TimeText(NOW_MS))));
        assert!(at(used(1, u64::MAX)).exhausted_at.is_none());
        let none = LogUse {
            bytes: 5,
            limit: None,
        };
        assert!(log_forecast(none, 0, NOW_MS).is_none());
    }

    #[test]
    fn what_has_no_limit_has_no_forecast() {
        assert!(forecast(LimitPolicy::TierDay, None, 7, NOW_MS).is_none());
        let day = forecast(LimitPolicy::TierDay, Some(1_000), 7, NOW_MS).unwrap();
        assert_eq!((day.policy, day.remaining), ("tier-day", 993));
        let resets_at = serde_json::to_value(day.resets_at).unwrap();
        assert_eq!(resets_at, "2026-11-22T00:00:00.000Z");
        assert!(day.exhausted_at.is_none());
    }
}
