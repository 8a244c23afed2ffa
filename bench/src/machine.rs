//! The machine that a measure was made on, and what used its processors (Linux, proc(5)).

use std::fs;
use std::time::Duration;

use serde::Serialize;

/// Clock ticks a second in /proc: fixed for user space on every architecture that we run on.
const TICKS_A_SECOND: u64 = 100;

/// A description of the machine.
#[derive(Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
}

impl Machine {
    /// This machine; values that cannot be read stay empty.
    pub(crate) fn here() -> Self {
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let memory_kib: u64 = memory
            .split(' ')
            .next()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            memory_mib: memory_kib / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

/// The load averages over 1, 5 and 15 minutes.
pub(crate) fn load_average() -> String {
    let text = read("/proc/loadavg");
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Processor time that a process has used, to ten milliseconds.
pub(crate) fn processor_time(pid: u32) -> Duration {
    let ticks = process_ticks(&read(&format!("/proc/{pid}/stat")));
    Duration::from_millis(ticks * 1_000 / TICKS_A_SECOND)
}

/// utime and stime. The command's name comes before them, in brackets, and may hold spaces.
fn process_ticks(stat: &str) -> u64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let columns = after_name.split_ascii_whitespace().skip(11).take(2);
    columns.map(|text| text.parse().unwrap_or(0)).sum()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first `name: value` line.
fn field(text: &str, name: &str) -> String {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| key.trim() == name)
        .map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_stands_behind_the_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 5 0 0";
        assert_eq!(process_ticks(stat), 200);
        assert_eq!(process_ticks(""), 0);
    }
}
