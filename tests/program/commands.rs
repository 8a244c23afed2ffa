//! Commands that need no server: the configuration file, keys, and which program the tests run.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use kedge_protocol::eip712::Domain;
use kedge_protocol::possession::KeyAddition;

use crate::support::documented::{UNDOCUMENTED, look_through};
use crate::support::program::{chosen, kedge};
use crate::support::server::Setup;
use crate::{done, ran, refused};

// Holds invariant 140.
#[test]
fn the_tests_run_the_program_that_they_are_given() {
    let built = Path::new("/built/kedge");
    assert_eq!(chosen(None, built), built);
    let there = std::env::current_exe().unwrap();
    let named = |path: &Path| Some(path.as_os_str().to_owned());
    assert_eq!(chosen(named(&there), built), there);
    for (bad, why) in [
        ("target/release/kedge", "must be an absolute path"),
        ("", "must be an absolute path"),
        ("/nowhere/kedge", "there is no such file"),
        ("/tmp", "there is no such file"),
    ] {
        let bad = Some(OsString::from(bad));
        let panic = std::panic::catch_unwind(|| chosen(bad, built)).unwrap_err();
        let reported = panic.downcast_ref::<String>().unwrap();
        assert!(
            reported.starts_with("KEDGE_BIN ") && reported.contains(why),
            "{reported}"
        );
    }
}

// Holds invariant 140.
/// In both profiles, because a number that wraps would be a wrong balance or a wrong position in
/// the log.
#[test]
fn a_number_that_would_wrap_stops_instead() {
    let sum = std::panic::catch_unwind(|| std::hint::black_box(u64::MAX) + std::hint::black_box(1));
    assert!(sum.is_err(), "{sum:?}");
}

// Holds invariant 48.
#[test]
fn no_test_passes_whose_server_answered_otherwise_than_documented() {
    look_through("2026-01-01T00:00:00Z  WARN kedge: the disk is full");
    let line = format!("ERROR kedge::server::response: {UNDOCUMENTED} why=\"GET / is not text\"");
    assert!(std::panic::catch_unwind(|| look_through(&line)).is_err());
    // The server's exact message.
    assert!(include_str!("../../src/server/response.rs").contains(UNDOCUMENTED));
}

// Holds invariant 140.
/// KEDGE_BIN names the program for tests and scripts, and others are those of the client's commands; the server must not
/// treat them as options.
#[test]
fn variables_that_are_read_elsewhere_are_no_options() {
    let directory = tempfile::tempdir().unwrap();
    let mut named = Setup::development(&directory.path().join("data"));
    for name in [
        "API_KEY",
        "BIN",
        "CONFIG_HOME",
        "PASSWORD",
        "PROFILE",
        "SOCKET",
        "URL",
    ] {
        named = named.environment(&format!("KEDGE_{name}"), "/nowhere");
    }
    named.start().stop();
    let (status, reported) = named.environment("KEDGE_BINS", "/nowhere").start_refused();
    assert!(!status.success());
    assert!(reported.contains("bins"), "{reported}");
}

#[test]
fn init_writes_every_option_and_the_file_starts_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kedge.toml");
    let reported = done(kedge().arg("init").arg(&file));
    assert!(reported.contains("kedge serve --config"), "{reported}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, kedge_config::commented_toml());
    assert_eq!(done(kedge().args(["init", "-"])), text);
    let (code, _, error) = ran(kedge().arg("init").arg(&file));
    assert_eq!(code, Some(1));
    assert!(error.contains("--force"), "{error}");
    done(kedge().arg("init").arg(&file).arg("--force"));

    // All defaults from the file, except the addresses and paths that belong to this test.
    let own = [
        "dev",
        "chain",
        "data_dir",
        "listen",
        "embedded_chain_listen",
    ];
    let set: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .filter_map(|line| line.split_once(" = "))
        .filter(|(name, _)| !name.contains([' ', '#']) && !own.contains(name))
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect();
    let set = set.concat();
    assert!(set.lines().count() > 40, "{set}");
    std::fs::write(&file, set).unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .environment("KEDGE_CONFIG", file.to_str().unwrap());
    setup.start().stop();
}

