//! Organizations with a wallet, an API key and objects each: made through the API, known to this process alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;
use kedge_client::{
    Account, BatchMode, Client, NewAction, NewApiKey, NewObject, NewTemplate, Properties,
    Registration,
};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::to_hex;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::resource::{Area, Crud, Permission};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::Result;
use crate::server::Server;

/// Organizations that are set up at one time.
const AT_ONE_TIME: usize = 8;
/// Only ever used with servers set up for measuring.
const PASSWORD: &str = "a bench's own password";

/// An organization with its one wallet.
pub(crate) struct Organization {
    pub(crate) key: SigningKey,
    /// The key's address as a header's value.
    pub(crate) address: HeaderValue,
    pub(crate) api_key: HeaderValue,
    pub(crate) objects: Vec<Id>,
    next_nonce: AtomicU64,
}

impl Organization {
    /// A nonce that has not been signed with yet.
    pub(crate) fn nonce(&self) -> u64 {
        self.next_nonce.fetch_add(1, Ordering::Relaxed)
    }
}

/// All organizations.
pub(crate) struct Fleet {
    pub(crate) organizations: Vec<Organization>,
    pub(crate) domain: Domain,
}

/// The size of a fleet.
#[derive(Clone, Copy, clap::Args, serde::Serialize)]
pub(crate) struct Size {
    /// Organizations, each on a custom tier, with a wallet, an API key and its share of the objects.
    #[arg(long, default_value_t = 200)]
    pub(crate) organizations: usize,
    /// Objects, distributed evenly. With fewer than 500 per organization, a batch of 500 changes some of them more than
    /// once.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
}

impl Fleet {
    /// Creates everything on a server that does not limit anything yet.
    pub(crate) async fn make(server: &Server, size: Size) -> Result<Self> {
        if size.organizations == 0 || size.objects < size.organizations {
            return Err("each organization needs at least one object".into());
        }
        let client = Client::builder(&server.url).connect().await?;
        let tag = to_hex(&kedge_client::random::bytes::<6>()?)[2..].to_owned();
        let permits = Arc::new(Semaphore::new(AT_ONE_TIME));
        let mut tasks = JoinSet::new();
        for number in 0..size.organizations {
            let (client, permits) = (client.clone(), Arc::clone(&permits));
            let name = format!("bench-{tag}-{number}");
            let socket = server.admin_socket.clone();
            let objects = size.objects / size.organizations;
            tasks.spawn(async move {
                let _permit = permits.acquire().await;
                organization(&client, &socket, &name, objects).await
            });
        }
        let mut organizations = Vec::with_capacity(size.organizations);
        while let Some(made) = tasks.join_next().await {
            organizations.push(made??);
        }
        Ok(Self {
            organizations,
            domain: client.domain(),
        })
    }
}

async fn organization(
    client: &Client,
    socket: &Path,
    name: &str,
    objects: usize,
) -> Result<Organization> {
    let key = SigningKey::from_bytes(&kedge_client::random::bytes()?)?;
    let account = client.account(key.clone());
    let registration = Registration {
        email: format!("{name}@example.com"),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: Some(name.to_owned()),
    };
    let wallet = account.register(&registration).await?;
    lift_limits(socket, wallet.organization_id).await?;
    let all = Crud {
        create: true,
        read: true,
        update: true,
        delete: true,
    };
    let shown = account
        .create_api_key(&NewApiKey {
            name: "bench".to_owned(),
            permissions: [Area::Actions, Area::Objects]
                .map(|resource| Permission {
                    resource,
                    crud: all,
                })
                .into(),
            expires_at: None,
        })
        .await?;
    let objects = mint(&account, objects).await?;
    touch(&account, &objects).await?;
    let address = key.address();
    Ok(Organization {
        address: HeaderValue::try_from(address.to_string())?,
        api_key: HeaderValue::try_from(shown.resource.key)?,
        objects,
        next_nonce: AtomicU64::new(next_nonce(&account, address).await?),
        key,
    })
}

async fn next_nonce(account: &Account, address: Address) -> Result<u64> {
    let wallet = account.me().await?;
    let own = wallet.nonces.iter().find(|nonce| nonce.address == address);
    let own = own.ok_or("the wallet does not list its own key")?;
    Ok(own.highest + 1)
}

/// A custom tier without a limit: counted like any other, but never refused.
async fn lift_limits(socket: &Path, organization: Id) -> Result<()> {
    let mut stream = UnixStream::connect(socket)
        .await
        .map_err(|error| format!("{}: {error}", socket.display()))?;
    let command = json!({ "command": "tier", "organization_id": organization, "tier": "custom", "limits": {} });
    stream.write_all(format!("{command}\n").as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await?;
    let answer: Value = serde_json::from_str(&answer)?;
    if answer["ok"] == true {
        Ok(())
    } else {
        Err(format!("setting a tier: {answer}").into())
    }
}

async fn mint(account: &Account, count: usize) -> Result<Vec<Id>> {
    let template = NewTemplate {
        name: "parcel".to_owned(),
        ..NewTemplate::default()
    };
    let template = account.create_template(&template).await?.resource.id;
    let mut objects = Vec::with_capacity(count);
    while objects.len() < count {
        let wanted = BATCH_ACTIONS_MAX.min(count - objects.len());
        let mints = (objects.len()..objects.len() + wanted)
            .map(|serial| {
                let object = NewObject {
                    properties: properties(&json!({ "serial": serial })),
                    ..NewObject::default()
                };
                NewAction::mint(template, &object)
            })
            .collect::<kedge_client::Result<Vec<_>>>()?;
        let made = account.batch(&mints, BatchMode::Atomic).await?;
        objects.extend(made.done().map(|done| done.object_id));
    }
    Ok(objects)
}

/// Updates every object once, so that a measurement finds objects in use.
async fn touch(account: &Account, objects: &[Id]) -> Result<()> {
    for objects in objects.chunks(BATCH_ACTIONS_MAX) {
        let updates = objects
            .iter()
            .map(|id| NewAction::update(*id, &properties(&json!({ "step": 0 }))))
            .collect::<kedge_client::Result<Vec<_>>>()?;
        account.batch(&updates, BatchMode::Atomic).await?;
    }
    Ok(())
}

fn properties(value: &Value) -> Properties {
    value.as_object().cloned().unwrap_or_default()
}
