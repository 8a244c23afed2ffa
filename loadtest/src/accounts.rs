//! Accounts with objects for a measurement, created through the API.

use std::ops::Range;
use std::sync::Arc;

use kedge_client::{
    Account, BatchMode, BatchOutcome, Client, NewAction, NewApiKey, NewObject, Properties,
    Registration,
};
use kedge_protocol::Id;
use kedge_protocol::hash::to_hex;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::resource::{Area, Crud, Permission};
use kedge_protocol::signature::SigningKey;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::{LoadtestError, LoadtestResult};

/// Organizations that are set up concurrently. The server hashes two passwords at a time (option password_hashes_max),
/// so more would not be faster.
const AT_ONE_TIME: usize = 8;
/// Only used with servers set up for measurements.
const PASSWORD: &str = "a load run's own password";

/// Random hexadecimal digits that make a run's names unique on its server.
pub fn tag() -> LoadtestResult<String> {
    let tag: [u8; 6] = kedge_client::random::bytes().map_err(LoadtestError::at("random bytes"))?;
    Ok(to_hex(&tag)[2..].to_owned())
}

/// Runs a step for each number, a few at a time. Returns the results in the order of the numbers, or the first error.
pub async fn each<T, E, F>(count: usize, step: impl Fn(usize) -> F) -> Result<Vec<T>, E>
where
    T: Send + 'static,
    E: From<LoadtestError> + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(AT_ONE_TIME));
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let (permits, work) = (Arc::clone(&permits), step(number));
        tasks.spawn(async move {
            let _permit = permits.acquire().await;
            work.await.map(|result| (number, result))
        });
    }
    let mut results = Vec::with_capacity(count);
    while let Some(joined) = tasks.join_next().await {
        results.push(joined.map_err(LoadtestError::broken)??);
    }
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Registers a wallet with a new key and an organization. Returns the organization's id last.
pub async fn register(
    client: &Client,
    email: String,
    organization_name: String,
) -> LoadtestResult<(Account, SigningKey, Id)> {
    let secret = kedge_client::random::bytes().map_err(LoadtestError::at("random bytes"))?;
    let key = SigningKey::from_bytes(&secret).map_err(LoadtestError::broken)?;
    let account = client.account(key.clone());
    let registration = Registration {
        email,
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: Some(organization_name),
    };
    let wallet = account.register(&registration).await;
    let wallet = wallet.map_err(LoadtestError::at("registering a wallet"))?;
    Ok((account, key, wallet.organization_id))
}

/// Creates an API key with all permissions of these areas.
pub async fn api_key(account: &Account, name: &str, areas: &[Area]) -> LoadtestResult<String> {
    let all = Crud {
        create: true,
        read: true,
        update: true,
        delete: true,
    };
    let permission = |&resource: &Area| Permission {
        resource,
        crud: all,
    };
    let key = NewApiKey {
        name: name.to_owned(),
        permissions: areas.iter().map(permission).collect(),
        expires_at: None,
    };
    let made = account.create_api_key(&key).await;
    Ok(made
        .map_err(LoadtestError::at("making an API key"))?
        .resource
        .key)
}

/// Mints objects with these serial numbers as one batch of at most [`BATCH_ACTIONS_MAX`].
pub async fn mint(
    account: &Account,
    template: Id,
    serials: Range<usize>,
) -> LoadtestResult<BatchOutcome> {
    let mint = |serial| {
        let object = NewObject {
            properties: properties(&json!({ "serial": serial })),
            ..NewObject::default()
        };
        NewAction::mint(template, &object)
    };
    let mints: kedge_client::ClientResult<Vec<_>> = serials.map(mint).collect();
    let mints = mints.map_err(LoadtestError::at("minting"))?;
    let outcome = account.batch(&mints, BatchMode::Atomic).await;
    outcome.map_err(LoadtestError::at("a batch of the setup"))
}

/// Updates every object once, so that a measurement finds live objects.
pub async fn touch(account: &Account, objects: &[Id]) -> LoadtestResult<()> {
    for objects in objects.chunks(BATCH_ACTIONS_MAX) {
        let updates = objects
            .iter()
            .map(|id| NewAction::update(*id, &properties(&json!({ "step": 0 }))))
            .collect::<kedge_client::ClientResult<Vec<_>>>()
            .map_err(LoadtestError::at("updating"))?;
        let outcome = account.batch(&updates, BatchMode::Atomic).await;
        outcome.map_err(LoadtestError::at("a batch of the setup"))?;
    }
    Ok(())
}

/// First unspent nonce of an account's key.
pub async fn next_nonce(account: &Account) -> LoadtestResult<u64> {
    let wallet = account
        .me()
        .await
        .map_err(LoadtestError::at("the wallet"))?;
    let mut nonces = wallet.nonces.iter();
    let own = nonces.find(|nonce| nonce.address == account.address());
    let own = own.ok_or_else(|| LoadtestError::answer("the wallet does not list its own key"))?;
    Ok(own.highest + 1)
}

fn properties(value: &serde_json::Value) -> Properties {
    value.as_object().cloned().unwrap_or_default()
}
