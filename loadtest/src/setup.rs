//! The organizations, templates and objects of a run, made through the API with every receipt
//! verified.

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use kedge_client::types::ActionRule;
use kedge_client::{
    Account, BatchMode, Client, NewAction, NewApiKey, NewObject, NewTemplate, Properties,
    Registration, RetryPolicy,
};
use kedge_protocol::Address;
use kedge_protocol::hash::to_hex;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::resource::{Area, Crud, Permission, Who};
use kedge_protocol::signature::SigningKey;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::fleet::Organization;
use crate::options::{Auth, Limits, Options, Scenario};
use crate::{operator, progress};

/// Organizations that are set up at one time. The server hashes two passwords at a time (its option
/// password_hashes_max), so more would not be faster.
const AT_ONE_TIME: usize = 8;
/// Only ever used with servers set up for measuring.
const PASSWORD: &str = "a load run's own password";
/// How often a step that meets a limit is tried: registering counts on the address, 100 a minute
/// unless the server is configured otherwise.
const ATTEMPTS_MAX: u32 = 1_000;
/// A supply that no run uses up.
const SUPPLY_MAX: u64 = 1 << 40;
/// The proof file of every n-th action of each batch is requested.
const PROOF_EVERY: usize = 50;

/// The organizations, and the accounts that made them.
pub(crate) struct Fleet {
    pub(crate) organizations: Vec<Organization>,
    accounts: Vec<Account>,
}

/// A client that waits for limits as long as necessary. It trusts the keys that the server states or, if `first_key` is
/// given, that key and those that the log names after it.
pub(crate) async fn client(url: &str, first_key: Option<Address>) -> Result<Client> {
    let patient = RetryPolicy {
        attempts_max: ATTEMPTS_MAX,
        wait_ms_max: 60_000,
        ..RetryPolicy::default()
    };
    let builder = || Client::builder(url).retry(patient.clone());
    let client = builder().connect().await;
    let client = client.map_err(Error::at("asking for the domain"))?;
    let Some(first_key) = first_key else {
        return Ok(client);
    };
    let pinned = builder().pin(client.domain(), first_key).connect().await;
    pinned.map_err(Error::at("the sequencer's keys"))
}

impl Fleet {
    /// Creates everything.
    pub(crate) async fn new(
        client: &Client,
        options: &Options,
        admin_socket: Option<&Path>,
    ) -> Result<Self> {
        let tag: [u8; 6] = kedge_client::random::bytes().map_err(Error::at("random bytes"))?;
        let tag = to_hex(&tag)[2..].to_owned();
        let count = options.organizations;
        let bar = progress::bar("accounts", count);
        let registered = each(count, |number| {
            let (client, bar, tag) = (client.clone(), bar.clone(), tag.clone());
            let options = options.clone();
            async move {
                let made = register(&client, &tag, number, &options).await;
                bar.inc(1);
                made
            }
        })
        .await?;
        bar.finish_and_clear();
        let (accounts, mut organizations): (Vec<_>, Vec<_>) = registered.into_iter().unzip();
        if let Some(socket) = admin_socket.filter(|_| options.limits() == Limits::Operator) {
            operator::lift_limits(socket, organizations.iter().map(|o| o.id)).await?;
        }
        for number in 0..count {
            let next = organizations[(number + 1) % count].key.address();
            organizations[number].recipients[1] = next;
        }
        let fleet = Self {
            organizations,
            accounts,
        };
        fleet.filled(options).await
    }

    /// Mints the objects, and updates each once.
    async fn filled(self, options: &Options) -> Result<Self> {
        let count = self.accounts.len();
        let scenario = options.sends();
        let proofs = scenario == Scenario::ProofFiles;
        let objects = match scenario {
            Scenario::BatchMints => 0,
            Scenario::HotObject => 1,
            Scenario::ProofFiles => options.batches.div_ceil(count) * BATCH_ACTIONS_MAX,
            _ => options.objects_each(),
        };
        let touched = !options.cold
            && !matches!(options.scenario, Scenario::ActorsMemory | Scenario::Reads)
            && !proofs;
        let bar = progress::bar("objects minted", objects * count);
        let (accounts, organizations) = (Arc::new(self.accounts), Arc::new(self.organizations));
        let organizations = each(count, |number| {
            let (accounts, organizations) = (Arc::clone(&accounts), Arc::clone(&organizations));
            let bar = bar.clone();
            async move {
                let account = &accounts[number];
                let mut organization = organizations[number].clone();
                mint(account, &mut organization, objects, proofs, &bar).await?;
                if touched {
                    touch(account, &organization).await?;
                }
                organization.next_nonce = next_nonce(account).await?;
                Ok(organization)
            }
        })
        .await?;
        bar.finish_and_clear();
        let accounts = Arc::try_unwrap(accounts).unwrap_or_else(|shared| shared.to_vec());
        Ok(Self {
            organizations,
            accounts,
        })
    }

    /// Fetches new access tokens, if requests use them.
    pub(crate) async fn renew_tokens(&mut self, auth: Auth) -> Result<()> {
        if auth == Auth::Key {
            return Ok(());
        }
        let accounts = Arc::new(self.accounts.clone());
        let tokens = each(accounts.len(), |number| {
            let accounts = Arc::clone(&accounts);
            async move {
                let account = &accounts[number];
                account.refresh().await.map_err(Error::at("a new token"))?;
                account.access_token().map_err(Error::at("a token"))
            }
        })
        .await?;
        for (organization, token) in self.organizations.iter_mut().zip(tokens) {
            organization.access_token = Some(token);
        }
        Ok(())
    }

