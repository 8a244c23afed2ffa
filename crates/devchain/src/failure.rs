//! JSON-RPC errors of the embedded chain, with Ethereum nodes' codes (EIP-1474, and geth's 3 for a reverted execution).

use serde_json::{Value, json};

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonRpcFailure {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl JsonRpcFailure {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The body is not JSON.
    pub(super) fn parse() -> Self {
        Self::new(-32700, "Parse error")
    }

    /// The JSON is not a JSON-RPC 2.0 request.
    pub(super) fn invalid_request() -> Self {
        Self::new(-32600, "Invalid request")
    }

    pub(super) fn method_not_found() -> Self {
        Self::new(-32601, "Method not found")
    }

    /// The parameters do not fit the method.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// The input can never become valid.
    pub(super) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }

    /// The chain does not keep the requested state.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }

    /// The transaction cannot be part of the next block.
    pub(super) fn transaction_rejected(message: impl Into<String>) -> Self {
        Self::new(-32003, message)
    }

    /// The chain itself failed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// The execution reverted with `output`.
    pub(super) fn reverted(output: &[u8]) -> Self {
        let message = match revert_reason(output) {
            Some(reason) => format!("execution reverted: {reason}"),
            None => "execution reverted".to_owned(),
        };
        Self {
            code: 3,
            message,
            data: Some(Value::String(super::view::hex(output))),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Some(data) => json!({"code": self.code, "message": self.message, "data": data}),
            None => json!({"code": self.code, "message": self.message}),
        }
    }
}

/// The text of Solidity's `Error(string)`.
fn revert_reason(output: &[u8]) -> Option<String> {
    use ethers_core::abi::{ParamType, Token, decode};
    let arguments = output.strip_prefix(&[0x08, 0xc3, 0x79, 0xa0])?;
    match decode(&[ParamType::String], arguments).ok()?.pop()? {
        Token::String(text) => Some(text),
        _ => None,
    }
}
