//! The organizations, templates and objects of a run, made through the API with every receipt
//! verified.

use std::sync::Arc;

use http_body_util::Full;
use hyper::Request;
use hyper::header::HeaderValue;
use indicatif::ProgressBar;
use kedge_client::{
    Account, BatchMode, Client, NewAction, NewObject, NewTemplate, Properties, Registration,
};
use kedge_protocol::Id;
use kedge_protocol::hash::to_hex;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::SigningKey;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::progress;

/// Organizations that are set up at one time.
const AT_ONE_TIME: usize = 8;
/// Only ever used against servers that are there to be measured.
const PASSWORD: &str = "a load run's own password";

/// An organization with its one wallet, and its objects.
pub(crate) struct Organization {
    pub(crate) account: Account,
    pub(crate) key: SigningKey,
    pub(crate) objects: Vec<Id>,
    email: String,
}

/// What an organization needs anew for each run.
pub(crate) struct Session {
    /// `Bearer …`.
    pub(crate) authorization: HeaderValue,
    /// The signer's address as a header's value.
    pub(crate) address: HeaderValue,
    /// The first nonce that is not spent.
    pub(crate) first_nonce: u64,
}

/// Makes everything.
pub(crate) async fn organizations(client: &Client, options: &Options) -> Result<Vec<Organization>> {
    let tag: [u8; 6] = kedge_client::random::bytes().map_err(Error::at("random bytes"))?;
    let tag = to_hex(&tag)[2..].to_owned();
    let bar = progress::bar(
        "objects minted",
        options.objects_each() * options.organizations,
    );
    let made = each(options.organizations, |number| {
        let (client, bar, tag) = (client.clone(), bar.clone(), tag.clone());
        let (count, cold) = (options.objects_each(), options.cold);
        async move {
            let mut organization = register(&client, &tag, number).await?;
            organization.mint(count, &bar).await?;
            if !cold {
                organization.touch().await?;
            }
            Ok(organization)
        }
    })
    .await;
    bar.finish_and_clear();
    made
}

/// Logs every wallet in again, and asks where its nonces stand.
pub(crate) async fn sessions(
    organizations: &Arc<Vec<Organization>>,
    authority: &str,
) -> Result<Vec<Session>> {
    each(organizations.len(), |number| {
        let organizations = Arc::clone(organizations);
        let authority = authority.to_owned();
        async move { organizations[number].session(&authority).await }
    })
    .await
}

/// Runs a step for each number, a few at a time; the results come in the numbers' order.
async fn each<T, F>(count: usize, step: impl Fn(usize) -> F) -> Result<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
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
        results.push(joined.map_err(|error| Error::Broken(error.to_string()))??);
    }
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

async fn register(client: &Client, tag: &str, number: usize) -> Result<Organization> {
    let secret = kedge_client::random::bytes().map_err(Error::at("random bytes"))?;
    let key = SigningKey::from_bytes(&secret).map_err(|error| Error::Broken(error.to_string()))?;
    let account = client.account(key.clone());
    let email = format!("load-{tag}-{number}@example.com");
    let registration = Registration {
        email: email.clone(),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: Some(format!("load {tag} {number}")),
    };
    account
        .register(&registration)
        .await
        .map_err(Error::at("registering a wallet"))?;
    Ok(Organization {
        account,
        key,
        objects: Vec::new(),
        email,
    })
}

impl Organization {
    async fn mint(&mut self, count: usize, bar: &ProgressBar) -> Result<()> {
        let template = NewTemplate {
            name: "parcel".to_owned(),
            ..NewTemplate::default()
        };
        let made = self.account.create_template(&template).await;
        let template_id = made.map_err(Error::at("making a template"))?.resource.id;
        while self.objects.len() < count {
            let wanted = BATCH_ACTIONS_MAX.min(count - self.objects.len());
            let serials = self.objects.len()..self.objects.len() + wanted;
            let mints = serials
                .map(|serial| {
                    let object = NewObject {
                        properties: properties(&json!({ "serial": serial })),
                        ..NewObject::default()
                    };
                    NewAction::mint(template_id, &object)
                })
                .collect::<kedge_client::Result<Vec<_>>>()
                .map_err(Error::at("minting"))?;
            let made = self.change(&mints).await?;
            self.objects.extend(made);
            bar.inc(wanted as u64);
        }
        Ok(())
    }

    /// Updates every object once: a run then meets objects as they are in use.
    async fn touch(&self) -> Result<()> {
        for objects in self.objects.chunks(BATCH_ACTIONS_MAX) {
            let updates = objects
                .iter()
                .map(|id| NewAction::update(*id, &properties(&json!({ "step": 0 }))))
                .collect::<kedge_client::Result<Vec<_>>>()
                .map_err(Error::at("updating"))?;
            self.change(&updates).await?;
        }
        Ok(())
    }

    async fn change(&self, actions: &[NewAction]) -> Result<Vec<Id>> {
        let outcome = self.account.batch(actions, BatchMode::Atomic).await;
        let outcome = outcome.map_err(Error::at("a batch of the setup"))?;
        Ok(outcome.done().map(|done| done.object_id).collect())
    }

    async fn session(&self, authority: &str) -> Result<Session> {
        let wallet = self.account.me().await.map_err(Error::at("the wallet"))?;
        let own = wallet
            .nonces
            .iter()
            .find(|nonce| nonce.address == self.key.address())
            .ok_or_else(|| Error::Answer("the wallet does not list its own key".to_owned()))?;
        let address = HeaderValue::try_from(self.key.address().to_string())
            .map_err(|error| Error::Broken(error.to_string()))?;
        Ok(Session {
            address,
            authorization: self.log_in(authority).await?,
            first_nonce: own.highest + 1,
        })
    }

    async fn log_in(&self, authority: &str) -> Result<HeaderValue> {
        #[derive(Deserialize)]
        struct Tokens {
            access_token: String,
        }
        let body = json!({ "email": self.email, "password": PASSWORD }).to_string();
        let request = Request::post("/wallets/login")
            .header("host", authority)
            .header("content-type", "application/json")
            .body(Full::from(body))
            .map_err(|error| Error::Broken(error.to_string()))?;
        let mut connection = Connection::open(authority).await?;
        let answer = connection.exchange(request, true).await?;
        let tokens: Tokens = serde_json::from_slice(&answer.body)
            .map_err(|_| Error::Answer(format!("logging in: status {}", answer.status)))?;
        HeaderValue::try_from(format!("Bearer {}", tokens.access_token))
            .map_err(|error| Error::Answer(format!("logging in: {error}")))
    }
}

fn properties(value: &serde_json::Value) -> Properties {
    value.as_object().cloned().unwrap_or_default()
}
