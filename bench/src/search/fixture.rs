//! Test objects, minted through the API so that every row is genuine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kedge_client::{
    Account, BatchMode, Client, ListQuery, NewAction, NewObject, NewTemplate, Registration,
};
use kedge_load::connection::{LoadConnection, authority};
use kedge_protocol::Id;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::SigningKey;
use serde::Serialize;
use serde_json::{Value, json};

use super::post;
use crate::error::BenchResult;

const EMAIL: &str = "bench@example.com";
const PASSWORD: &str = "correct horse battery staple";
const TEMPLATE: &str = "ticket";
/// Batches in flight at the same time.
const BATCHES_UNDER_WAY: usize = 4;
/// Average number of objects in a category.
pub(crate) const OBJECTS_A_CATEGORY: u64 = 100;
/// Number of regions, each with a hundredth of all objects.
pub(crate) const REGIONS: u64 = 100;
/// Upper bound of prices, exclusive.
pub(crate) const PRICE_MAX: u64 = 1_000_000;

/// The objects on the server.
#[derive(Serialize)]
pub(crate) struct SearchFixture {
    pub(crate) template: String,
    pub(crate) seconds: f64,
}

/// Pseudo-random numbers from a seed (SplitMix64).
pub(crate) struct SearchRng(pub(crate) u64);

impl SearchRng {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

pub(crate) fn categories(objects: u64) -> u64 {
    (objects / OBJECTS_A_CATEGORY).max(1)
}

/// Properties of the object with this number.
fn properties(number: u64, objects: u64) -> Value {
    let mut rng = SearchRng(number);
    json!({
        "category": format!("category-{}", rng.below(categories(objects))),
        "region": format!("region-{}", rng.below(REGIONS)),
        "price": rng.below(PRICE_MAX),
        "serial": number,
        "note": format!("{:064x}", rng.below(u64::MAX)),
    })
}

/// Mints the objects, unless the server has them already.
pub(crate) async fn fill(url: &str, objects: u64) -> BenchResult<SearchFixture> {
    let begun = Instant::now();
    let client = Client::builder(url).connect().await?;
    let account = client.account(SigningKey::from_bytes(&[0x42; 32])?);
    if account.login(EMAIL, PASSWORD).await.is_ok() {
        return known(&account).await;
    }
    let registration = Registration {
        email: EMAIL.into(),
        password: PASSWORD.into(),
        nickname: None,
        organization_name: None,
    };
    account.register(&registration).await?;
    let indexed = ["category", "region", "price", "serial"];
    let members = indexed.map(|name| (name.to_owned(), json!({ "x-index": true })));
    let schema = json!({ "properties": members.into_iter().collect::<serde_json::Map<_, _>>() });
    let template = NewTemplate {
        name: TEMPLATE.into(),
        schema: schema.as_object().cloned(),
        ..NewTemplate::default()
    };
    let template = account.create_template(&template).await?.resource.id;
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for _ in 0..BATCHES_UNDER_WAY {
        let (account, next) = (account.clone(), Arc::clone(&next));
        tasks.push(tokio::spawn(async move {
            loop {
                let first = next.fetch_add(BATCH_ACTIONS_MAX as u64, Ordering::Relaxed);
                if first >= objects {
                    return Ok::<(), kedge_client::ClientError>(());
                }
                let last = (first + BATCH_ACTIONS_MAX as u64).min(objects);
                mint(&account, template, first..last, objects).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(SearchFixture {
        template: template.to_string(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

async fn mint(
    account: &Account,
    template: Id,
    numbers: std::ops::Range<u64>,
    objects: u64,
) -> kedge_client::ClientResult<()> {
    let mints = numbers.map(|number| {
        let object = NewObject {
            properties: properties(number, objects)
                .as_object()
                .cloned()
                .unwrap_or_default(),
            ..NewObject::default()
        };
        NewAction::mint(template, &object)
    });
    let mints: kedge_client::ClientResult<Vec<NewAction>> = mints.collect();
    account.batch(&mints?, BatchMode::Atomic).await?;
    Ok(())
}

async fn known(account: &Account) -> BenchResult<SearchFixture> {
    let mut templates = account.templates(&ListQuery::default());
    while let Some(template) = templates.next().await? {
        if template.name == TEMPLATE {
            return Ok(SearchFixture {
                template: template.id.to_string(),
                seconds: 0.0,
            });
        }
    }
    Err("the directory holds another server's data".into())
}

/// Logs in, and returns an access token.
pub(crate) async fn log_in(url: &str) -> BenchResult<String> {
    let body = json!({ "email": EMAIL, "password": PASSWORD }).to_string();
    let authority = authority(url)?;
    let mut connection = LoadConnection::open(&authority).await?;
    let answer = post(&mut connection, &authority, "/wallets/login", None, &body).await?;
    let answer: Value = serde_json::from_slice(answer)?;
    let token = answer["access_token"].as_str().ok_or("no access token")?;
    Ok(token.to_owned())
}
