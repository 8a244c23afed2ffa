//! Roots of a large state: from nothing, from 1 % and from 10 % of changed objects, and proofs. `cargo bench -p kedge-bench
//! --bench roots -- 10000000` gives the number of objects.
#![expect(clippy::print_stdout, reason = "the result is for the terminal")]

use std::path::Path;
use std::time::{Duration, Instant};

use kedge_protocol::hash::keccak;
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Template, Wallet};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_storage::{Store, StoreOptions, StoreSnapshot, Table, WriteGroup};

/// Objects, if no number is given.
const OBJECTS: u64 = 1_000_000;
/// Objects of one write.
const GROUP: u64 = 20_000;
/// Wallets that own the objects.
const OWNERS: u64 = 1_000;
/// Proofs whose time is taken, one by one.
const PROOFS: u64 = 20_000;
const TABLES_OF_STATE: [Table; 4] = [
    Table::StateEntries,
    Table::StateNodes,
    Table::StateRoots,
    Table::StateChanges,
];

type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

fn hash_of(what: &str, number: u64) -> Hash {
    keccak(format!("{what} {number}").as_bytes())
}

fn id_of(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &hash_of(prefix.text(), number))
}

fn address_of(number: u64) -> Address {
    let hash = hash_of("address", number);
    let mut address = Address([0; 20]);
    address.0.copy_from_slice(&hash.0[..20]);
    address
}

fn trace_of(number: u64, version: u64) -> ResourceTrace {
    let mut trace = ResourceTrace::made_by(&hash_of("content", number), 0);
    trace.place(number + 1, 1_700_000_000_000 + number);
    trace.version = version;
    trace
}

fn object_of(number: u64, version: u64) -> Object {
    let owner = number % OWNERS;
    Object {
        id: id_of(Prefix::Object, number),
        organization_id: id_of(Prefix::Organization, 0),
        template_id: id_of(Prefix::Template, 0),
        variation_id: None,
        owner_id: id_of(Prefix::Wallet, owner),
        owner_address: address_of(owner),
        properties: format!(
            r#"{{"name":"object {number}","level":{version},"colour":"green","weight":12.50}}"#
        ),
        status: ObjectStatus::Active,
        trace: trace_of(number, version),
    }
}

/// Time on the clock, and of all threads on processors.
struct Stopwatch {
    begun: Instant,
    processors: Duration,
}

impl Stopwatch {
    fn start() -> BenchResult<Self> {
        Ok(Self {
            begun: Instant::now(),
            processors: processor_time()?,
        })
    }

    fn read(&self) -> BenchResult<String> {
        let processors = processor_time()?.saturating_sub(self.processors);
        Ok(format!(
            "{:.2} s, {:.2} s of processors, {} MiB at most",
            self.begun.elapsed().as_secs_f64(),
            processors.as_secs_f64(),
            peak_mib()?
        ))
    }
}

/// Processor time of this process, to 10 ms.
fn processor_time() -> BenchResult<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// The most memory that was resident since the last call.
fn peak_mib() -> BenchResult<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next());
    let kib: u64 = kib.ok_or("no VmHWM in /proc/self/status")?.parse()?;
    std::fs::write("/proc/self/clear_refs", "5")?;
    Ok(kib / 1_024)
}

fn fill(store: &Store, objects: u64) -> BenchResult<()> {
    let mut group = WriteGroup::new();
    for number in 0..OWNERS {
        let id = id_of(Prefix::Wallet, number);
        let wallet = Wallet {
            id,
            organization_id: id_of(Prefix::Organization, 0),
            role: Role::Owner,
            nickname: None,
            email: format!("{id}@example.com"),
            address: address_of(number),
            keys: vec![address_of(number)],
            trace: trace_of(number, 1),
        };
        group.put_wallet(&wallet, None);
    }
    let template = Template {
        id: id_of(Prefix::Template, 0),
        organization_id: id_of(Prefix::Organization, 0),
        name: "ticket".to_owned(),
        description: String::new(),
        properties: "{}".to_owned(),
        schema: None,
        max_supply: None,
        actions: Vec::new(),
        public_access: false,
        variation_count: 0,
        trace: trace_of(0, 1),
    };
    group.put_template(&template, None);
    store.put_rows(&group)?;
    for first in (0..objects).step_by(usize::try_from(GROUP)?) {
        let mut group = WriteGroup::new();
        for number in first..(first + GROUP).min(objects) {
            let object = object_of(number, 1);
            group.put_mint(&object, &object.trace, number + 1);
        }
        store.put_rows(&group)?;
    }
    Ok(())
}