/// Precedence of a value set in several places: the flag, then the environment, then the file.
#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kedge.toml");
    std::fs::write(&file, "dev = true\nrequests_max = 2000000\n").unwrap();
    let serve = |environment: bool, flag: bool| {
        let mut command = kedge();
        command.arg("serve").arg("--config").arg(&file);
        command.arg("--data").arg(directory.path().join("data"));
        if environment {
            command.env("KEDGE_REQUESTS_MAX", "3000000");
        }
        if flag {
            command.args(["--set", "requests_max=4000000"]);
        }
        command
    };
    for (environment, flag, used) in [
        (false, false, "2000000"),
        (true, false, "3000000"),
        (true, true, "4000000"),
        (false, true, "4000000"),
    ] {
        let reported = refused(&mut serve(environment, flag), 1);
        assert!(reported.contains("option requests_max"), "{reported}");
        assert!(
            reported.trim_end().ends_with(&format!("not {used}")),
            "{reported}"
        );
    }
    std::fs::remove_file(&file).unwrap();
    let reported = refused(&mut serve(true, true), 1);
    assert!(reported.contains("kedge.toml does not exist"), "{reported}");
}

// Holds invariant 143.
#[test]
fn keys_are_made_shown_and_kept_private() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    let keys = |command: &str| {
        let mut keys = kedge();
        keys.args(["keys", command]);
        keys
    };
    let address = done(keys("new").arg(&file));
    assert!(address.starts_with("0x") && address.trim().len() == 42);
    let text = std::fs::read_to_string(&file).unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(done(keys("address").arg("--key-file").arg(&file)), address);
    assert_eq!(done(keys("show").arg("--key-file").arg(&file)), text);
    let variable = ("KEDGE_SIGNING_KEY", text.trim());
    assert_eq!(done(keys("address").env(variable.0, variable.1)), address);

    let wallet = "wal_7h8rh8fgrh07gkqn56z16p8nc6";
    let consent = |wallet: &str| {
        let mut consent = keys("consent");
        let domain = "31337:0x5FbDB2315678afecb367f032d93F642f64180aa3";
        consent.args(["--wallet", wallet, "--domain", domain, "--key-file"]);
        consent.arg(&file);
        consent
    };
    let body = done(&mut consent(wallet));
    let addition = KeyAddition::read(body.trim()).unwrap();
    assert_eq!(addition.address.to_string(), address.trim());
    let domain = Domain {
        chain_id: 31_337,
        verifying_contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3"
            .parse()
            .unwrap(),
    };
    assert_eq!(addition.check(&domain.separator(), wallet), Ok(()));
    let reported = refused(&mut consent("org_7h8rh8fgrh07gkqn56z16p8nc6"), 2);
    assert!(reported.contains("wal_"), "{reported}");

    // The key in an existing file may already have signed.
    let reported = refused(keys("new").arg(&file), 1);
    assert!(reported.contains(file.to_str().unwrap()), "{reported}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    // A second key differs from the first.
    let other = done(keys("new").arg(directory.path().join("other")));
    assert_ne!(other, address);

    let reported = refused(&mut keys("address"), 2);
    assert!(reported.contains("KEDGE_SIGNING_KEY"), "{reported}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let reported = refused(keys("show").arg("--key-file").arg(&file), 2);
    assert!(reported.contains("chmod 600"), "{reported}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(&file, &text[..40]).unwrap();
    let reported = refused(keys("show").arg("--key-file").arg(&file), 2);
    assert!(reported.contains("64 hexadecimal digits"), "{reported}");
    assert!(
        !reported.contains(&text[2..40]),
        "what it holds was reported: {reported}"
    );
}

// Holds invariant 143.
/// A kill at the first write to the key's file must not leave the file's name without a key.
#[test]
fn a_kill_while_a_key_is_written_leaves_no_half_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    let program = kedge();
    let killed = Command::new("sh")
        .args(["-c", "ulimit -f 0; exec \"$0\" keys new \"$1\""])
        .arg(program.get_program())
        .arg(&file)
        .output()
        .unwrap();
    assert!(!killed.status.success(), "it was not killed: {killed:?}");
    assert!(!file.exists(), "a name without a key");
    done(kedge().args(["keys", "new"]).arg(&file));
    done(kedge().args(["keys", "address", "--key-file"]).arg(&file));
}
