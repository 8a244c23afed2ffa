//! Revert data as readable text.

use ethers_core::abi::{ParamType, Token, decode};

use super::artifact::{
    ANCHOR, BOND, CLAIMS, HISTORY_JUDGE, JUDGE, SIGNER_JUDGE, STATE_JUDGE, VERIFIER,
};

/// Decodes revert data: a custom error of the contracts with its arguments, Solidity's `Error(string)` and
/// `Panic(uint256)`, or else the raw bytes.
pub fn decode_revert(data: &[u8]) -> String {
    if data.is_empty() {
        return "reverted without a reason".to_owned();
    }
    custom_error(data)
        .or_else(|| solidity_error(data).filter(|reason| !reason.trim().is_empty()))
        .unwrap_or_else(|| format!("reverted with {}", kedge_protocol::hash::to_hex(data)))
}

fn custom_error(data: &[u8]) -> Option<String> {
    let (selector, arguments) = data.split_first_chunk::<4>()?;
    let judges = [&JUDGE, &STATE_JUDGE, &HISTORY_JUDGE, &SIGNER_JUDGE];
    let error = [&ANCHOR, &BOND, &CLAIMS, &VERIFIER]
        .into_iter()
        .chain(judges)
        .flat_map(|artifact| artifact.abi().errors())
        .find(|error| error.signature().0[..4] == selector[..])?;
    let values = error.decode(arguments).ok()?;
    let arguments: Vec<String> = error
        .inputs
        .iter()
        .zip(values)
        .map(|(input, value)| format!("{}: {}", input.name, show(&value)))
        .collect();
    Some(format!("{}({})", error.name, arguments.join(", ")))
}

fn show(value: &Token) -> String {
    match value {
        Token::Uint(number) | Token::Int(number) => number.to_string(),
        Token::Address(address) => crate::convert::address(*address).to_string(),
        other => format!("0x{other}"),
    }
}

fn solidity_error(data: &[u8]) -> Option<String> {
    let (selector, arguments) = data.split_first_chunk::<4>()?;
    match selector {
        [0x08, 0xc3, 0x79, 0xa0] => decode(&[ParamType::String], arguments)
            .ok()?
            .pop()?
            .into_string(),
        [0x4e, 0x48, 0x7b, 0x71] => {
            let code = decode(&[ParamType::Uint(256)], arguments)
                .ok()?
                .pop()?
                .into_uint()?;
            Some(format!("Panic({code:#x})"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ethers_core::abi::encode;

    use super::*;

    fn with_selector(name: &str, arguments: &[Token]) -> Vec<u8> {
        let mut errors = [&ANCHOR, &BOND]
            .into_iter()
            .flat_map(|artifact| artifact.abi().errors());
        let error = errors.find(|error| error.name == name).unwrap();
        let mut data = error.signature().0[..4].to_vec();
        data.extend(encode(arguments));
        data
    }

    #[test]
    fn errors_are_named_with_their_arguments() {
        let numbers = [Token::Uint(3.into()), Token::Uint(5.into())];
        assert_eq!(
            decode_revert(&with_selector("HistoryNotExtended", &numbers)),
            "HistoryNotExtended(lastBatches: 3, batches: 5)"
        );
        assert_eq!(
            decode_revert(&with_selector("EnforcedPause", &[])),
            "EnforcedPause()"
        );
        assert_eq!(
            decode_revert(&with_selector("WindowOpen", &[Token::Uint(7.into())])),
            "WindowOpen(closedAt: 7)"
        );
    }

    #[test]
    fn soliditys_own_errors_and_unknown_bytes() {
        let mut text = vec![0x08, 0xc3, 0x79, 0xa0];
        text.extend(encode(&[Token::String("no".to_owned())]));
        assert_eq!(decode_revert(&text), "no");
        let mut empty = vec![0x08, 0xc3, 0x79, 0xa0];
        empty.extend(encode(&[Token::String(" ".to_owned())]));
        assert!(decode_revert(&empty).starts_with("reverted with 0x08c379a0"));
        let mut panic = vec![0x4e, 0x48, 0x7b, 0x71];
        panic.extend(encode(&[Token::Uint(0x11.into())]));
        assert_eq!(decode_revert(&panic), "Panic(0x11)");
        assert_eq!(decode_revert(&[]), "reverted without a reason");
        assert_eq!(decode_revert(&[1, 2]), "reverted with 0x0102");
    }
}
