//! A disk that fills up: a small memory file system in a test's private mount namespace. A test is skipped only where
//! the kernel allows no such namespace, and never in CI.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PLACE: &str = "KEDGE_TEST_SMALL_DISK";
/// Size of the disk. The server refuses changes while less than 256 MiB are free; this leaves it room above that.
const DISK_MIB: u64 = 512;

/// The reason why this kernel cannot give a test a private file system, if any. Only the kernel is asked: any other
/// obstacle is a failure.
pub(crate) fn lacking(proc: &Path) -> Option<&'static str> {
    let is_zero = |file: &str| {
        let text = std::fs::read_to_string(proc.join(file));
        text.is_ok_and(|text| text.trim() == "0")
    };
    if !proc.join("self/ns/mnt").exists() {
        return Some("the kernel has no mount namespaces");
    }
    if rustix::process::geteuid().is_root() {
        return None;
    }
    if !proc.join("self/ns/user").exists() {
        return Some("the kernel has no user namespaces");
    }
    if is_zero("sys/user/max_user_namespaces") || is_zero("sys/kernel/unprivileged_userns_clone") {
        return Some("the kernel gives user namespaces to root alone");
    }
    None
}

/// Runs a script in a private mount namespace: as a mapped root user, or as real root where only root may have one.
fn isolated(script: &str, place: &Path) -> Output {
    let unshare = |who: &[&str], script: &str| {
        Command::new("unshare")
            .args(who)
            .args(["--mount", "sh", "-c", script])
            .env(PLACE, place)
            .output()
            .unwrap_or_else(|error| panic!("unshare, of util-linux: {error}"))
    };
    let somebody: &[&str] = &["--user", "--map-root-user"];
    let may = unshare(somebody, "true").status.success();
    unshare(if may { somebody } else { &[] }, script)
}

/// Runs an ignored test of this program in a process that sees a small disk.
pub(crate) fn on_a_small_disk(test: &str) {
    if let Some(why) = lacking(Path::new("/proc")) {
        assert!(std::env::var_os("CI").is_none(), "CI needs this: {why}");
        // Written directly, because the output of a passing test is not shown.
        let mut stderr = std::io::stderr().lock();
        writeln!(stderr, "\nSKIPPED {test}: {why}\n").unwrap();
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mount = format!(
        "mount -t tmpfs -o size={DISK_MIB}m tmpfs {}",
        place.path().display()
    );
    let program = std::env::current_exe().unwrap();
    let run = format!("{} --exact {test} --ignored --nocapture", program.display());
    let output = isolated(&format!("{mount} && {run}"), place.path());
    let printed = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{log}"
    );
    eprint!("{log}");
}

/// The small disk, in a test that `on_a_small_disk` runs.
pub(crate) fn small_disk() -> PathBuf {
    PathBuf::from(std::env::var(PLACE).unwrap())
}

/// Writes until `free_bytes` are left.
pub(crate) fn fill(path: &Path, free_bytes: u64) {
    let mut file = File::create(path).unwrap();
    let block = vec![1; 1 << 20];
    let free = || {
        let reported = Command::new("df")
            .args(["-B1", "--output=avail"])
            .arg(path)
            .output();
        let text = String::from_utf8(reported.unwrap().stdout).unwrap();
        text.lines().nth(1).unwrap().trim().parse::<u64>().unwrap()
    };
    while free_bytes == 0 || free() > free_bytes {
        if file.write_all(&block).is_err() {
            return;
        }
    }
}
