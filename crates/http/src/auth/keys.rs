//! Ed25519 keys of access tokens: files `token-<number>.key` of one directory. All of them verify and are published;
//! adding one needs no restart. The highest number signs, except that a file `token-<number>-from-<Unix seconds>.key`
//! signs only from that time on, when every verifier has fetched it. The time is in the file's name, so it survives a
//! restart, and nodes that copy the file switch together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jsonwebtoken::errors::Error as JwtError;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use kedge_config::secrets::{self, SecretError};
use kedge_config::state_file;

/// PKCS #8 header of an Ed25519 seed (RFC 8410, 7).
const PKCS8_ED25519: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Seconds for which the published keys may be cached.
const PUBLIC_AGE_S: u64 = 300;
/// `Cache-Control` of the published keys.
pub const PUBLIC_CACHE: &str = "public, max-age=300";
/// Delay in seconds before a published key signs: caches have expired by then, with a margin.
pub const SIGNS_AFTER_S: u64 = PUBLIC_AGE_S + 30;

#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{path}: {source}", path = .path.display())]
    Directory {
        path: PathBuf,
        source: std::io::Error,
    },
    /// No key has this id.
    #[error("no token key has the id {0}; GET /.well-known/jwks.json lists those in use")]
    Unknown(String),
    /// The library refuses a key.
    #[error("a token key: {0}")]
    Key(#[from] JwtError),
}

pub struct TokenKeys {
    /// Signing keys in their order.
    signing: Vec<TokenSigningKey>,
    /// All keys, by `kid`.
    pub verifying: HashMap<String, DecodingKey>,
    /// The published keys (RFC 7517).
    pub public: JwkSet,
}

/// A key that signs from some time on.
pub struct TokenSigningKey {
    /// The `kid`.
    pub id: String,
    pub key: EncodingKey,
    from_s: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct KeyFile {
    number: u64,
    /// Start of its signing, Unix seconds.
    from_s: u64,
    path: PathBuf,
}

impl KeyFile {
    /// Parses the file's name.
    fn of(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_prefix("token-")?.strip_suffix(".key")?;
        let (number, from_s) = name.split_once("-from-").unwrap_or((name, "0"));
        Some(Self {
            number: number.parse().ok()?,
            from_s: from_s.parse().ok()?,
            path,
        })
    }
}

/// Key files of a directory, lowest number first.
fn files(dir: &Path) -> Result<Vec<KeyFile>, KeysError> {
    let error = |source| KeysError::Directory {
        path: dir.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        files.extend(KeyFile::of(entry.map_err(error)?.path()));
    }
    files.sort();
    Ok(files)
}

/// Makes a key, published from the next [`TokenKeys::load`] on and signing from `from_s` on (Unix seconds).
pub fn add(dir: &Path, from_s: u64) -> Result<PathBuf, KeysError> {
    let number = files(dir)?.last().map_or(1, |last| last.number + 1);
    let from = match from_s {
        0 => String::new(),
        _ => format!("-from-{from_s}"),
    };
    let path = dir.join(format!("token-{number:06}{from}.key"));
    secrets::write_32(&path, &secrets::random()?)?;
    Ok(path)
}

/// Reads a key's file: the key, its public half, and its id.
fn read(path: &Path) -> Result<(EncodingKey, Jwk, String), KeysError> {
    let seed = secrets::read_32(path)?;
    let key = EncodingKey::from_ed_der(&[PKCS8_ED25519.as_slice(), &seed].concat());
    let mut public = Jwk::from_encoding_key(&key, Algorithm::EdDSA)?;
    let id = public.thumbprint(ThumbprintHash::SHA256)?;
    public.common.key_id = Some(id.clone());
    public.common.public_key_use = Some(PublicKeyUse::Signature);
    public.common.key_algorithm = Some(KeyAlgorithm::EdDSA);
    Ok((key, public, id))
}

/// Removes the key with this id, or all keys, permanently; returns the removed ids. If no signing key would be left, a
/// new one is made first.
pub fn retire(dir: &Path, id: Option<&str>) -> Result<Vec<String>, KeysError> {
    let all = files(dir)?;
    let mut retired = Vec::new();
    for file in &all {
        let (_, _, found) = read(&file.path)?;
        if id.is_none_or(|id| id == found) {
            retired.push((&file.path, found));
        }
    }
    if let Some(id) = id.filter(|_| retired.is_empty()) {
        return Err(KeysError::Unknown(id.to_owned()));
    }
    if retired.len() == all.len() {
        add(dir, 0)?;
    }
    let failed = |path: &Path, source| KeysError::Directory {
        path: path.to_owned(),
        source,
    };
    for (path, _) in &retired {
        std::fs::remove_file(path).map_err(|error| failed(path, error))?;
    }
    state_file::sync_directory(dir).map_err(|error| failed(dir, error))?;
    Ok(retired.into_iter().map(|(_, id)| id).collect())
}

impl TokenKeys {
    /// Reads the keys of a directory; makes the first one if there is none.
    pub fn load(dir: &Path) -> Result<Self, KeysError> {
        if files(dir)?.is_empty() {
            add(dir, 0)?;
        }
        let mut keys = Self {
            signing: Vec::new(),
            verifying: HashMap::new(),
            public: JwkSet { keys: Vec::new() },
        };
        for file in files(dir)? {
            let (key, public, id) = read(&file.path)?;
            let verifying = DecodingKey::from_jwk(&public)?;
            keys.verifying.insert(id.clone(), verifying);
            keys.public.keys.push(public);
            keys.signing.push(TokenSigningKey {
                id,
                key,
                from_s: file.from_s,
            });
        }
        Ok(keys)
    }

    /// The newest key whose time has come. If all others were retired before that, the next one signs early.
    pub fn signing_at(&self, now_s: u64) -> Option<&TokenSigningKey> {
        let begun = self.signing.iter().rfind(|key| key.from_s <= now_s);
        begun.or(self.signing.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_state_when_a_key_signs() {
        let of = |name: &str| {
            let file = KeyFile::of(PathBuf::from("/keys").join(name))?;
            Some((file.number, file.from_s))
        };
        assert_eq!(of("token-000001.key"), Some((1, 0)));
        assert_eq!(
            of("token-000012-from-1767225600.key"),
            Some((12, 1_767_225_600))
        );
        for other in [
            "token-.key",
            "token-1-from-.key",
            "token-1.key.new",
            "api.key",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn keys_are_published_for_as_long_as_they_may_be_kept() {
        assert_eq!(PUBLIC_CACHE, format!("public, max-age={PUBLIC_AGE_S}"));
    }
}
