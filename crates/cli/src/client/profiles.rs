//! Logins that the client's commands continue, in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use kedge_client::TokenPair;
use kedge_protocol::SequencerKeys;
use kedge_protocol::eip712::Domain;
use serde::{Deserialize, Serialize};

use crate::input;
use crate::output::{CliResult, CommandFailure, refuse_usage};

/// Environment variable of the folder.
const FOLDER: &str = "KEDGE_CONFIG_HOME";
/// A token that expires sooner is exchanged first.
const LEFT_S_MIN: u64 = 30;

/// A login, and the log that it trusts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct ClientProfile {
    pub(super) url: String,
    pub(super) domain: Domain,
    /// As they were at the login, and later ones that the log proved.
    pub(super) sequencer_keys: SequencerKeys,
    /// Without it the signing key comes from the environment.
    pub(super) key_file: Option<PathBuf>,
    pub(super) email: String,
    pub(super) tokens: TokenPair,
}

/// A URL as profiles are compared by: scheme and host in lower case, without the scheme's own port and a slash at the end.
pub(super) fn plain_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let port = match scheme.as_str() {
        "http" => ":80",
        _ => ":443",
    };
    let host = host.strip_suffix(port).unwrap_or(&host);
    format!("{scheme}://{host}{path}")
}

impl ClientProfile {
    /// Whether this is a login of the same account at the same log.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        (&self.url, &self.domain, &self.email) == (&other.url, &other.domain, &other.email)
    }

    /// Whether the access token has expired, or does soon. The server decides; this only avoids a refusal.
    pub(super) fn is_expired(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now.map_or(0, |now| now.as_secs());
        expires_s(&self.tokens.access_token).is_none_or(|at_s| at_s < now_s + LEFT_S_MIN)
    }
}

/// `exp` of a JWT (RFC 7519, 4.1.4).
fn expires_s(token: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct JwtClaims {
        exp: u64,
    }
    let claims = token.split('.').nth(1)?;
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(claims)
        .ok()?;
    serde_json::from_slice::<JwtClaims>(&claims)
        .ok()
        .map(|claims| claims.exp)
}

type NamedProfiles = BTreeMap<String, ClientProfile>;

/// The file with all profiles.
pub(super) struct ProfileFile {
    folder: PathBuf,
    path: PathBuf,
}

impl ProfileFile {
    /// In `KEDGE_CONFIG_HOME`, or in the user's folder for configuration.
    pub(super) fn open() -> CliResult<Self> {
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
        let of_user = || named("XDG_CONFIG_HOME").map(PathBuf::from);
        let of_home = || named("HOME").map(|home| Path::new(&home).join(".config"));
        let user = || {
            of_user()
                .or_else(of_home)
                .map(|config| config.join("kedge"))
        };
        let Some(folder) = named(FOLDER).map(PathBuf::from).or_else(user) else {
            return refuse_usage(format!(
                "set HOME, or {FOLDER} to the folder of the profiles"
            ));
        };
        let path = folder.join("profiles.json");
        Ok(Self { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn all(&self) -> CliResult<NamedProfiles> {
        let metadata = match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(NamedProfiles::new());
            }
            metadata => metadata.map_err(CommandFailure::unreadable(&self.path))?,
        };
        if metadata.permissions().mode() & 0o077 != 0 {
            let path = self.path.display();
            return refuse_usage(format!(
                "others can read {path}, which holds tokens: chmod 600 {path}"
            ));
        }
        input::parse(&input::read(&self.path)?, "a file of profiles")
    }

    pub(super) fn read(&self, name: &str) -> CliResult<Option<ClientProfile>> {
        Ok(self.all()?.remove(name))
    }

    /// Holds off other commands that change profiles, until it is dropped.
    pub(super) fn lock(&self) -> CliResult<ProfileLock<'_>> {
        let failed = CommandFailure::at(&self.folder);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(failed)?;
        let mode = std::fs::metadata(&self.folder)
            .map_err(failed)?
            .permissions()
            .mode();
        if mode & 0o022 != 0 {
            let folder = self.folder.display();
            return refuse_usage(format!(
                "others can write {folder}, where tokens are: chmod 700 {folder}"
            ));
        }
        let path = self.folder.join("profiles.lock");
        let locked = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let locked = locked.and_then(|file| file.lock().map(|()| file));
        let held = locked.map_err(CommandFailure::at(&path))?;
        Ok(ProfileLock {
            file: self,
            _held: held,
        })
    }

    /// Writes one profile.
    pub(super) fn write(&self, name: &str, profile: ClientProfile) -> CliResult<()> {
        self.lock()?.write(name, profile)
    }

    /// Returns whether it was there.
    pub(super) fn forget(&self, name: &str) -> CliResult<bool> {
        let locked = self.lock()?;
        let mut all = self.all()?;
        let was_there = all.remove(name).is_some();
        if was_there {
            locked.file.replace(&all)?;
        }
        Ok(was_there)
    }

    /// Writes a new file and puts it in the place of the old one.
    fn replace(&self, all: &NamedProfiles) -> CliResult<()> {
        let failed = CommandFailure::at(&self.path);
        let text = serde_json::to_vec_pretty(all)?;
        // It is made with 0600.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.path)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// The file while no other command changes it.
pub(super) struct ProfileLock<'a> {
    file: &'a ProfileFile,
    _held: File,
}

impl ProfileLock<'_> {
    pub(super) fn write(&self, name: &str, profile: ClientProfile) -> CliResult<()> {
        let mut all = self.file.all()?;
        all.insert(name.to_owned(), profile);
        self.file.replace(&all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_url() {
        let plain = "http://example.com/v3";
        for url in [
            plain,
            "HTTP://Example.com:80/v3/",
            "http://example.com/v3//",
        ] {
            assert_eq!(plain_url(url), plain, "{url}");
        }
        for url in [
            "http://example.com:81/v3",
            "http://example.com/V3",
            "https://example.com/v3",
        ] {
            assert_ne!(plain_url(url), plain, "{url}");
        }
        assert_eq!(plain_url("https://h:443/"), "https://h");
    }

    #[test]
    fn the_expiry_of_a_token_is_read() {
        let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let token = format!(
            "e30.{}.x",
            engine.encode(r#"{"exp": 1700000000, "sub": "a"}"#)
        );
        assert_eq!(expires_s(&token), Some(1_700_000_000));
        for other in ["", "a.b.c", "e30.e30.x", "one"] {
            assert_eq!(expires_s(other), None, "{other}");
        }
    }
}
