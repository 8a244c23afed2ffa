//! JSON-RPC methods of the embedded chain.

use revm::primitives::{Bytes, U256};
use serde_json::{Value, json};

use super::block::EmbeddedBlock;
use super::chain::EmbeddedChain;
use super::evm::output;
use super::failure::JsonRpcFailure;
use super::header::EmbeddedHeader;
use super::params::{BlockId, EthCall, EthLogFilter, EthParams};
use super::view::{self, hex, quantity};

/// The suggested tip, in wei per gas.
const SUGGESTED_TIP_WEI: u64 = 1_000_000_000;
const FEE_HISTORY_BLOCKS_MAX: u64 = 1_024;
const BATCH_REQUESTS_MAX: usize = 1_000;

/// Answers one request or a batch (JSON-RPC 2.0, section 6). `None` if all were notifications.
pub(super) fn answer(chain: &mut EmbeddedChain, body: &[u8]) -> Option<Value> {
    match serde_json::from_slice(body) {
        Err(_) => Some(error_response(&Value::Null, &JsonRpcFailure::parse())),
        Ok(Value::Array(requests)) => {
            if requests.is_empty() || requests.len() > BATCH_REQUESTS_MAX {
                return Some(error_response(
                    &Value::Null,
                    &JsonRpcFailure::invalid_request(),
                ));
            }
            let answers: Vec<Value> = requests
                .into_iter()
                .filter_map(|request| answer_one(chain, request))
                .collect();
            (!answers.is_empty()).then_some(Value::Array(answers))
        }
        Ok(request) => answer_one(chain, request),
    }
}

fn answer_one(chain: &mut EmbeddedChain, mut request: Value) -> Option<Value> {
    let id = request.get("id").cloned();
    let invalid = |id: Option<Value>| {
        let id = id.unwrap_or(Value::Null);
        Some(error_response(&id, &JsonRpcFailure::invalid_request()))
    };
    if request.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid(id);
    }
    let params = match request.get_mut("params").map(Value::take) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(params)) => params,
        Some(_) => return invalid(id),
    };
    let Some(method) = request.get("method").and_then(Value::as_str) else {
        return invalid(id);
    };
    let outcome = call(chain, method, &EthParams(&params));
    let id = id?;
    Some(match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => error_response(&id, &failure),
    })
}

fn error_response(id: &Value, failure: &JsonRpcFailure) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": failure.to_json()})
}

fn call(
    chain: &mut EmbeddedChain,
    method: &str,
    params: &EthParams<'_>,
) -> Result<Value, JsonRpcFailure> {
    match method {
        "eth_chainId" => Ok(json!(quantity(chain.id))),
        "net_version" => Ok(json!(chain.id.to_string())),
        "web3_clientVersion" => Ok(json!(concat!(
            "kedge-embedded/v",
            env!("CARGO_PKG_VERSION")
        ))),
        "eth_syncing" => Ok(json!(false)),
        "eth_accounts" => Ok(json!([])),
        "eth_blockNumber" => Ok(json!(quantity(chain.head().header.number))),
        "eth_getBlockByNumber" => block_by_number(chain, params),
        "eth_getBlockByHash" => block_by_hash(chain, params),
        "eth_sendRawTransaction" => send_raw_transaction(chain, params),
        "eth_getTransactionByHash" => transaction(chain, params),
        "eth_getTransactionReceipt" => receipt(chain, params),
        "eth_call" => eth_call(chain, params),
        "eth_estimateGas" => estimate_gas(chain, params),
        "eth_getLogs" => logs(chain, params),
        "eth_getCode" => {
            require_head(chain, params.block(1)?)?;
            let code = chain.state.code(params.address(0)?);
            Ok(json!(hex(&code.original_bytes())))
        }
        "eth_getStorageAt" => storage(chain, params),
        "eth_getBalance" => {
            require_head(chain, params.block(1)?)?;
            let balance = chain.state.account(params.address(0)?).balance;
            Ok(json!(format!("{balance:#x}")))
        }
        "eth_getTransactionCount" => {
            require_head(chain, params.block(1)?)?;
            let nonce = chain.state.account(params.address(0)?).nonce;
            Ok(json!(quantity(nonce)))
        }
        "eth_feeHistory" => fee_history(chain, params),
        "eth_gasPrice" => {
            let price = chain.head().header.next_base_fee_wei() + SUGGESTED_TIP_WEI;
            Ok(json!(quantity(price)))
        }
        "eth_maxPriorityFeePerGas" => Ok(json!(quantity(SUGGESTED_TIP_WEI))),
        "evm_mine" => {
            chain.mine(None, params.number(0)?)?;
            Ok(json!("0x0"))
        }
        "evm_increaseTime" => {
            let seconds = params.number(0)?.unwrap_or(0);
            Ok(json!(chain.increase_time(seconds)?))
        }
        "evm_snapshot" => Ok(json!(quantity(chain.snapshot()?))),
        "evm_revert" => {
            let id = params
                .number(0)?
                .ok_or_else(|| JsonRpcFailure::invalid_params("parameter 0 is missing"))?;
            Ok(json!(chain.revert(id)?))
        }
        _ => Err(JsonRpcFailure::method_not_found()),
    }
}

