//! Options for a command's memory and temporary files.

use std::path::PathBuf;

use kedge_upkeep::bounds::{MEMORY_BYTES_MIN, MemoryBounds};

const MIB: u64 = 1024 * 1024;

#[derive(clap::Args)]
pub(crate) struct MemoryArg {
    /// About how much memory to use, such as 512MiB or 4GiB; at least 128MiB. It does not grow with the log.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_memory)]
    memory: usize,
}

#[derive(clap::Args)]
pub(crate) struct BoundsArgs {
    #[command(flatten)]
    memory: MemoryArg,
    /// A directory on a disk for what does not fit into memory: it takes up to as much as data/store. The folder made in
    /// it is removed afterwards. TMPDIR if this is not given, and /var/tmp without TMPDIR.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

impl MemoryArg {
    /// Limits of a command with a fixed directory for spilled data.
    pub(crate) fn bounds(&self) -> MemoryBounds {
        MemoryBounds::new(self.memory, None)
    }
}

impl BoundsArgs {
    pub(crate) fn bounds(&self) -> MemoryBounds {
        MemoryBounds::new(self.memory.memory, self.scratch.as_deref())
    }
}

fn parse_memory(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no size: write it as 512MiB or 4GiB");
    let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    };
    let unit_bytes = match unit {
        "" => 1,
        "MiB" => MIB,
        "GiB" => 1024 * MIB,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(unit_bytes).ok_or_else(wrong)?;
    let bytes = usize::try_from(bytes).map_err(|_| wrong())?;
    if bytes < MEMORY_BYTES_MIN {
        return Err("at least 128MiB are needed".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_a_least_value() {
        assert_eq!(parse_memory("512MiB"), Ok(512 << 20));
        assert_eq!(parse_memory("2GiB"), Ok(2 << 30));
        assert_eq!(parse_memory("268435456"), Ok(256 << 20));
        for wrong in ["", "1", "127MiB", "1GB", "GiB", "-1GiB", "99999999999GiB"] {
            assert!(parse_memory(wrong).is_err(), "{wrong}");
        }
    }
}
