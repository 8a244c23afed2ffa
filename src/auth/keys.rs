//! The Ed25519 keys of access tokens: files `token-<number>.key` of one directory. The highest
//! number signs, all of them verify; a new one needs no restart.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jsonwebtoken::errors::Error as JwtError;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};

use crate::config::secrets::{self, SecretError};

/// PKCS #8 around an Ed25519 seed (RFC 8410, 7): all that stands before the seed.
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
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A key that the library does not take.
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
    /// The public keys, as they are served (RFC 7517).
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

/// Makes a key that signs from the next [`TokenKeys::load`] on.
pub fn add(dir: &Path) -> Result<PathBuf, KeysError> {
    let last = files(dir)?.last().map_or(0, |(number, _)| *number);
    let path = dir.join(format!("token-{:06}.key", last + 1));
    secrets::write_32(&path, &secrets::random()?)?;
    Ok(path)
}

impl TokenKeys {
    /// Reads the keys of a directory; makes the first one.
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
            let seed = secrets::read_32(&path)?;
            keys.signing = EncodingKey::from_ed_der(&[PKCS8_ED25519.as_slice(), &seed].concat());
            let mut public = Jwk::from_encoding_key(&keys.signing, Algorithm::EdDSA)?;
            let id = public.thumbprint(ThumbprintHash::SHA256)?;
            public.common.key_id = Some(id.clone());
            public.common.public_key_use = Some(PublicKeyUse::Signature);
            public.common.key_algorithm = Some(KeyAlgorithm::EdDSA);
            let verifying = DecodingKey::from_jwk(&public)?;
            keys.verifying.insert(id.clone(), verifying);
            keys.public.keys.push(public);
            keys.signing_id = id;
        }
        Ok(keys)
    }
}
