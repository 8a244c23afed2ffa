//! Recorded requests with real answers: one story from a new wallet to a proof. `make examples` sends them again and
//! rewrites the files. A test sends them and fails if an answer's form differs from the file.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One request of the story.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoryExample {
    /// Position in the story, which the headings share.
    step: u32,
    /// `operationId`; empty if this part of the story is not a request.
    #[serde(default)]
    pub operation: String,
    /// The example's name in the document; unique in its operation.
    #[serde(default)]
    pub name: String,
    pub summary: String,
    /// The sender: the story's name for a wallet.
    #[serde(default, rename = "as")]
    _caller: String,
    /// Path parameters.
    #[serde(default)]
    pub path: Map<String, Value>,
    /// Query parameters.
    #[serde(default)]
    pub query: Map<String, Value>,
    /// Headers other than token and signature.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// Signature headers.
    #[serde(default)]
    pub signature: Map<String, Value>,
    pub body: Option<Value>,
    #[serde(default)]
    pub status: u16,
    /// Headers of the answer that later requests use.
    #[serde(default, rename = "response_headers")]
    _response_headers: Map<String, Value>,
    /// The answer's body, if it is JSON and not too long to show.
    pub response: Option<Value>,
    /// Milliseconds by which its evidence is forged.
    #[serde(default, rename = "forged")]
    _forged: u64,
    /// The answer with the proof file of its claim.
    #[serde(default, rename = "claimed")]
    _claimed: String,
    /// The key that consents to join the caller's wallet.
    #[serde(default, rename = "consents")]
    _consents: String,
    /// The operator's action at this point of the story.
    #[serde(default, rename = "operator")]
    _operator: String,
}

/// The recorded entries of each heading.
const RECORDED: [&str; 13] = [
    include_str!("../accounts/examples.json"),
    include_str!("../bus/examples.json"),
    include_str!("../disputes/examples.json"),
    include_str!("../events/examples.json"),
    include_str!("../files/examples.json"),
    include_str!("../keys/examples.json"),
    include_str!("../log/examples.json"),
    include_str!("../objects/examples.json"),
    include_str!("../organization/examples.json"),
    include_str!("../service/examples.json"),
    include_str!("../state/examples.json"),
    include_str!("../templates/examples.json"),
    include_str!("../webhooks/examples.json"),
];

static STORY: LazyLock<Vec<StoryExample>> = LazyLock::new(|| {
    let read = |text: &&str| -> Vec<StoryExample> {
        serde_json::from_str(text).expect("a test reads the files")
    };
    let mut story: Vec<StoryExample> = RECORDED.iter().flat_map(read).collect();
    story.sort_by_key(|example| example.step);
    story
});

/// The examples of an operation, in the story's order.
pub fn of(operation: &str) -> impl Iterator<Item = &'static StoryExample> {
    STORY
        .iter()
        .filter(move |example| example.operation == operation)
}

/// The first successful example of an operation.
pub fn first(operation: &str) -> Option<&'static StoryExample> {
    of(operation).find(|example| example.status < 400)
}

/// The first value of a query parameter in the examples of an operation.
pub fn query_value(operation: &str, name: &str) -> Option<&'static Value> {
    of(operation)
        .filter(|example| example.status < 400)
        .find_map(|example| example.query.get(name))
}

/// The first value of a header in the examples of an operation.
pub fn header_value(operation: &str, name: &str) -> Option<&'static Value> {
    of(operation)
        .filter(|example| example.status < 400)
        .find_map(|example| example.headers.get(name))
}

/// The value of a signature header in an example.
pub fn signature_header(name: &str) -> Option<&'static str> {
    STORY
        .iter()
        .find_map(|example| example.signature.get(name)?.as_str())
}

pub fn all() -> &'static [StoryExample] {
    &STORY
}
