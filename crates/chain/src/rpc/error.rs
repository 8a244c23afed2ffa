//! Errors of requests to a node.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// The error object of a JSON-RPC 2.0 response (section 5.1 of its specification).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorObject {
    /// Error code; -32768 to -32000 are reserved, 3 is a reverted execution (successors of EIP-1474).
    pub code: i64,
    pub message: String,
    /// Further data; for a reverted execution, the ABI-encoded revert data in hex.
    #[serde(default)]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// The revert data, if the node sent it as `data` or as `data.data`.
    pub fn revert_data(&self) -> Option<Vec<u8>> {
        let data = self.data.as_ref()?;
        let text = data
            .as_str()
            .or_else(|| data.get("data").and_then(Value::as_str))?;
        let bytes: ethers_core::types::Bytes = text.parse().ok()?;
        Some(bytes.to_vec())
    }

    /// Whether the node does not know the requested block or tag, by its code (invalid parameters, or the execution
    /// API's unknown block) or by the wording of geth and others. A busy node refuses with other codes and words.
    pub(super) fn is_about_the_block(&self) -> bool {
        const CODES: [i64; 2] = [-32_602, -39_001];
        const WORDS: [&str; 5] = [
            "finalized",
            "unknown block",
            "block not found",
            "header not found",
            "invalid block",
        ];
        let message = self.message.to_lowercase();
        CODES.contains(&self.code) || WORDS.iter().any(|words| message.contains(words))
    }
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum RpcError {
    /// The node is unreachable, or the connection broke.
    #[error("the node cannot be reached: {0}")]
    Transport(String),
    /// No answer arrived in time.
    #[error("the node did not answer within {timeout_ms} ms")]
    Timeout { timeout_ms: u64 },
    /// An HTTP status other than 2xx, without an RPC error in the body.
    #[error("the node answered with HTTP status {status}")]
    Status { status: u16 },
    #[error("the node's answer is larger than {limit_bytes} bytes")]
    TooLarge { limit_bytes: usize },
    /// The body is not the expected JSON.
    #[error("the node's answer cannot be read: {0}")]
    Malformed(String),
    /// The node rejected the request.
    #[error("the node refused: {} (code {})", .0.message, .0.code)]
    Node(ErrorObject),
}

impl RpcError {
    /// A short name for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Transport(_) => "transport",
            Self::Timeout { .. } => "timeout",
            Self::Status { .. } => "status",
            Self::TooLarge { .. } => "too_large",
            Self::Malformed(_) => "malformed",
            Self::Node(_) => "node",
        }
    }

    /// The node's own error.
    pub fn node(&self) -> Option<&ErrorObject> {
        match self {
            Self::Node(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a text is not a node's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// Not `http://` or `https://`.
    #[error("a node's URL must begin with http:// or https://")]
    Scheme,
    /// Any other fault; the text is not repeated, because it may hold a secret.
    #[error("the node's URL is malformed")]
    Malformed,
}
