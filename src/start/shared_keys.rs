//! Fingerprints of the keys that must be the same on all nodes of a log, which each node shows the others. A key has
//! 256 random bits, so its hash reveals nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_cluster::node::{FingerprintReader, Fingerprints, TOKEN_KEY};
use kedge_config::Config;
use kedge_http::auth::bearer::AccessTokens;
use kedge_protocol::Address;
use kedge_protocol::hash::{keccak, to_hex};

use crate::api::services::ApiServices;

/// Separates these hashes from all others.
const DOMAIN: &[u8] = b"kedge: fingerprint of a shared key\0";
/// Bytes of a shown hash.
const BYTES: usize = 16;
/// Files that are the same on all nodes. Keys of access tokens are compared by their public halves.
const SHARED: [&str; 3] = ["api-key.key", "cursor.key", "invitation.key"];
/// Prefix and suffix of the names of side entries' keys.
const SIDE_ENTRIES: (&str, &str) = ("side-entries-", ".key");

pub(super) fn own(
    services: &Arc<ApiServices>,
    config: &Config,
    operator: Option<Address>,
    payer: Address,
) -> FingerprintReader {
    let (services, folder) = (Arc::downgrade(services), config.keys_dir());
    Arc::new(move || {
        let mut keys = of_files(&folder);
        if let Some(services) = services.upgrade() {
            keys.extend(of_tokens(&services.access.tokens));
        }
        keys.insert("anchor_key_file".to_owned(), payer.to_string());
        if let Some(operator) = operator {
            keys.insert("operator_key_file".to_owned(), operator.to_string());
        }
        keys
    })
}

fn of_files(folder: &Path) -> Fingerprints {
    let mut found = Fingerprints::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if let Some((name, fingerprint)) = of_file(&path) {
            found.insert(name, fingerprint);
        }
    }
    found
}

fn of_file(path: &PathBuf) -> Option<(String, String)> {
    let name = path.file_name()?.to_str()?.to_owned();
    let (begin, end) = SIDE_ENTRIES;
    let of_side_entries = name.starts_with(begin) && name.ends_with(end);
    if !of_side_entries && !SHARED.contains(&name.as_str()) {
        return None;
    }
    let content = std::fs::read_to_string(path).ok()?;
    let text = [DOMAIN, name.as_bytes(), b"\0", content.trim().as_bytes()].concat();
    let fingerprint = to_hex(&keccak(&text).0);
    Some((name, fingerprint.get(..2 + 2 * BYTES)?.to_owned()))
}

/// Fingerprints of the keys that verify access tokens. Their ids are hashes of their public halves.
fn of_tokens(access: &AccessTokens) -> Fingerprints {
    let keys = access.public_keys().keys;
    let ids = keys.into_iter().filter_map(|key| key.common.key_id);
    ids.map(|id| (format!("{TOKEN_KEY}{id}"), "held".to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_follows_from_name_and_content_and_files_of_one_node_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("cursor.key", "0x11\n");
        write("invitation.key", "0x11\n");
        for name in [
            "token-000001.key",
            "operator.key",
            "operator-page.token",
            "cursor.old.key",
        ] {
            write(name, "0x22\n");
        }
        let first = of_files(folder.path());
        assert_eq!(
            first.keys().collect::<Vec<_>>(),
            ["cursor.key", "invitation.key"]
        );
        assert_ne!(first["cursor.key"], first["invitation.key"]);
        assert_eq!(first["cursor.key"].len(), 2 + 2 * BYTES);
        write("cursor.key", "0x11");
        assert_eq!(of_files(folder.path()), first);
        write("cursor.key", "0x12");
        assert_ne!(of_files(folder.path())["cursor.key"], first["cursor.key"]);
    }
}