/// Changes every `step`-th object, from `first` on.
fn change(store: &Store, objects: u64, (first, step): (u64, u64), version: u64) -> BenchResult<()> {
    let numbers: Vec<u64> = (first..objects).step_by(usize::try_from(step)?).collect();
    for some in numbers.chunks(usize::try_from(GROUP)?) {
        let mut group = WriteGroup::new();
        for number in some {
            let object = object_of(*number, version);
            group.put_object(&object, &object.trace, None);
        }
        store.put_rows(&group)?;
    }
    println!("{} objects changed", numbers.len());
    Ok(())
}

fn prove(snapshot: &StoreSnapshot, batches: u64, objects: u64) -> BenchResult<()> {
    let root = snapshot.root_at(batches)?.ok_or("no root")?;
    let mut times = Vec::new();
    let mut bytes = 0;
    let watch = Stopwatch::start()?;
    for number in 0..PROOFS {
        let key = id_of(Prefix::Object, number * 104_729 % objects);
        let begun = Instant::now();
        let proofs = snapshot.state_proofs(batches, &[key])?.ok_or("no proofs")?;
        times.push(begun.elapsed());
        let proof = proofs.first().ok_or("no proof")?;
        proof.verify(&root.root)?;
        bytes += proof.nodes.iter().map(Vec::len).sum::<usize>() + proof.entry.len();
    }
    println!("{PROOFS} proofs, each verified: {}", watch.read()?);
    times.sort_unstable();
    let sum: Duration = times.iter().sum();
    let at = |share: usize| times[times.len() * share / 1_000];
    println!(
        "a proof: p50 {:?}, p99 {:?}, p99.9 {:?}, {:.0} a second of one thread, {} bytes",
        at(500),
        at(990),
        at(999),
        times.len() as f64 / sum.as_secs_f64(),
        bytes / times.len()
    );
    Ok(())
}

/// Bytes of the state's table files.
fn sizes(path: &Path) -> BenchResult<()> {
    let options = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&options, path)?;
    let database = rocksdb::DB::open_cf_for_read_only(&options, path, &names, false)?;
    for table in TABLES_OF_STATE.into_iter().chain([Table::Objects]) {
        let family = database.cf_handle(table.name()).ok_or("no such table")?;
        let bytes = database.property_int_value_cf(family, "rocksdb.total-sst-files-size")?;
        println!("{}: {} bytes of files", table.name(), bytes.unwrap_or(0));
    }
    Ok(())
}

fn main() -> BenchResult<()> {
    let number = std::env::args().find_map(|argument| argument.parse().ok());
    let objects: u64 = number.unwrap_or(OBJECTS);
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("store");
    let domain = kedge_protocol::eip712::Domain {
        chain_id: 31_337,
        verifying_contract: Address([7; 20]),
    };
    let key = SigningKey::from_bytes(&[7; 32])?;
    let options = StoreOptions::of_store(&path, domain, key.address());
    let store = Store::scratch(options)?;

    let watch = Stopwatch::start()?;
    fill(&store, objects)?;
    store.flush()?;
    println!("{objects} objects: {}", watch.read()?);
    // What the filling left to compact is not the root's.
    std::thread::sleep(Duration::from_secs(objects / 200_000));

    let mut batches = 1;
    let mut root = |what: &str| -> BenchResult<()> {
        let watch = Stopwatch::start()?;
        let made = store.make_scratch_state(batches, &store.snapshot())?;
        println!("{what}: {}, root {}", watch.read()?, made.root);
        batches += 1;
        Ok(())
    };
    root("a root from nothing")?;
    for (step, version) in [(100, 2), (10, 3), (100, 4)] {
        change(&store, objects, (step / 2, step), version)?;
        store.flush()?;
        root(&format!("a root from every {step}th object"))?;
    }
    prove(&store.snapshot(), batches - 1, objects)?;
    drop(store);
    sizes(&path)
}
