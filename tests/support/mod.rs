//! Shared support of the whole-system tests: the real server as a process, a ledger of everything that was
//! acknowledged, randomness with a printed seed, and plain HTTP.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary takes the parts that it needs"
)]
#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

pub(crate) mod anvil;
pub(crate) mod bonded;
pub(crate) mod cuts;
pub(crate) mod documented;
pub(crate) mod equivocation;
pub(crate) mod faults;
pub(crate) mod honest;
pub(crate) mod http;
pub(crate) mod ledger;
pub(crate) mod liar;
pub(crate) mod losses;
pub(crate) mod markdown;
mod ports;
pub(crate) mod program;
pub(crate) mod remade;
mod rng;
pub(crate) mod server;
pub(crate) mod small_disk;

use std::path::Path;
use std::time::{Duration, Instant};

use kedge_client::{Account, Client, NewTemplate, Registration, RetryPolicy};
use kedge_protocol::Id;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::signature::SigningKey;
use tokio::sync::{Semaphore, SemaphorePermit};

pub(crate) use ports::free_port;
pub(crate) use rng::Rng;

/// Every wallet's password.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// Time limit for a checkpoint over what is committed. On a busy machine a root takes long, and a long pause follows it.
const CHECKPOINT_LIMIT: Duration = Duration::from_mins(3);

/// The newest signed checkpoint, once it covers a sequence.
pub(crate) async fn checkpoint_over(client: &Client, sequence: u64) -> SignedCheckpoint {
    let probe = || async {
        match client.checkpoint_over(sequence).await {
            Ok(signed) => Some(signed),
            Err(error) if error.code() == Some("SEQUENCE_NOT_REACHED") => None,
            Err(error) => panic!("no checkpoint over {sequence}: {error}"),
        }
    };
    eventually("a checkpoint covers the sequence", CHECKPOINT_LIMIT, probe).await
}

/// Waits until `probe` returns something.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> F,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Copies a directory with all its contents except sockets.
pub(crate) fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_directory(&entry.path(), &target);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A client that sends everything once and checks every receipt.
pub(crate) async fn connect(url: &str) -> Client {
    Client::builder(url)
        .retry(RetryPolicy::never())
        .timeout_ms(20_000)
        .connect()
        .await
        .unwrap()
}

/// Limits the password checks of the tests' one address: the server refuses some if there are more.
static PASSWORD_TURNS: Semaphore = Semaphore::const_new(8);

/// The right to send one password.
pub(crate) async fn password_turn() -> SemaphorePermit<'static> {
    PASSWORD_TURNS.acquire().await.unwrap()
}

/// A new wallet with its own organization.
pub(crate) async fn register(client: &Client, key: SigningKey) -> Account {
    let _turn = password_turn().await;
    let account = client.account(key);
    let registration = Registration {
        email: format!("{}@example.com", account.address()).to_lowercase(),
        password: PASSWORD.to_owned(),
        nickname: None,
        organization_name: None,
    };
    account.register(&registration).await.unwrap();
    account
}

/// A template that anyone may read; its issuer mints.
pub(crate) async fn template(account: &Account, name: &str) -> Id {
    let template = NewTemplate {
        name: name.to_owned(),
        public_access: true,
        ..NewTemplate::default()
    };
    account
        .create_template(&template)
        .await
        .unwrap()
        .resource
        .id
}
