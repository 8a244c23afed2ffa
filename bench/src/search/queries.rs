//! Search queries and their latencies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use kedge_load::connection::{LoadConnection, authority};
use kedge_load::figures::LatencyFigures;
use serde::Serialize;
use serde_json::{Value, json};

use super::fixture::{PRICE_MAX, REGIONS, SearchRng, categories};
use super::post;
use crate::error::BenchResult;

/// Time that a connection searches before its answers count.
const WARM_UP: Duration = Duration::from_secs(3);

/// Kind of a search.
#[derive(Clone, Copy)]
pub(crate) enum BenchQuery {
    /// One category (about 100 objects), and a quarter of all prices.
    EqualityAndRange,
    /// One region (a hundredth of all objects), and about 50 prices.
    RangeAndEquality,
    /// A tenth of all prices, cheapest first.
    RangeInOrder,
    /// Number of objects of one region, within a tenth of all prices.
    Count,
}

pub(crate) const ALL: [BenchQuery; 4] = [
    BenchQuery::EqualityAndRange,
    BenchQuery::RangeAndEquality,
    BenchQuery::RangeInOrder,
    BenchQuery::Count,
];

/// Server and objects to search.
pub(crate) struct SearchBenchTarget<'a> {
    pub(crate) url: &'a str,
    pub(crate) token: &'a str,
    pub(crate) template: &'a str,
    pub(crate) objects: u64,
}

/// Figures of one query.
#[derive(Serialize)]
pub(crate) struct QueryFigures {
    pub(crate) query: &'static str,
    pub(crate) connections: usize,
    pub(crate) searches: u64,
    pub(crate) searches_per_second: f64,
    pub(crate) objects_found_on_average: f64,
    pub(crate) latency_ms: LatencyFigures,
}

impl QueryFigures {
    /// One line of progress.
    pub(crate) fn line(&self) -> String {
        let latency = &self.latency_ms;
        format!(
            "{:<32} {:>2} connections  {:>7.0}/s  p50 {:>7.3} ms  p99 {:>7.3} ms  max {:>7.3} ms  {:>6.1} found\n",
            self.query,
            self.connections,
            self.searches_per_second,
            latency.p50,
            latency.p99,
            latency.max,
            self.objects_found_on_average,
        )
    }
}

impl BenchQuery {
    fn name(self) -> &'static str {
        match self {
            Self::EqualityAndRange => "equality and range",
            Self::RangeAndEquality => "narrow range and wide equality",
            Self::RangeInOrder => "range in order of its values",
            Self::Count => "count of equality and range",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Count => "/objects/count",
            _ => "/objects/search",
        }
    }

    fn body(self, asked: &SearchBenchTarget<'_>, rng: &mut SearchRng) -> Value {
        let is = |property: &str, op: &str, value: Value| json!({ "field": format!("properties.{property}"), "op": op, "value": value });
        let mut all = vec![json!({ "field": "template_id", "op": "eq", "value": asked.template })];
        let mut between = |width: u64, rng: &mut SearchRng| {
            let low = rng.below(PRICE_MAX - width);
            all.push(is("price", "gte", json!(low)));
            all.push(is("price", "lt", json!(low + width)));
        };
        match self {
            Self::EqualityAndRange => {
                between(PRICE_MAX / 4, rng);
                let category = format!("category-{}", rng.below(categories(asked.objects)));
                all.push(is("category", "eq", json!(category)));
            }
            Self::RangeAndEquality | Self::Count => {
                let width = match self {
                    Self::Count => PRICE_MAX / 1_000,
                    _ => PRICE_MAX * 50 / asked.objects.max(50),
                };
                between(width.max(1), rng);
                let region = format!("region-{}", rng.below(REGIONS));
                all.push(is("region", "eq", json!(region)));
            }
            Self::RangeInOrder => between(PRICE_MAX / 10, rng),
        }
        let filter = json!({ "and": all });
        match self {
            Self::Count => json!({ "filter": filter }),
            Self::RangeInOrder => {
                json!({ "filter": filter, "sort": [{ "field": "properties.price" }] })
            }
            _ => json!({ "filter": filter, "limit": 100 }),
        }
    }
}

/// Results of one connection.
struct QueryLatencies {
    latencies_us: Histogram<u64>,
    found: u64,
}

/// Measures searches on this many connections, each with one search at a time.
pub(crate) async fn measure(
    asked: &SearchBenchTarget<'_>,
    query: BenchQuery,
    connections: usize,
    duration: Duration,
) -> BenchResult<QueryFigures> {
    let shared = Arc::new((asked.url.to_owned(), asked.token.to_owned()));
    let counted_from = Instant::now() + WARM_UP;
    let until = counted_from + duration;
    let mut tasks = Vec::new();
    for number in 0..connections {
        let shared = Arc::clone(&shared);
        let mut rng = SearchRng(number as u64 + 1);
        // Bodies are built beforehand, so that only the server is measured.
        let bodies: Vec<String> = (0..10_000)
            .map(|_| query.body(asked, &mut rng).to_string())
            .collect();
        tasks.push(tokio::spawn(async move {
            let (url, token) = &*shared;
            connection(url, token, query, &bodies, counted_from, until).await
        }));
    }
    let mut all = QueryLatencies {
        latencies_us: Histogram::new(3)?,
        found: 0,
    };
    for task in tasks {
        let seen = task.await??;
        all.latencies_us.add(&seen.latencies_us)?;
        all.found += seen.found;
    }
    let searches = all.latencies_us.len();
    Ok(QueryFigures {
        query: query.name(),
        connections,
        searches,
        searches_per_second: searches as f64 / duration.as_secs_f64(),
        objects_found_on_average: all.found as f64 / searches as f64,
        latency_ms: LatencyFigures::of(&all.latencies_us),
    })
}

async fn connection(
    url: &str,
    token: &str,
    query: BenchQuery,
    bodies: &[String],
    counted_from: Instant,
    until: Instant,
) -> BenchResult<QueryLatencies> {
    let authority = authority(url)?;
    let mut connection = LoadConnection::open(&authority).await?;
    let mut seen = QueryLatencies {
        latencies_us: Histogram::new(3)?,
        found: 0,
    };
    for body in bodies.iter().cycle() {
        let begun = Instant::now();
        if begun >= until {
            break;
        }
        let answer = post(&mut connection, &authority, query.path(), Some(token), body).await?;
        let took = begun.elapsed();
        if begun >= counted_from {
            seen.latencies_us.record(took.as_micros() as u64)?;
            let answer: Value = serde_json::from_slice(answer)?;
            let items = answer["items"].as_array().map(|items| items.len() as u64);
            seen.found += items.or(answer["count"].as_u64()).unwrap_or(0);
        }
    }
    Ok(seen)
}