fn find(chain: &EmbeddedChain, id: BlockId) -> Option<&EmbeddedBlock> {
    match id {
        BlockId::Head | BlockId::Pending => Some(chain.head()),
        BlockId::Number(number) => chain.block(number),
        BlockId::Hash(hash) => chain.block_by_hash(hash),
    }
}

/// Rejects requests for older states, which are not kept; a newer state would be a wrong answer.
fn require_head(chain: &EmbeddedChain, id: BlockId) -> Result<(), JsonRpcFailure> {
    let head = chain.head().header.number;
    match find(chain, id) {
        Some(block) if block.header.number == head => Ok(()),
        Some(block) => Err(JsonRpcFailure::unavailable(format!(
            "the state of block {} is not kept: only that of the newest block, {head}",
            block.header.number
        ))),
        None => Err(JsonRpcFailure::unavailable("no such block")),
    }
}

/// The header whose number, time and base fee a call uses.
fn header_for(chain: &EmbeddedChain, id: BlockId) -> Result<EmbeddedHeader, JsonRpcFailure> {
    require_head(chain, id)?;
    Ok(match id {
        BlockId::Pending => chain.next_header(),
        _ => chain.head().header.clone(),
    })
}

fn block_by_number(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let whole = params.optional(1)?.unwrap_or(false);
    let id = params.block(0)?;
    if id == BlockId::Pending {
        return Ok(view::pending_block(&chain.next_header()));
    }
    Ok(find(chain, id).map_or(Value::Null, |block| view::block(block, whole)))
}

fn block_by_hash(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let whole = params.optional(1)?.unwrap_or(false);
    let block = chain.block_by_hash(params.hash(0)?);
    Ok(block.map_or(Value::Null, |block| view::block(block, whole)))
}

fn send_raw_transaction(
    chain: &mut EmbeddedChain,
    params: &EthParams<'_>,
) -> Result<Value, JsonRpcFailure> {
    let raw: ethers_core::types::Bytes = params.required(0)?;
    let hash = chain.submit(Bytes::from(raw.0))?;
    Ok(json!(hex(hash.as_slice())))
}

fn transaction(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let block = chain.block_of_transaction(params.hash(0)?);
    let mined = block.and_then(|block| Some((block, block.mined.as_ref()?)));
    Ok(mined.map_or(Value::Null, |(block, mined)| {
        view::transaction(block, mined)
    }))
}

fn receipt(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let block = chain.block_of_transaction(params.hash(0)?);
    let mined = block.and_then(|block| Some((block, block.mined.as_ref()?)));
    Ok(mined.map_or(Value::Null, |(block, mined)| view::receipt(block, mined)))
}

fn reject_overrides(params: &EthParams<'_>) -> Result<(), JsonRpcFailure> {
    match params.optional::<Value>(2)? {
        Some(_) => Err(JsonRpcFailure::invalid_params(
            "state overrides are not supported",
        )),
        None => Ok(()),
    }
}

