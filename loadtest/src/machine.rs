//! Description of the machine and its processor usage (Linux, proc(5)).

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Clock ticks a second in /proc; fixed for user space on all supported architectures.
const TICKS_A_SECOND: f64 = 100.0;

/// Description of the machine.
#[derive(Clone, Debug, Serialize)]
pub struct HostMachine {
    /// Processors available to this process.
    pub cores: usize,
    /// Model of the processors.
    pub processor: String,
    /// Total memory in MiB.
    pub memory_mib: u64,
    /// Kernel release.
    pub kernel: String,
}

impl HostMachine {
    /// Describes this machine. Values that cannot be read stay empty.
    pub fn here() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            memory_mib: number(&field(&read("/proc/meminfo"), "MemTotal")) / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

/// Load averages over 1, 5 and 15 minutes.
pub fn load_average() -> String {
    let text = read("/proc/loadavg");
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Resident memory of a process.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    number(&field(&read(&format!("/proc/{pid}/status")), "VmRSS")) * 1024
}

/// Bytes that a process has written to disks.
pub(crate) fn written_bytes(pid: u32) -> u64 {
    number(&field(&read(&format!("/proc/{pid}/io")), "write_bytes"))
}

/// Total size of the files in a directory.
pub(crate) fn directory_bytes(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(if metadata.is_dir() {
                directory_bytes(&entry.path())
            } else {
                metadata.len()
            })
        })
        .sum()
}

/// Milliseconds to write 4 KiB and sync them (fdatasync), sorted.
pub(crate) fn sync_latencies_ms(directory: &Path) -> std::io::Result<Vec<f64>> {
    const WRITES: usize = 200;
    let mut file = tempfile::tempfile_in(directory)?;
    let mut latencies = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let begun = Instant::now();
        file.write_all(&[0x5a; 4096])?;
        file.sync_data()?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    latencies.sort_unstable_by(f64::total_cmp);
    Ok(latencies)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Value of the first `name: value` line.
fn field(text: &str, name: &str) -> String {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| key.trim() == name)
        .map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

fn number(text: &str) -> u64 {
    let digits = text.split(' ').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Processor time up to a moment, in ticks.
pub struct CpuTicks {
    at: Instant,
    all: u64,
    stolen: u64,
    own: u64,
    server: Option<u64>,
}

/// Average number of busy cores, by user.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoreUsage {
    /// The load generator.
    pub generator: f64,
    /// The server, if its process id is known.
    pub server: Option<f64>,
    /// All other processes, including a server without a known process id, and kernel work such as interrupts.
    pub others: f64,
    /// Stolen by the hypervisor.
    pub stolen: f64,
}

impl CpuTicks {
    /// Current usage, of the server with this process id and of the generator's processes.
    pub fn now(server_pid: Option<u32>, generator_pids: &[u32]) -> Self {
        let (all, stolen) = machine_ticks(&read("/proc/stat"));
        Self {
            at: Instant::now(),
            all,
            stolen,
            own: generator_pids.iter().map(|pid| ticks_of(*pid)).sum(),
            server: server_pid.map(ticks_of),
        }
    }

    /// Usage since an earlier moment.
    pub fn since(&self, earlier: &Self) -> CoreUsage {
        let seconds = (self.at - earlier.at).as_secs_f64();
        let cores = |ticks: u64| ticks as f64 / TICKS_A_SECOND / seconds;
        let generator = self.own.saturating_sub(earlier.own);
        let server = self
            .server
            .zip(earlier.server)
            .map(|(now, then)| now.saturating_sub(then));
        let all = self.all.saturating_sub(earlier.all);
        CoreUsage {
            generator: cores(generator),
            server: server.map(cores),
            others: cores(all.saturating_sub(generator + server.unwrap_or(0))),
            stolen: cores(self.stolen.saturating_sub(earlier.stolen)),
        }
    }
}

/// Ticks of all processors: busy (user, nice, system, irq, softirq) and stolen.
fn machine_ticks(stat: &str) -> (u64, u64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = first
        .split_ascii_whitespace()
        .skip(1)
        .map(|text| text.parse().unwrap_or(0))
        .collect();
    let of = |column: usize| ticks.get(column).copied().unwrap_or(0);
    (of(0) + of(1) + of(2) + of(5) + of(6), of(7))
}

/// Processor time of a process, in user space and kernel; zero if there is none with this id.
pub fn processor_time(pid: u32) -> Duration {
    Duration::from_secs_f64(ticks_of(pid) as f64 / TICKS_A_SECOND)
}

fn ticks_of(pid: u32) -> u64 {
    process_ticks(&read(&format!("/proc/{pid}/stat")))
}

/// utime and stime. They follow the command's name, which is in brackets and may contain spaces.
fn process_ticks(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let columns = after_name.split_ascii_whitespace().skip(11).take(2);
    columns.map(|text| text.parse().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_texts() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 5 0 0";
        assert_eq!(process_ticks(stat), 200);
        assert_eq!(process_ticks(""), 0);
        let machine = "cpu  1 2 4 8 16 32 64 128 0 0\ncpu0 1 1 1 1\n";
        assert_eq!(machine_ticks(machine), (103, 128));
        let memory = "MemTotal:       24000000 kB\nMemFree: 1 kB\n";
        assert_eq!(number(&field(memory, "MemTotal")), 24_000_000);
    }

    #[test]
    fn use_is_counted_between_two_moments() {
        let at = Instant::now();
        let usage = |seconds, all, own, server| CpuTicks {
            at: at + Duration::from_secs(seconds),
            all,
            stolen: 0,
            own,
            server: Some(server),
        };
        let used = usage(10, 2100, 600, 1100).since(&usage(0, 100, 100, 100));
        assert!((used.generator - 0.5).abs() < 1e-9);
        assert!((used.server.unwrap() - 1.0).abs() < 1e-9);
        assert!((used.others - 0.5).abs() < 1e-9);
    }
}
