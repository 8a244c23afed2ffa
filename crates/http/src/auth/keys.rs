//! The Ed25519 keys of access tokens: files `token-<number>.key` of one directory. All of them verify and are published;
//! a new one needs no restart. The highest number signs, except that a file `token-<number>-from-<Unix seconds>.key`
//! signs from that time on: by then every verifier has asked for the published keys again. The
//! time is in the name, so it survives a restart, and nodes that copy the file begin together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jsonwebtoken::errors::Error as JwtError;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use kedge_config::durable;
use kedge_config::secrets::{self, SecretError};

/// PKCS #8 around an Ed25519 seed (RFC 8410, 7): everything before the seed.
const PKCS8_ED25519: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Seconds for which others may keep the published keys.
const PUBLIC_AGE_S: u64 = 300;
/// The same, as the header of the published keys.
pub const PUBLIC_CACHE: &str = "public, max-age=300";
/// Seconds after which a published key signs: verifiers that have just asked for the keys ask again after half a minute.
pub const SIGNS_AFTER_S: u64 = PUBLIC_AGE_S + 30;

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The directory.
    #[error("{path}: {source}", path = .path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No key has this id.
    #[error("no token key has the id {0}; GET /.well-known/jwks.json lists those in use")]
    Unknown(String),
    /// The library refuses a key.
    #[error("a token key: {0}")]
    Key(#[from] JwtError),
}

/// The keys in use.
pub struct TokenKeys {
    /// The keys that sign, in their order.
    signing: Vec<SigningKey>,
    /// All keys, by `kid`.
    pub verifying: HashMap<String, DecodingKey>,
    /// The public keys as served (RFC 7517).
    pub public: JwkSet,
}

/// A key that signs from some time on.
pub struct SigningKey {
    /// Its `kid`.
    pub id: String,
    /// The key.
    pub key: EncodingKey,
    from_s: u64,
}

/// The file of a key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct KeyFile {
    number: u64,
    /// When it begins to sign, Unix seconds.
    from_s: u64,
    path: PathBuf,
}

impl KeyFile {
    /// A file, if its name is that of a key.
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

/// The key files of a directory, lowest number first.
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

/// Makes a key, which is published from the next [`TokenKeys::load`] on, and signs from a time on, in Unix seconds.
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

/// Reads a key from its file; returns it with its public half and its id.
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

/// Removes the key with this id, or all keys, for good; returns the ids removed. If nothing would
/// be left to sign with, a new key is made first.
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
    durable::sync_directory(dir).map_err(|error| failed(dir, error))?;
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
            keys.signing.push(SigningKey {
                id,
                key,
                from_s: file.from_s,
            });
        }
        Ok(keys)
    }

    /// The key that signs at a time: the newest one that has begun to. Where all others were retired before one has
    /// begun, it signs early.
    pub fn signing_at(&self, now_s: u64) -> Option<&SigningKey> {
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
