//! Fuzzer without compiler instrumentation (docs/adr/0026). A target is a function of bytes that panics if a property
//! fails, and otherwise returns its observations in a few words. An input with new observations is kept and mutated
//! further, which leads targets deep.

mod inputs;
mod random;
mod shrink;

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use inputs::change;
pub use random::FuzzRandom;

/// Inputs from the fixed seed in every run. They take a second or two in the slowest build.
const FIXED: u64 = 400;
/// The fixed seed.
const FIXED_SEED: u64 = 0x6b_6564_6765;
/// Limit on an input. The targets' inputs are bounded, and small faults show in small inputs.
const BYTES_MAX: usize = 64 * 1024;
/// Length of the part of an outcome that counts.
const OUTCOME_BYTES: usize = 120;
/// Limit on inputs kept for a target: more would make the good ones rarer.
const POOL_MAX: usize = 2_000;
/// Time limit of an input, far above the slowest machine's: a slower one would stop the server.
const INPUT_LIMIT: Duration = Duration::from_mins(1);

/// Result of a run.
#[derive(Debug)]
pub struct FuzzReport {
    /// Number of inputs tried.
    pub inputs: u64,
    /// Number of different outcomes.
    pub outcomes: usize,
    /// Longest time of an input.
    pub slowest: Duration,
}

/// A target with its inputs.
pub struct FuzzTarget<'a> {
    name: &'a str,
    /// Small corpus in the repository.
    corpus: PathBuf,
    /// Growing corpus outside of it.
    cache: PathBuf,
    seeds: Vec<Vec<u8>>,
    words: Vec<&'a [u8]>,
    /// Seconds of new inputs.
    seconds: u64,
}

struct FuzzRun<'a, T> {
    target: T,
    name: &'a str,
    cache: &'a Path,
    words: &'a [&'a [u8]],
    pool: Vec<Vec<u8>>,
    seen: HashSet<String>,
    /// File with the current input, which survives a killed or hanging process.
    last: Option<File>,
    report: FuzzReport,
}

impl<'a> FuzzTarget<'a> {
    /// A target with its name. Its corpus is in the folder of that name in `tests/fuzz/corpus`, and grows in `cache`.
    pub fn new(name: &'a str, cache: &Path) -> Self {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        Self {
            name,
            corpus: corpus.join(name),
            cache: cache.join(name),
            seeds: Vec::new(),
            words: Vec::new(),
            seconds: number("KEDGE_FUZZ_SECONDS").unwrap_or_default(),
        }
    }

    /// Adds initial inputs, such as test vectors.
    #[must_use]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.seeds.extend(seeds);
        self
    }

    /// Adds words that mutations insert.
    #[must_use]
    pub fn words(mut self, words: &[&'a str]) -> Self {
        self.words.extend(words.iter().map(|word| word.as_bytes()));
        self
    }

    /// Runs a target on the corpus, on inputs of the fixed seed, and on inputs of a new seed for `KEDGE_FUZZ_SECONDS`
    /// (0 by default). `KEDGE_FUZZ_INPUT` names a single file to try instead, `KEDGE_FUZZ_SEED` sets the new seed.
    ///
    /// # Panics
    /// If a property fails. The message names a file with the smallest failing input. A process that is killed or hangs
    /// leaves its input in `<target>.last` in the cache.
    pub fn run(self, target: impl Fn(&[u8]) -> String) -> FuzzReport {
        let mut run = FuzzRun {
            target,
            name: self.name,
            cache: &self.cache,
            words: &self.words,
            pool: Vec::new(),
            seen: HashSet::new(),
            last: open_last(&self.cache),
            report: FuzzReport {
                inputs: 0,
                outcomes: 0,
                slowest: Duration::ZERO,
            },
        };
        if let Some(path) = std::env::var_os("KEDGE_FUZZ_INPUT") {
            let input = std::fs::read(&path).unwrap_or_else(|error| {
                panic!("KEDGE_FUZZ_INPUT names {}: {error}", path.display())
            });
            run.one(&input);
            return run.report;
        }
        let kept = files(&self.corpus).into_iter().chain(files(&self.cache));
        for input in self.seeds.iter().cloned().chain(kept) {
            run.one(&input);
            run.pool.push(input);
        }
        assert!(
            !run.pool.is_empty(),
            "{}: no input to begin with",
            self.name
        );
        let mut random = FuzzRandom::new(FIXED_SEED);
        for _ in 0..FIXED {
            run.next(&mut random);
        }
        let seed = number("KEDGE_FUZZ_SEED").unwrap_or_else(clock);
        let limit = Duration::from_secs(self.seconds);
        let mut random = FuzzRandom::new(seed);
        let begun = Instant::now();
        while begun.elapsed() < limit {
            run.next(&mut random);
        }
        run.report.outcomes = run.seen.len();
        eprintln!(
            "{}: KEDGE_FUZZ_SEED={seed} {} inputs, {} outcomes, {} kept, the slowest input took {:?}",
            self.name,
            run.report.inputs,
            run.report.outcomes,
            run.pool.len(),
            run.report.slowest
        );
        run.report
    }
}

