//! Faults of the disk, the resolver and the clock in a running server: failing or stalling calls, and a wrong clock.
//! `faults.c` and `faults_names.c`, preloaded before the C library, inject them as a control file says.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::server::Setup;

/// The layout of the file, as in `faults.c`.
const PATH_AT: u64 = 2;
const PATH_BYTES: usize = 118;
const CLOCK_AT: u64 = 120;
const MET_AT: u64 = 128;
const SKIP_AT: u64 = 136;
const MOST_AT: u64 = 144;
const COUNTS_AT: u64 = 152;
const BYTES: u64 = COUNTS_AT + 8 * Group::ALL.len() as u64;

/// The way in which a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum With {
    /// EIO.
    Error,
    /// ENOSPC.
    NoSpace,
    /// Half of the bytes are written or read, and the call returns that number.
    Half,
    /// The process is killed before the call does anything.
    Kill,
    /// The call does nothing and reports success; for syncs only.
    Lie,
}

impl With {
    fn letter(self) -> u8 {
        match self {
            Self::Error => b'e',
            Self::NoSpace => b'n',
            Self::Half => b'h',
            Self::Kill => b'k',
            Self::Lie => b'l',
        }
    }
}

/// A call that a fault can hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnCall {
    Fdatasync,
    Fsync,
    Write,
    Pwrite,
    /// Removing a file.
    Unlink,
    /// Looking up a name; the path is part of the name.
    Getaddrinfo,
    /// Every call of a group.
    Any(Group),
}

/// Calls with the same effect, under any name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    Open,
    Write,
    Sync,
    Rename,
    /// Allocating space, and setting a length.
    Allocate,
    Read,
    Mkdir,
    Unlink,
}

impl Group {
    /// In the order of `groups` in `faults.c`.
    pub(crate) const ALL: [Self; 8] = [
        Self::Open,
        Self::Write,
        Self::Sync,
        Self::Rename,
        Self::Allocate,
        Self::Read,
        Self::Mkdir,
        Self::Unlink,
    ];

    fn letter(self) -> u8 {
        match self {
            Self::Open => b'O',
            Self::Write => b'W',
            Self::Sync => b'S',
            Self::Rename => b'N',
            Self::Allocate => b'A',
            Self::Read => b'R',
            Self::Mkdir => b'M',
            Self::Unlink => b'U',
        }
    }
}

impl OnCall {
    fn letter(self) -> u8 {
        match self {
            Self::Fdatasync => b'd',
            Self::Fsync => b'f',
            Self::Write => b'w',
            Self::Pwrite => b'p',
            Self::Unlink => b'u',
            Self::Getaddrinfo => b'g',
            Self::Any(group) => group.letter(),
        }
    }
}

/// The faults of one server.
pub(crate) struct Faults {
    path: PathBuf,
    control: File,
}

/// Compiles the library, once for all tests of a program.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/faults.c");
        let name = format!("faults-{}.so", std::process::id());
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&library, &source])
            .output()
            .unwrap();
        let reported = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(compiled.status.success(), "{reported}");
        library
    })
}

impl Faults {
    /// The control file in `directory`, with no fault yet.
    pub(crate) fn new(directory: &Path) -> Self {
        let path = directory.join("faults");
        let control = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        control.set_len(BYTES).unwrap();
        Self { path, control }
    }

    /// The setup of a server under these faults.
    pub(crate) fn under(&self, setup: Setup) -> Setup {
        let library = library().to_str().unwrap();
        setup
            .environment("LD_PRELOAD", library)
            .environment("FAULTS_CONTROL", self.path.to_str().unwrap())
    }

    fn begin(&self, call: OnCall, fault: u8, path: &str, spared: u64, most: u64) {
        self.lift();
        let mut bytes = [0; PATH_BYTES];
        bytes[..path.len()].copy_from_slice(path.as_bytes());
        self.control.write_all_at(&bytes, PATH_AT).unwrap();
        self.control
            .write_all_at(&0_i64.to_ne_bytes(), MET_AT)
            .unwrap();
        self.control
            .write_all_at(&spared.to_ne_bytes(), SKIP_AT)
            .unwrap();
        self.control
            .write_all_at(&most.to_ne_bytes(), MOST_AT)
            .unwrap();
        self.control
            .write_all_at(&[call.letter(), fault], 0)
            .unwrap();
    }

    /// From now on such calls on files whose path contains `path` fail with EIO.
    pub(crate) fn fail(&self, call: OnCall, path: &str) {
        self.fail_with(With::Error, 0, call, path);
    }

    /// Such calls fail like this, after `spared` calls that succeed.
    pub(crate) fn fail_with(&self, with: With, spared: u64, call: OnCall, path: &str) {
        self.begin(call, with.letter(), path, spared, 0);
    }

    /// Only the call of this group after `spared` others fails like this.
    pub(crate) fn fail_one(&self, with: With, spared: u64, group: Group, path: &str) {
        self.begin(OnCall::Any(group), with.letter(), path, spared, 1);
    }

    /// Counts the calls of all groups from now on.
    pub(crate) fn count(&self, path: &str) {
        self.begin(OnCall::Any(Group::Open), b'c', path, 0, 0);
    }

    /// The counted calls of a group.
    pub(crate) fn counted(&self, group: Group) -> u64 {
        let place = Group::ALL.iter().position(|other| *other == group);
        let mut bytes = [0; 8];
        let at = COUNTS_AT + 8 * place.unwrap() as u64;
        self.control.read_exact_at(&mut bytes, at).unwrap();
        u64::from_ne_bytes(bytes)
    }

    /// From now on such calls do not return until the fault is lifted.
    pub(crate) fn stall(&self, call: OnCall, path: &str) {
        self.begin(call, b's', path, 0, 0);
    }

    /// Stalled calls fail instead, and so do the following ones.
    pub(crate) fn fail_what_stalls(&self) {
        self.control.write_all_at(b"e", 1).unwrap();
    }

    /// Ends a fault. The clock is not reset.
    pub(crate) fn lift(&self) {
        self.control.write_all_at(&[0, 0], 0).unwrap();
    }

    /// The number of calls that met the fault.
    pub(crate) fn met(&self) -> i64 {
        let mut bytes = [0; 8];
        self.control.read_exact_at(&mut bytes, MET_AT).unwrap();
        i64::from_ne_bytes(bytes)
    }

    /// Sets the server's clock this far ahead of the right time.
    pub(crate) fn clock_ahead_ms(&self, ahead_ms: i64) {
        self.control
            .write_all_at(&ahead_ms.to_ne_bytes(), CLOCK_AT)
            .unwrap();
    }
}
