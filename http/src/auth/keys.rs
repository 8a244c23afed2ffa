//! The Ed25519 keys of access tokens: files `token-<number>.key` of one directory. The highest number signs, all of
//! them verify; a new one needs no restart.

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
    /// `kid` of the key that signs.
    pub signing_id: String,
    /// The key that signs.
    pub signing: EncodingKey,
    /// All keys, by `kid`.
    pub verifying: HashMap<String, DecodingKey>,
    /// The public keys as served (RFC 7517).
    pub public: JwkSet,
}

fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix("token-")?
        .strip_suffix(".key")?
        .parse()
        .ok()
}

/// The key files of a directory, lowest number first.
fn files(dir: &Path) -> Result<Vec<(u64, PathBuf)>, KeysError> {
    let error = |source| KeysError::Directory {
        path: dir.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if let Some(number) = number_of(&path) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

/// Makes a key, which signs from the next [`TokenKeys::load`] on.
pub fn add(dir: &Path) -> Result<PathBuf, KeysError> {
    let last = files(dir)?.last().map_or(0, |(number, _)| *number);
    let path = dir.join(format!("token-{:06}.key", last + 1));
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
    for (_, path) in &all {
        let (_, _, found) = read(path)?;
        if id.is_none_or(|id| id == found) {
            retired.push((path, found));
        }
    }
    if let Some(id) = id.filter(|_| retired.is_empty()) {
        return Err(KeysError::Unknown(id.to_owned()));
    }
    if retired.len() == all.len() {
        add(dir)?;
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
            add(dir)?;
        }
        let mut keys = Self {
            signing_id: String::new(),
            signing: EncodingKey::from_ed_der(&[]),
            verifying: HashMap::new(),
            public: JwkSet { keys: Vec::new() },
        };
        for (_, path) in files(dir)? {
            let (signing, public, id) = read(&path)?;
            let verifying = DecodingKey::from_jwk(&public)?;
            keys.verifying.insert(id.clone(), verifying);
            keys.public.keys.push(public);
            keys.signing = signing;
            keys.signing_id = id;
        }
        Ok(keys)
    }
}
