//! Organizations, templates and objects of a run, created through the API with every receipt verified.

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use kedge_client::types::TemplateActionRule;
use kedge_client::{Account, Client, NewTemplate, RetryPolicy};
use kedge_protocol::Address;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::resource::{Area, Who};

use crate::accounts::{each, next_nonce, touch};
use crate::error::{LoadtestError, LoadtestResult};
use crate::fleet::LoadOrganization;
use crate::options::{AuthMode, LimitsMode, RunOptions, Scenario};
use crate::{accounts, operator, progress};

/// Limit on attempts at a step that meets a limit: registrations are limited to 100 a minute by address, unless
/// configured otherwise.
const ATTEMPTS_MAX: u32 = 1_000;
/// A supply that no run uses up.
const SUPPLY_MAX: u64 = 1 << 40;
/// Every n-th action of each batch has its proof file requested.
const PROOF_EVERY: usize = 50;

/// The organizations and their accounts.
pub(crate) struct LoadFleet {
    pub(crate) organizations: Vec<LoadOrganization>,
    accounts: Vec<Account>,
}

/// A client that waits for limits as long as necessary. It trusts the keys that the server states or, if `first_key` is
/// given, that key and its successors in the log.
pub(crate) async fn client(url: &str, first_key: Option<Address>) -> LoadtestResult<Client> {
    let patient = RetryPolicy {
        attempts_max: ATTEMPTS_MAX,
        wait_ms_max: 60_000,
        ..RetryPolicy::default()
    };
    let builder = || Client::builder(url).retry(patient.clone());
    let client = builder().connect().await;
    let client = client.map_err(LoadtestError::at("asking for the domain"))?;
    let Some(first_key) = first_key else {
        return Ok(client);
    };
    let pinned = builder().pin(client.domain(), first_key).connect().await;
    pinned.map_err(LoadtestError::at("the sequencer's keys"))
}

impl LoadFleet {
    pub(crate) async fn new(
        client: &Client,
        options: &RunOptions,
        admin_socket: Option<&Path>,
    ) -> LoadtestResult<Self> {
        let tag = accounts::tag()?;
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
        if let Some(socket) = admin_socket.filter(|_| options.limits() == LimitsMode::Operator) {
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
    async fn filled(self, options: &RunOptions) -> LoadtestResult<Self> {
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
                    touch(account, &organization.objects).await?;
                }
                organization.next_nonce = next_nonce(account).await?;
                Ok::<_, LoadtestError>(organization)
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
    pub(crate) async fn renew_tokens(&mut self, auth: AuthMode) -> LoadtestResult<()> {
        if auth == AuthMode::Key {
            return Ok(());
        }
        let accounts = Arc::new(self.accounts.clone());
        let tokens = each(accounts.len(), |number| {
            let accounts = Arc::clone(&accounts);
            async move {
                let account = &accounts[number];
                account
                    .refresh()
                    .await
                    .map_err(LoadtestError::at("a new token"))?;
                account.access_token().map_err(LoadtestError::at("a token"))
            }
        })
        .await?;
        for (organization, token) in self.organizations.iter_mut().zip(tokens) {
            organization.access_token = Some(token);
        }
        Ok(())
    }

    pub(crate) fn account(&self, number: usize) -> &Account {
        &self.accounts[number]
    }

    /// Reads an organization's nonces, after requests outside the load.
    pub(crate) async fn learn_nonce(&mut self, number: usize) -> LoadtestResult<()> {
        self.organizations[number].next_nonce = next_nonce(&self.accounts[number]).await?;
        Ok(())
    }
}

async fn register(
    client: &Client,
    tag: &str,
    number: usize,
    options: &RunOptions,
) -> LoadtestResult<(Account, LoadOrganization)> {
    let email = format!("load-{tag}-{number}@example.com");
    let (account, key, id) =
        accounts::register(client, email, format!("load {tag} {number}")).await?;
    let areas = [Area::Objects, Area::Actions, Area::Events, Area::Templates];
    let api_key = match options.auth {
        AuthMode::Bearer => None,
        AuthMode::Key | AuthMode::Both => Some(accounts::api_key(&account, "load", &areas).await?),
    };
    let made = account.create_template(&template(options)).await;
    let template = made
        .map_err(LoadtestError::at("making a template"))?
        .resource
        .id;
    let organization = LoadOrganization {
        id,
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

fn template(options: &RunOptions) -> NewTemplate {
    let rule = |kind: &str, who: Who| TemplateActionRule {
        kind: kind.to_owned(),
        who,
        schema: None,
    };
    let sends = options.sends();
    NewTemplate {
        name: "parcel".to_owned(),
        max_supply: options.max_supply.then_some(SUPPLY_MAX),
        actions: match sends {
            // The issuer may transfer objects of any owner, so transfers need not wait for each other.
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
    organization: &mut LoadOrganization,
    count: usize,
    proofs: bool,
    bar: &ProgressBar,
) -> LoadtestResult<()> {
    while organization.objects.len() < count {
        let made = organization.objects.len();
        let wanted = BATCH_ACTIONS_MAX.min(count - made);
        let outcome = accounts::mint(account, organization.template, made..made + wanted).await?;
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
