//! The machine that a measure was made on (Linux, proc(5)).

use std::fs;

use serde::Serialize;

/// What the machine is.
#[derive(Serialize)]
pub(crate) struct Machine {
    cores: usize,
    processor: String,
    memory_mib: u64,
    kernel: String,
}

impl Machine {
    /// This one; what cannot be read is left empty.
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
