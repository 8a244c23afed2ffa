//! Organizations with a wallet, an API key and objects each, created through the API.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_client::{Client, NewTemplate};
use kedge_load::accounts::{self, each};
use kedge_load::operator::AdminConnection;
use kedge_protocol::eip712::Domain;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::resource::{Area, CustomLimits};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id};

use crate::error::BenchResult;
use crate::server::BenchServer;

/// An organization with its only wallet.
pub(crate) struct BenchOrganization {
    pub(crate) key: SigningKey,
    pub(crate) address: Address,
    pub(crate) api_key: String,
    pub(crate) objects: Vec<Id>,
    next_nonce: AtomicU64,
}

impl BenchOrganization {
    /// Takes the next unused nonce.
    pub(crate) fn nonce(&self) -> u64 {
        self.next_nonce.fetch_add(1, Ordering::Relaxed)
    }
}

pub(crate) struct BenchFleet {
    pub(crate) organizations: Vec<BenchOrganization>,
    pub(crate) domain: Domain,
}

/// The size of a fleet.
#[derive(Clone, Copy, clap::Args, serde::Serialize)]
pub(crate) struct FleetSize {
    /// Organizations, each on a custom tier, with a wallet, an API key and its share of the objects.
    #[arg(long, default_value_t = 200)]
    pub(crate) organizations: usize,
    /// Objects, distributed evenly. With fewer than 500 per organization, a batch of 500 changes some of them more than
    /// once.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
}

impl BenchFleet {
    /// Creates everything on a server that has no limits yet.
    pub(crate) async fn make(server: &BenchServer, size: FleetSize) -> BenchResult<Self> {
        if size.organizations == 0 || size.objects < size.organizations {
            return Err("each organization needs at least one object".into());
        }
        let client = Client::builder(&server.url).connect().await?;
        let tag = accounts::tag()?;
        let objects = size.objects / size.organizations;
        let organizations = each(size.organizations, |number| {
            let (client, name) = (client.clone(), format!("bench-{tag}-{number}"));
            let socket = server.admin_socket.clone();
            async move { organization(&client, &socket, name, objects).await }
        })
        .await?;
        Ok(Self {
            organizations,
            domain: client.domain(),
        })
    }
}

async fn organization(
    client: &Client,
    socket: &Path,
    name: String,
    count: usize,
) -> BenchResult<BenchOrganization> {
    let email = format!("{name}@example.com");
    let (account, key, id) = accounts::register(client, email, name).await?;
    // A custom tier without a limit: requests are counted, but never refused.
    let mut operator = AdminConnection::connect(socket).await?;
    operator.set_limits(id, &CustomLimits::default()).await?;
    let areas = [Area::Actions, Area::Objects];
    let api_key = accounts::api_key(&account, "bench", &areas).await?;
    let template = NewTemplate {
        name: "parcel".to_owned(),
        ..NewTemplate::default()
    };
    let template = account.create_template(&template).await?.resource.id;
    let mut objects = Vec::with_capacity(count);
    while objects.len() < count {
        let end = count.min(objects.len() + BATCH_ACTIONS_MAX);
        let made = accounts::mint(&account, template, objects.len()..end).await?;
        objects.extend(made.done().map(|done| done.object_id));
    }
    accounts::touch(&account, &objects).await?;
    Ok(BenchOrganization {
        address: key.address(),
        api_key,
        objects,
        next_nonce: AtomicU64::new(accounts::next_nonce(&account).await?),
        key,
    })
}