impl<T: Fn(&[u8]) -> String> FuzzRun<'_, T> {
    /// Tries a mutation of a random input.
    fn next(&mut self, random: &mut FuzzRandom) {
        let input = change(random, &self.pool, self.words, BYTES_MAX);
        if self.one(&input) && self.pool.len() < POOL_MAX {
            let path = self.cache.join(format!("{:016x}", hash(&input)));
            // Without a cache the next run starts with a smaller corpus.
            let _ = std::fs::create_dir_all(self.cache);
            let _ = std::fs::write(path, &input);
            self.pool.push(input);
        }
    }

    /// Tries an input; true if its outcome is new.
    fn one(&mut self, input: &[u8]) -> bool {
        self.report.inputs += 1;
        if let Some(last) = &self.last {
            // Written in place: cheap, and only the last input counts.
            let _ = last
                .write_all_at(input, 0)
                .and_then(|()| last.set_len(input.len() as u64));
        }
        let begun = Instant::now();
        let Some(outcome) = self.outcome(input) else {
            self.fail(input);
        };
        let took = begun.elapsed();
        self.report.slowest = self.report.slowest.max(took);
        assert!(
            took < INPUT_LIMIT,
            "{}: an input took {took:?}; it is in {}",
            self.name,
            self.store("slow", input).display()
        );
        self.seen.insert(in_general(&outcome))
    }

    fn outcome(&self, input: &[u8]) -> Option<String> {
        catch_unwind(AssertUnwindSafe(|| (self.target)(input))).ok()
    }

    fn fail(&self, input: &[u8]) -> ! {
        let smallest = shrink::smallest(input, |input| self.outcome(input).is_none());
        let path = self.store("failed", &smallest);
        // Run again, so that the target's last message belongs to this input.
        let _shown_above = self.outcome(&smallest);
        panic!(
            "{}: a property does not hold for {} bytes ({}); KEDGE_FUZZ_INPUT={} tries them again",
            self.name,
            smallest.len(),
            smallest[..smallest.len().min(200)].escape_ascii(),
            path.display()
        )
    }

    /// Stores a failing input outside this target's folder, so that the next run is not affected by it.
    fn store(&self, why: &str, input: &[u8]) -> PathBuf {
        let folder = self.cache.with_extension(why);
        let path = folder.join(format!("{:016x}", hash(input)));
        let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
        if let Err(error) = written {
            eprintln!("{}: {error}", path.display());
        }
        path
    }
}

/// `<target>.last`, next to the corpus.
fn open_last(cache: &Path) -> Option<File> {
    std::fs::create_dir_all(cache).ok()?;
    File::create(cache.with_extension("last")).ok()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|error| panic!("{variable} is {text:?}, no number: {error}")))
}

fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::from(since.subsec_nanos()) ^ since.as_secs())
}

/// All inputs of a folder, sorted by name.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| std::fs::read(path).ok();
    paths.into_iter().filter_map(read).collect()
}

/// An outcome without quoted text and numbers: another name or offset is nothing new.
fn in_general(outcome: &str) -> String {
    let mut kept = String::new();
    let mut quoted = false;
    let mut chars = outcome.chars();
    while let Some(char) = chars.next() {
        match char {
            // Quoted text may contain quotes.
            '\\' => {
                let _escaped = chars.next();
            }
            '"' | '`' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' if !kept.ends_with('#') => kept.push('#'),
            'a'..='z' | 'A'..='Z' | ' ' => kept.push(char),
            _ => {}
        }
        if kept.len() >= OUTCOME_BYTES {
            break;
        }
    }
    kept
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault three changes away from the only input, with outcomes on the way.
    #[test]
    fn outcomes_lead_to_what_is_deep() {
        let cache = std::env::temp_dir().join(format!("kedge-fuzz-{}", std::process::id()));
        let mut fuzz = FuzzTarget::new("deep", &cache).seeds([b"....".to_vec()]);
        fuzz.seconds = 30;
        let found = catch_unwind(AssertUnwindSafe(|| {
            fuzz.words(&["k", "e", "d"]).run(|input| {
                let deep = input.iter().zip(b"ked").take_while(|(a, b)| a == b).count();
                assert!(deep < 3, "found");
                "x".repeat(deep)
            })
        }));
        let message = found.expect_err("three letters in a row are found");
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains("for 3 bytes (ked)"), "{message}");
        std::fs::remove_dir_all(cache).expect("the cache was made");
    }
}
