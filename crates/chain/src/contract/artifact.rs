//! The checked-in artifacts of `contracts/`: ABI and deployment code, compiled in.

use std::sync::LazyLock;

use ethers_core::abi::{Abi, Event, Function, RawLog, Token};
use ethers_core::types::{Bytes, Log};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Artifact {
    abi: Abi,
    bytecode: Bytes,
}

pub(crate) static ANCHOR: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeAnchor.json"
    ))
});
pub(crate) static BOND: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeBond.json"
    ))
});
pub(crate) static JUDGE: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeJudge.json"
    ))
});
/// The judge of faults that entries of the state show.
pub(crate) static STATE_JUDGE: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeStateJudge.json"
    ))
});
/// The judge of faults that entries show next to leaves.
pub(crate) static HISTORY_JUDGE: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeStateHistoryJudge.json"
    ))
});
/// The judge of faults of signers.
pub(crate) static SIGNER_JUDGE: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeStateSignerJudge.json"
    ))
});

/// The resolver of claims.
pub(crate) static CLAIMS: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/KedgeClaims.json"
    ))
});
/// The verifier of a circuit's proofs.
pub(crate) static VERIFIER: LazyLock<Artifact> = LazyLock::new(|| {
    parse(include_str!(
        "../../../../contracts/artifacts/Groth16Verifier.json"
    ))
});

fn parse(text: &str) -> Artifact {
    serde_json::from_str(text).expect("the artifact is valid; a test reads it")
}

impl Artifact {
    pub(crate) fn abi(&self) -> &Abi {
        &self.abi
    }

    pub(crate) fn function(&self, name: &str) -> &Function {
        self.abi
            .function(name)
            .expect("the artifact has the function; a test encodes each one")
    }

    /// Calldata of a function.
    pub(crate) fn encode(&self, name: &str, arguments: &[Token]) -> Vec<u8> {
        self.function(name)
            .encode_input(arguments)
            .expect("the arguments have the artifact's types; a test encodes each call")
    }

    /// The data of the deployment transaction: code and constructor arguments.
    pub(crate) fn deployment(&self, arguments: &[Token]) -> Vec<u8> {
        self.abi
            .constructor()
            .expect("the artifact has a constructor; a test deploys it")
            .encode_input(self.bytecode.to_vec(), arguments)
            .expect("the arguments have the constructor's types; a test deploys it")
    }

    pub(crate) fn event(&self, name: &str) -> &Event {
        self.abi
            .event(name)
            .expect("the artifact has the event; a test decodes it")
    }

    /// The values of an event by name; `None` if the log is another event.
    pub(crate) fn read_event(&self, name: &str, log: &Log) -> Option<EventValues> {
        let raw = RawLog {
            topics: log.topics.clone(),
            data: log.data.to_vec(),
        };
        let parsed = self.event(name).parse_log(raw).ok()?;
        let named = parsed.params.into_iter();
        Some(EventValues(
            named.map(|param| (param.name, param.value)).collect(),
        ))
    }
}

pub(crate) struct EventValues(Vec<(String, Token)>);

impl EventValues {
    pub(crate) fn get<T>(&self, name: &str, convert: fn(Token) -> Option<T>) -> Option<T> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        convert(value.clone())
    }
}
