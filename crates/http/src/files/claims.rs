//! Claims of uploads in flight on contents: another upload of the same content, a refusal and the removal of orphans
//! must not delete it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use kedge_protocol::Hash;
use parking_lot::Mutex;

use kedge_storage::content_path;

use super::NamingOutcome;

#[derive(Clone)]
pub(super) struct ContentClaims {
    folder: PathBuf,
    contents: Arc<Mutex<ClaimTable>>,
}

#[derive(Default)]
struct ClaimTable {
    under_way: HashMap<Hash, ClaimCount>,
    /// Contents kept since the running sweep began; `None` without a sweep.
    kept_since: Option<HashSet<Hash>>,
}

struct ClaimCount {
    uploads: usize,
    /// The content stays, whatever the outcome of these uploads.
    stays: bool,
}

/// An upload's claim on a content. Dropped without being settled, it leaves the content in place.
pub(super) struct ContentClaim {
    claims: ContentClaims,
    sha256: Hash,
    fate: NamingOutcome,
}

impl ContentClaims {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            contents: Arc::default(),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut ClaimTable) -> T) -> T {
        // A panic under the lock leaves plain maps, which are consistent after every line.
        let mut contents = self.contents.lock();
        act(&mut contents)
    }

    /// Claims a content before it is moved to its place.
    pub(super) fn claim(&self, sha256: Hash) -> ContentClaim {
        self.with(|contents| {
            let under_way = contents.under_way.entry(sha256);
            let under_way = under_way.or_insert_with(|| ClaimCount {
                uploads: 0,
                stays: content_path(&self.folder, &sha256).exists(),
            });
            under_way.uploads += 1;
        });
        ContentClaim {
            claims: self.clone(),
            sha256,
            fate: NamingOutcome::Unknown,
        }
    }

    /// Remembers kept contents until [`ContentClaims::end_sweep`].
    pub(super) fn begin_sweep(&self) {
        self.with(|contents| contents.kept_since = Some(HashSet::new()));
    }

    pub(super) fn end_sweep(&self) {
        self.with(|contents| contents.kept_since = None);
    }

    /// Removes a content that no row named when the sweep began, unless an upload needs it. True if it was removed.
    pub(super) fn remove_orphan(&self, sha256: &Hash) -> bool {
        self.with(|contents| {
            let kept = contents.kept_since.as_ref();
            let wanted = contents.under_way.contains_key(sha256)
                || kept.is_some_and(|kept| kept.contains(sha256));
            !wanted && self.remove(sha256)
        })
    }

    fn remove(&self, sha256: &Hash) -> bool {
        let removed = std::fs::remove_file(content_path(&self.folder, sha256));
        if let Err(error) = &removed {
            tracing::warn!(%sha256, %error, "the content of an unused file could not be removed");
        }
        removed.is_ok()
    }
}

impl ContentClaim {
    pub(super) fn settle(mut self, fate: NamingOutcome) {
        self.fate = fate;
    }
}

impl Drop for ContentClaim {
    fn drop(&mut self) {
        let Self {
            claims,
            sha256,
            fate,
        } = self;
        claims.with(|contents| {
            let Some(under_way) = contents.under_way.get_mut(sha256) else {
                return;
            };
            under_way.uploads -= 1;
            under_way.stays |= *fate != NamingOutcome::Refused;
            let (last, stays) = (under_way.uploads == 0, under_way.stays);
            if stays && let Some(kept) = &mut contents.kept_since {
                kept.insert(*sha256);
            }
            if last {
                contents.under_way.remove(sha256);
                if !stays {
                    claims.remove(sha256);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(claims: &ContentClaims, sha256: Hash) {
        let place = content_path(&claims.folder, &sha256);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "content").unwrap();
    }

    fn is_there(claims: &ContentClaims, sha256: Hash) -> bool {
        content_path(&claims.folder, &sha256).exists()
    }

    // Holds invariant 29.
    #[test]
    fn the_last_refusal_removes_what_nobody_kept() {
        let dir = tempfile::tempdir().unwrap();
        let claims = ContentClaims::new(dir.path().to_owned());
        let sha256 = Hash([7; 32]);
        let (one, other) = (claims.claim(sha256), claims.claim(sha256));
        content(&claims, sha256);
        one.settle(NamingOutcome::Refused);
        assert!(is_there(&claims, sha256), "the other upload still wants it");
        other.settle(NamingOutcome::Refused);
        assert!(!is_there(&claims, sha256));

        let (one, other) = (claims.claim(sha256), claims.claim(sha256));
        content(&claims, sha256);
        one.settle(NamingOutcome::Named);
        other.settle(NamingOutcome::Refused);
        assert!(is_there(&claims, sha256), "one of them was kept");
        claims.claim(sha256).settle(NamingOutcome::Refused);
        assert!(is_there(&claims, sha256), "it was there before");
    }

    #[test]
    fn a_sweep_takes_nothing_from_an_upload() {
        let dir = tempfile::tempdir().unwrap();
        let claims = ContentClaims::new(dir.path().to_owned());
        let (orphan, wanted, kept) = (Hash([1; 32]), Hash([2; 32]), Hash([3; 32]));
        claims.begin_sweep();
        let claim = claims.claim(wanted);
        let settled = claims.claim(kept);
        for sha256 in [orphan, wanted, kept] {
            content(&claims, sha256);
        }
        settled.settle(NamingOutcome::Named);
        assert!(claims.remove_orphan(&orphan));
        assert!(!claims.remove_orphan(&wanted));
        assert!(!claims.remove_orphan(&kept));
        drop(claim);
        assert!(
            !claims.remove_orphan(&wanted),
            "nobody knows whether it is named"
        );
    }
}
