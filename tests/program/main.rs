//! The program for its users and operators: commands, options and their ranges, TLS, tracing, upkeep of a store, data of
//! earlier versions. The real binary over real sockets.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod admin;
mod chain;
mod client;
mod commands;
mod documents;
mod health;
mod import;
mod import_csv;
mod import_form;
mod import_killed;
mod limits;
mod log;
mod object_history;
mod ranges;
mod running;
mod segments;
mod starts;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod tracing;
mod trust;
mod upgrade;
mod upkeep;

use std::process::{Command, Output};

use serde_json::Value;

/// The exit code, standard output and standard error.
fn ran(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// The output of a command that must succeed.
#[track_caller]
fn done(command: &mut Command) -> String {
    let (code, printed, error) = ran(command);
    assert_eq!(code, Some(0), "{command:?}: {error}");
    printed
}

#[track_caller]
fn done_json(command: &mut Command) -> Value {
    let printed = done(command);
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// The error of a command that must end with this code and print nothing to standard output.
#[track_caller]
fn refused(command: &mut Command, code: i32) -> String {
    let (ended, printed, error) = ran(command);
    assert_eq!(
        (ended, printed.as_str()),
        (Some(code), ""),
        "{command:?}: {error}"
    );
    error
}
