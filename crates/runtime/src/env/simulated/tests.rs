//! The simulated time and disk.

use super::*;

#[test]
fn a_restart_loses_nothing_and_makes_nothing_durable() {
    let env = SimulatedEnv::new();
    let path = Path::new("/a");
    let file = env.open(path, OpenMode::Create).unwrap();
    file.write_at(b"synced", 0).unwrap();
    file.sync().unwrap();
    env.sync_dir(Path::new("/")).unwrap();
    file.write_at(b"WRITTEN", 0).unwrap();
    env.fail(1, DiskFault::Stop);
    assert!(file.sync().is_err() && env.stopped());
    env.restart();
    assert!(file.len().is_err(), "opened by the process that ended");
    assert_eq!(env.contents(path).unwrap(), b"WRITTEN");
    env.crash(CrashLoss::All);
    assert_eq!(env.contents(path).unwrap(), b"synced");
}

#[test]
fn time_passes_where_somebody_says_so_and_the_wall_clock_alone_can_be_set() {
    let env = SimulatedEnv::new();
    let (begun, passed_ms) = (env.now(), env.passed_ms());
    assert_eq!((env.now(), env.unix_ms()), (begun, 0));
    env.set_unix_ms(1_000);
    env.advance(Duration::from_millis(250));
    assert_eq!(env.now() - begun, Duration::from_millis(250));
    assert_eq!(env.passed_ms() - passed_ms, 250);
    assert_eq!(env.unix_ms(), 1_250);
    env.set_unix_ms(7);
    assert_eq!(env.now() - begun, Duration::from_millis(250));
}
