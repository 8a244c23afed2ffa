//! What the whole-system tests share: the real server as a process, a ledger of everything that
//! was acknowledged, randomness with a printed seed, and plain HTTP.

#![allow(dead_code, reason = "each test binary takes the parts that it needs")]
#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

pub(crate) mod anvil;
pub(crate) mod bonded;
pub(crate) mod http;
pub(crate) mod ledger;
mod ports;
pub(crate) mod server;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kedge_client::{Account, Client, NewTemplate, Registration, RetryPolicy};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;

pub(crate) use ports::free_port;

/// Every wallet's password.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// Numbers that follow from a seed (splitmix64).
#[derive(Clone, Copy)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The seed of `KEDGE_TEST_SEED`, or one of the clock; printed, so that a failure can be had
    /// again.
    pub(crate) fn seeded(test: &str) -> Self {
        Self::from_variable(test, "KEDGE_TEST_SEED")
    }

    /// The seed of a variable of the environment, or one of the clock.
    pub(crate) fn from_variable(test: &str, variable: &str) -> Self {
        let clock = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::try_from(since.as_millis()).unwrap()
        };
        let given = std::env::var(variable).ok();
        let seed = given.map_or_else(clock, |text| text.parse().unwrap());
        eprintln!("{test}: {variable}={seed}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    /// Another stream of numbers that follows from this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn key(&mut self) -> SigningKey {
        let mut bytes = [0x11; 32];
        bytes[..8].copy_from_slice(&self.next().to_be_bytes());
        SigningKey::from_bytes(&bytes).unwrap()
    }
}

/// Waits until `probe` gives something.
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

/// Copies a directory with everything in it; sockets are left out.
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

/// A new wallet with an organization of its own.
pub(crate) async fn register(client: &Client, key: SigningKey) -> Account {
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

/// A template that anybody may read; its issuer mints.
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
