//! Files that only the owner may access, and files whose loss must be noticed.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kedge_client::NewApiKey;
use kedge_protocol::resource::{Area, Crud, Permission};

use super::made::{Made, done, kedge};
use crate::support::{Rng, http};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Everything in a directory to which others have any access.
fn open_to_others(root: &Path, found: &mut Vec<String>) {
    if mode(root) & 0o077 != 0 {
        found.push(format!("{} {:o}", root.display(), mode(root)));
    }
    if root.is_dir() {
        for entry in std::fs::read_dir(root).unwrap() {
            open_to_others(&entry.unwrap().path(), found);
        }
    }
}

// Holds invariant 92.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_data_directory_is_the_owners_alone() {
    let mut rng = Rng::seeded("modes");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = Made::stopped(&data, &mut rng).await;
    let is_private = || {
        let mut found = Vec::new();
        open_to_others(&data, &mut found);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(mode(&made.setup.high_water()), 0o600);
    };
    is_private();

    // As after a copy, or a careless command.
    let of_store = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path();
    let store_files = std::fs::read_dir(made.setup.store()).unwrap().map(of_store);
    for file in store_files.collect::<Vec<_>>() {
        set_mode(&file, 0o644);
    }
    set_mode(&data.join("contract"), 0o644);
    for folder in [
        data.clone(),
        data.join("store"),
        data.join("files"),
        data.join("keys"),
    ] {
        set_mode(&folder, 0o755);
    }
    let server = made.setup.start();
    is_private();
    let log = made.setup.log();
    assert!(log.contains("was open to other users"), "{log}");
    made.mint(1).await;
    server.stop();
    is_private();

    // A key that was readable is no longer secret; the operator has to decide.
    set_mode(&data.join("keys/api-key.key"), 0o644);
    let (status, reported) = made.setup.start_refused();
    assert!(!status.success());
    assert!(
        reported.contains("api-key.key can be read by others"),
        "{reported}"
    );
}

// Holds invariant 90.
/// An empty file is left by a crash during its writing, or by an older program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_of_state_says_what_to_do() {
    let mut rng = Rng::seeded("empty file");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = Made::stopped(&data, &mut rng).await;
    for name in ["contract", "keys/sequencer.key", "keys/api-key.key"] {
        let path = data.join(name);
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, b"").unwrap();
        let (status, reported) = made.setup.start_refused();
        assert!(!status.success());
        for part in [name, "is empty", "backup"] {
            assert!(reported.contains(part), "{part}: {reported}");
        }
        std::fs::write(&path, content).unwrap();
    }
    made.setup.start().stop();
}

// Holds invariant 91.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_key_of_api_keys_is_not_replaced_silently() {
    let mut rng = Rng::seeded("lost key");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = Made::stopped(&data, &mut rng).await;
    let path = data.join("keys/api-key.key");
    // Without API keys nothing can be lost.
    std::fs::remove_file(&path).unwrap();
    let server = made.setup.start();
    let key = NewApiKey {
        name: "one".to_owned(),
        permissions: vec![Permission {
            resource: Area::Objects,
            crud: Crud {
                read: true,
                ..Crud::default()
            },
        }],
        expires_at: None,
    };
    let shown = made
        .account
        .create_api_key(&key)
        .await
        .unwrap()
        .resource
        .key;
    let objects = || async {
        let header = format!("x-api-key: {shown}");
        http::get_with(made.setup.port(), "/objects", &header)
            .await
            .status
    };
    assert_eq!(objects().await, 200);
    server.stop();

    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (status, reported) = made.setup.start_refused();
    assert!(!status.success());
    for part in [
        "api-key.key is lost",
        "the store holds API keys",
        "--replace-lost-keys",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    assert!(!path.exists());
    std::fs::write(&path, &kept).unwrap();
    set_mode(&path, 0o600);
    let server = made.setup.start();
    assert_eq!(objects().await, 200);
    server.stop();

    std::fs::remove_file(&path).unwrap();
    let server = made.setup.clone().flag("--replace-lost-keys").start();
    assert_eq!(objects().await, 401);
    server.stop();
    made.setup.start().stop();
}

// Holds invariant 92.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stolen_token_key_is_retired_at_once() {
    let mut rng = Rng::seeded("stolen key");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let setup = crate::support::server::Setup::development(&data);
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let old = made.account.access_token().unwrap();
    let port = made.setup.port();
    let with = |token: String| async move {
        let header = format!("authorization: Bearer {token}");
        http::get_with(port, "/wallets/me", &header).await.status
    };
    assert_eq!(with(old.clone()).await, 200);
    let socket = data.join("admin.sock");
    let reported = done(&kedge(
        &["admin", "retire-token-key", "--socket"],
        &[&socket],
    ));
    assert!(reported.contains("retired"), "{reported}");
    assert_eq!(with(old.clone()).await, 401);
    // Logins stay valid: refresh tokens are not signatures.
    made.account.refresh().await.unwrap();
    assert_eq!(with(made.account.access_token().unwrap()).await, 200);
    server.stop();
    let server = made.setup.start();
    assert_eq!(with(old).await, 401);
    server.stop();
}
