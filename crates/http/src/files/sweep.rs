//! Removal of contents that no row names, left by a crash between moving a content to its place and the commit of its
//! action.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use kedge_protocol::resource::FileRecord;
use kedge_storage::{StoreReadError, StoreSnapshot};

use super::claims::ContentClaims;

/// Starts a sweep on a separate thread. `snapshot` must be older than any upload of this process.
pub(super) fn start(
    folder: PathBuf,
    claims: ContentClaims,
    snapshot: StoreSnapshot,
) -> io::Result<()> {
    claims.begin_sweep();
    let sweep = move || {
        match named(&snapshot) {
            Ok(named) => {
                drop(snapshot);
                match sweep(&folder, &claims, &named) {
                    Ok(0) => {}
                    Ok(removed) => {
                        tracing::info!(removed, "contents of unused files were removed");
                    }
                    Err(error) => {
                        tracing::warn!(%error, "unused contents of files were not removed");
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "unused contents of files were not removed"),
        }
        claims.end_sweep();
    };
    let thread = std::thread::Builder::new().name("file-sweep".to_owned());
    thread.spawn(sweep).map(|_| ())
}

/// Digests named by rows.
fn named(snapshot: &StoreSnapshot) -> Result<HashSet<Hash>, StoreReadError> {
    snapshot
        .every::<FileRecord>()
        .map(|file| file.map(|file| file.sha256))
        .collect()
}

/// Checks every content; returns the number removed.
fn sweep(folder: &Path, claims: &ContentClaims, named: &HashSet<Hash>) -> io::Result<usize> {
    let mut removed = 0;
    for shelf in std::fs::read_dir(folder)? {
        let shelf = shelf?;
        let first = shelf.file_name();
        let Some(first) = first.to_str().filter(|name| name.len() == 2) else {
            continue;
        };
        for content in std::fs::read_dir(shelf.path())? {
            let rest = content?.file_name();
            let Some(sha256) = rest.to_str().and_then(|rest| digest(first, rest)) else {
                continue;
            };
            if !named.contains(&sha256) && claims.remove_orphan(&sha256) {
                removed += 1;
            }
        }
    }
    Ok(removed)
}

fn digest(first: &str, rest: &str) -> Option<Hash> {
    let mut bytes = [0; 32];
    const_hex::decode_to_slice(format!("{first}{rest}"), &mut bytes).ok()?;
    Some(Hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kedge_storage::content_path;

    #[test]
    fn what_no_row_names_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let claims = ContentClaims::new(dir.path().to_owned());
        let (named, orphan) = (Hash([0xab; 32]), Hash([0xac; 32]));
        for sha256 in [named, orphan] {
            let place = content_path(dir.path(), &sha256);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, "content").unwrap();
        }
        let stranger = dir.path().join("ab/README");
        std::fs::write(&stranger, "an operator's note").unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        let removed = sweep(dir.path(), &claims, &HashSet::from([named])).unwrap();
        assert_eq!(removed, 1);
        assert!(content_path(dir.path(), &named).exists() && stranger.exists());
        assert!(!content_path(dir.path(), &orphan).exists());
    }
}
