//! Failures of the client's commands, as sentences or as JSON.

use std::fmt::Display;

use kedge_client::ClientError;
use serde_json::{Value, json};

use crate::output::{CliResult, CommandFailure, print_json};

pub(super) type ClientRun<T> = Result<T, ClientFailure>;

#[derive(Debug)]
pub(super) enum ClientFailure {
    /// What the server, or the client's check of its answer, said.
    Client(Box<ClientError>),
    Command(CommandFailure),
}

impl ClientFailure {
    pub(super) fn of(error: impl Display) -> Self {
        Self::Command(CommandFailure::refused(error))
    }
}

impl From<ClientError> for ClientFailure {
    fn from(error: ClientError) -> Self {
        Self::Client(Box::new(error))
    }
}

impl From<CommandFailure> for ClientFailure {
    fn from(failure: CommandFailure) -> Self {
        Self::Command(failure)
    }
}

/// The code of an error that no server gave one.
fn code_of(error: &ClientError) -> &str {
    match error {
        ClientError::Refused(refusal) => &refusal.code,
        ClientError::Unexpected { .. } | ClientError::Answer { .. } => "UNEXPECTED_ANSWER",
        ClientError::Transport(_) => "UNREACHABLE",
        ClientError::Timeout { .. } => "TIMEOUT",
        ClientError::AlreadyDone { .. } => "ALREADY_DONE",
        ClientError::Verification(_) => "NOT_VERIFIED",
        ClientError::Usage(_) => "USAGE",
    }
}

fn as_json(failure: &ClientFailure) -> Value {
    match failure {
        ClientFailure::Client(error) => match &**error {
            ClientError::Refused(refusal) => json!({"error": refusal}),
            error => {
                json!({"error": {"code": code_of(error), "body": {"message": error.to_string()}}})
            }
        },
        ClientFailure::Command(failure) => {
            let code = if failure.code() == 2 {
                "USAGE"
            } else {
                "REFUSED"
            };
            json!({"error": {"code": code, "body": {"message": failure.message()}}})
        }
    }
}

/// Ends a command: with `json`, its failure is on standard output.
pub(super) fn shown(json: bool, run: ClientRun<()>) -> CliResult<()> {
    let Err(failure) = run else { return Ok(()) };
    let shown = json.then(|| as_json(&failure));
    let failure = match failure {
        ClientFailure::Command(failure) => failure,
        ClientFailure::Client(error) => match *error {
            ClientError::Usage(text) => CommandFailure::Usage(text),
            error => CommandFailure::refused(error),
        },
    };
    let Some(shown) = shown else {
        return Err(failure);
    };
    print_json(&shown)?;
    Err(CommandFailure::Shown(failure.code()))
}
