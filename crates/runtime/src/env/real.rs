//! The system's own clocks, randomness and files.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::{Env, FileHandle, OpenMode};

#[derive(Clone, Copy, Default, Debug)]
pub struct RealEnv;

struct RealFile(fs::File);

/// Limit of open files of this process; `None` without a limit.
pub fn open_files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Whether the process or the system has run out of file descriptors.
pub fn lacks_descriptors(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE].contains(&errno))
}

/// The clock of [`Env::passed_ms`].
#[cfg(target_os = "linux")]
const PASSED: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const PASSED: ClockId = ClockId::Monotonic;

impl Env for RealEnv {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_millis() as u64)
    }

    fn passed_ms(&self) -> u64 {
        let since = clock_gettime(PASSED);
        since.tv_sec as u64 * 1_000 + since.tv_nsec as u64 / 1_000_000
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        match dir.parent() {
            Some(parent) if parent != Path::new("") => self.sync_dir(parent),
            _ => Ok(()),
        }
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn FileHandle>> {
        let write = mode != OpenMode::Read;
        let create = mode == OpenMode::Create;
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .create(create)
            .truncate(create)
            .mode(0o600)
            .open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // A name that is not UTF-8 is not one of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(stat.f_frsize * stat.f_bavail)
    }

    fn random(&self, out: &mut [u8]) -> io::Result<()> {
        getrandom::fill(out).map_err(io::Error::from)
    }
}

impl FileHandle for RealFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(out, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::env::is_scarce;

    // Holds invariant 224.
    #[test]
    fn what_is_scarce_is_no_damage() {
        for errno in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::AGAIN,
            Errno::INTR,
        ] {
            assert!(is_scarce(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::NOENT, Errno::ACCESS, Errno::BADF] {
            assert!(!is_scarce(&errno.into()), "{errno}");
        }
    }

    #[test]
    fn the_real_clocks_advance() {
        let begun = (RealEnv.now(), RealEnv.passed_ms(), RealEnv.unix_ms());
        std::thread::sleep(Duration::from_millis(5));
        assert!(RealEnv.now() - begun.0 >= Duration::from_millis(5));
        assert!(RealEnv.passed_ms() >= begun.1 + 4);
        assert!(begun.2 > 1_600_000_000_000);
    }
}