    /// The account of an organization.
    pub(crate) fn account(&self, number: usize) -> &Account {
        &self.accounts[number]
    }

    /// Reads an organization's nonces, after requests outside the load.
    pub(crate) async fn learn_nonce(&mut self, number: usize) -> Result<()> {
        self.organizations[number].next_nonce = next_nonce(&self.accounts[number]).await?;
        Ok(())
    }
}

/// Runs a step for each number, a few at a time; the results are in the order of the numbers.
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

async fn register(
    client: &Client,
    tag: &str,
    number: usize,
    options: &Options,
) -> Result<(Account, Organization)> {
    let secret = kedge_client::random::bytes().map_err(Error::at("random bytes"))?;
    let key = SigningKey::from_bytes(&secret).map_err(|error| Error::Broken(error.to_string()))?;
    let account = client.account(key.clone());
    let registration = Registration {
        email: format!("load-{tag}-{number}@example.com"),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: Some(format!("load {tag} {number}")),
    };
    let wallet = account.register(&registration).await;
    let wallet = wallet.map_err(Error::at("registering a wallet"))?;
    let api_key = match options.auth {
        Auth::Bearer => None,
        Auth::Key | Auth::Both => Some(api_key(&account).await?),
    };
    let made = account.create_template(&template(options)).await;
    let template = made.map_err(Error::at("making a template"))?.resource.id;
    let organization = Organization {
        id: wallet.organization_id,
        recipients: [key.address(), key.address()],
        key,
        api_key,
        access_token: None,
        template,
        objects: Vec::new(),
        actions: Vec::new(),
        next_nonce: 0,
    };
    Ok((account, organization))
}

async fn api_key(account: &Account) -> Result<String> {
    let all = Crud {
        create: true,
        read: true,
        update: true,
        delete: true,
    };
    let areas = [Area::Objects, Area::Actions, Area::Events, Area::Templates];
    let key = NewApiKey {
        name: "load".to_owned(),
        permissions: areas
            .into_iter()
            .map(|resource| Permission {
                resource,
                crud: all,
            })
            .collect(),
        expires_at: None,
    };
    let made = account.create_api_key(&key).await;
    Ok(made.map_err(Error::at("making an API key"))?.resource.key)
}

fn template(options: &Options) -> NewTemplate {
    let rule = |kind: &str, who: Who| ActionRule {
        kind: kind.to_owned(),
        who,
        schema: None,
    };
    let sends = options.sends();
    NewTemplate {
        name: "parcel".to_owned(),
        max_supply: options.max_supply.then_some(SUPPLY_MAX),
        actions: match sends {
            // The issuer may transfer an object whoever owns it, so transfers need not wait for each other.
            Scenario::BatchTransfers => vec![rule("transfer", Who::Issuer)],
            Scenario::HotObject => vec![rule("update", Who::Anyone)],
            _ => Vec::new(),
        },
        public_access: sends == Scenario::HotObject,
        ..NewTemplate::default()
    }
}

async fn mint(
    account: &Account,
    organization: &mut Organization,
    count: usize,
    proofs: bool,
    bar: &ProgressBar,
) -> Result<()> {
    while organization.objects.len() < count {
        let made = organization.objects.len();
        let wanted = BATCH_ACTIONS_MAX.min(count - made);
        let mints = (made..made + wanted)
            .map(|serial| {
                let object = NewObject {
                    properties: properties(&json!({ "serial": serial })),
                    ..NewObject::default()
                };
                NewAction::mint(organization.template, &object)
            })
            .collect::<kedge_client::Result<Vec<_>>>()
            .map_err(Error::at("minting"))?;
        let outcome = account.batch(&mints, BatchMode::Atomic).await;
        let outcome = outcome.map_err(Error::at("a batch of the setup"))?;
        organization
            .objects
            .extend(outcome.done().map(|done| done.object_id));
        if proofs {
            let shown = outcome.done().step_by(PROOF_EVERY);
            organization.actions.extend(shown.map(|done| done.id));
        }
        bar.inc(wanted as u64);
    }
    Ok(())
}

/// Updates every object once, so that a run finds objects in use.
async fn touch(account: &Account, organization: &Organization) -> Result<()> {
    for objects in organization.objects.chunks(BATCH_ACTIONS_MAX) {
        let updates = objects
            .iter()
            .map(|id| NewAction::update(*id, &properties(&json!({ "step": 0 }))))
            .collect::<kedge_client::Result<Vec<_>>>()
            .map_err(Error::at("updating"))?;
        let outcome = account.batch(&updates, BatchMode::Atomic).await;
        outcome.map_err(Error::at("a batch of the setup"))?;
    }
    Ok(())
}

async fn next_nonce(account: &Account) -> Result<u64> {
    let wallet = account.me().await.map_err(Error::at("the wallet"))?;
    let own = wallet
        .nonces
        .iter()
        .find(|nonce| nonce.address == account.address());
    let own =
        own.ok_or_else(|| Error::Answer("the wallet does not list its own key".to_owned()))?;
    Ok(own.highest + 1)
}

fn properties(value: &serde_json::Value) -> Properties {
    value.as_object().cloned().unwrap_or_default()
}
