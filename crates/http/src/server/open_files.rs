//! Limit of open files, which connections share with the log and the store. Systems allow a process few unless it asks.
//! Connections get only what the others leave: without a reserved part nothing could be written.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use kedge_config::Config;
use kedge_storage::table_files_max;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The fewest open files that a server works with.
const FILES_MIN: u64 = 512;
/// Files of the log, of uploads and downloads, and outbound connections: this many in any case, and a part of all files
/// up to a bound.
const OTHER_FILES: u64 = 128;
const OTHER_PART: u64 = 8;
const OTHER_PART_MAX: u64 = 896;
/// The fewest connections that a server starts with.
const CONNECTIONS_MIN: u64 = 64;

#[derive(Debug, thiserror::Error)]
pub enum OpenFilesError {
    #[error(
        "the system allows this process {allowed} open files, but it needs {needed} or more: raise the limit \
         (ulimit -n, LimitNOFILE)"
    )]
    TooFew { allowed: u64, needed: u64 },
    /// The number of open files is not available.
    #[error("open files could not be counted: {0}")]
    Count(#[from] io::Error),
}

/// Raises the limit of open files as far as the system allows, and warns if that is too low for the configured
/// connections.
///
/// # Errors
/// [`OpenFilesError::TooFew`] if a server could not work with it.
pub fn allow(config: &Config) -> Result<(), OpenFilesError> {
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
    let Some(allowed) = allowed else {
        return Ok(());
    };
    let needed = FILES_MIN;
    if allowed < needed {
        return Err(OpenFilesError::TooFew { allowed, needed });
    }
    let connections = allowed - kept(allowed);
    if connections < config.connections_max as u64 {
        tracing::warn!(
            allowed,
            connections,
            "the system allows this process too few open files for connections_max, so there is room for fewer connections: raise its limit (ulimit -n, LimitNOFILE) or lower the option"
        );
    }
    Ok(())
}

/// Files kept from connections, out of `allowed`.
fn kept(allowed: u64) -> u64 {
    table_files_max(allowed) + OTHER_FILES + (allowed / OTHER_PART).min(OTHER_PART_MAX)
}

/// File numbers below this belong to usual connections. The system assigns the lowest free number, so a file's number
/// is a lower bound of the open files, whatever opened them.
pub(crate) fn connections_below() -> u64 {
    getrlimit(Resource::Nofile)
        .current
        .map_or(u64::MAX, |allowed| allowed.saturating_sub(kept(allowed)))
}

/// Checks that the open files leave room for connections: a long log has many.
///
/// # Errors
/// [`OpenFilesError`].
pub fn check() -> Result<(), OpenFilesError> {
    let Some(allowed) = getrlimit(Resource::Nofile).current else {
        return Ok(());
    };
    let open = open_files()?;
    let mut needed = allowed;
    while needed - kept(needed).min(needed) < open + CONNECTIONS_MIN {
        needed += CONNECTIONS_MIN;
    }
    if needed > allowed {
        return Err(OpenFilesError::TooFew { allowed, needed });
    }
    Ok(())
}

/// Number of open files without sockets: connections that a waiting start has served may still be closing.
fn open_files() -> io::Result<u64> {
    let Ok(all) = std::fs::read_dir("/proc/self/fd") else {
        // Outside Linux: the lowest free number.
        return Ok(File::open("/dev/null")?.as_raw_fd() as u64);
    };
    let mut open = 0;
    for file in all {
        let is_socket = std::fs::read_link(file?.path())
            .is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
        open += u64::from(!is_socket);
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 224.
    #[test]
    fn each_part_has_enough_however_few_there_are() {
        for allowed in [FILES_MIN, 600, 1_024, 4_096, 20_480, 65_536, 1 << 20] {
            let connections = allowed - kept(allowed);
            assert!(
                connections >= 2 * CONNECTIONS_MIN,
                "{allowed}: {connections}"
            );
            assert!(kept(allowed) <= 2_048, "{allowed}");
        }
        assert_eq!(kept(1_024), 512);
        assert_eq!(kept(65_536), 2_048);
    }
}
