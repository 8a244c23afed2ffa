//! Room for open files: each connection is one, and systems give a process few of them unless it asks.

use kedge_config::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most files that are not connections: those of the store and all others.
const OTHER_FILES: u64 = 2_048;

/// Raises the limit of open files as far as the system allows, and warns if that is too low for the
/// configured connections.
pub fn allow(config: &Config) {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, all) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files could not be raised");
            limit.current
        }
    };
    let needed = config.connections_max as u64 + OTHER_FILES;
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "connections_max needs more open files than the system allows this process: raise its limit (ulimit -n, LimitNOFILE) or lower the option"
        );
    }
}