fn eth_call(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    reject_overrides(params)?;
    let call: EthCall = params.required(0)?;
    let header = header_for(chain, params.block(1)?)?;
    let result = chain.state.call(chain.id, &header, call.environment())?;
    Ok(json!(hex(output(&result)?)))
}

fn estimate_gas(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    reject_overrides(params)?;
    let call: EthCall = params.required(0)?;
    require_head(chain, params.block(1)?)?;
    // Every tag uses the next block's time: an idle chain's head is old, and contracts that compare with
    // block.timestamp would reject calls that they will accept.
    let header = chain.next_header();
    let gas = chain
        .state
        .estimate_gas(chain.id, &header, &call.environment())?;
    Ok(json!(quantity(gas)))
}

fn logs(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let filter: EthLogFilter = params.required(0)?;
    let (from, to) = filter.range()?;
    let height = |id| match id {
        BlockId::Number(number) => Ok(number),
        id => find(chain, id)
            .map(|block| block.header.number)
            .ok_or_else(|| JsonRpcFailure::unavailable("no such block")),
    };
    let (from, to) = (height(from)?, height(to)?.min(chain.head().header.number));
    let mut found = Vec::new();
    for block in (from..=to).filter_map(|number| chain.block(number)) {
        let logs = block.mined.iter().flat_map(|mined| &mined.logs);
        let views = view::logs(block);
        found.extend(
            logs.zip(views)
                .filter(|(log, _)| filter.takes(log))
                .map(|(_, view)| view),
        );
    }
    Ok(json!(found))
}

fn storage(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    require_head(chain, params.block(2)?)?;
    let address = params.address(0)?;
    let slot: String = params.required(1)?;
    let slot = slot
        .strip_prefix("0x")
        .and_then(|digits| U256::from_str_radix(digits, 16).ok())
        .ok_or_else(|| JsonRpcFailure::invalid_params("parameter 1 is not a storage slot"))?;
    let word = chain.state.storage(address, slot);
    Ok(json!(hex(&word.to_be_bytes::<32>())))
}

fn fee_history(chain: &EmbeddedChain, params: &EthParams<'_>) -> Result<Value, JsonRpcFailure> {
    let count = params
        .number(0)?
        .ok_or_else(|| JsonRpcFailure::invalid_params("parameter 0 is missing"))?;
    let newest = find(chain, params.block(1)?)
        .ok_or_else(|| JsonRpcFailure::unavailable("no such block"))?
        .header
        .number;
    let percentiles: Vec<f64> = params.optional(2)?.unwrap_or_default();
    let count = count.clamp(1, FEE_HISTORY_BLOCKS_MAX).min(newest + 1);
    let oldest = newest + 1 - count;
    let blocks: Vec<&EmbeddedBlock> = (oldest..=newest)
        .filter_map(|number| chain.block(number))
        .collect();
    let headers = || blocks.iter().map(|block| &block.header);
    let next = headers().next_back().map(EmbeddedHeader::next_base_fee_wei);
    let base_fees: Vec<String> = headers()
        .map(|header| header.base_fee_wei)
        .chain(next)
        .map(quantity)
        .collect();
    let ratios: Vec<f64> = headers()
        .map(|header| header.gas_used as f64 / header.gas_limit as f64)
        .collect();
    let mut history = json!({
        "oldestBlock": quantity(oldest),
        "baseFeePerGas": base_fees,
        "gasUsedRatio": ratios,
    });
    if !percentiles.is_empty() {
        // A block has at most one transaction, whose tip is every percentile.
        let rewards: Vec<Vec<String>> = blocks
            .iter()
            .map(|block| vec![quantity(tip_wei(block)); percentiles.len()])
            .collect();
        history["reward"] = json!(rewards);
    }
    Ok(history)
}

fn tip_wei(block: &EmbeddedBlock) -> u128 {
    let base_fee = u128::from(block.header.base_fee_wei);
    block.mined.as_ref().map_or(0, |mined| {
        mined.effective_gas_price_wei.saturating_sub(base_fee)
    })
}
