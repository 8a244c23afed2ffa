//! `kedge contract rotate` and `close-key`: the sequencer's keys in the log and in the contract.

use std::path::PathBuf;

use clap::Args;
use kedge_chain::contract::{AnchorContract, close_key_calldata, rotate_calldata};
use kedge_chain::rpc::BlockTag;
use kedge_protocol::evidence::KeyTerm;
use kedge_protocol::{Address, KeyActivation};
use serde_json::json;

use super::admin::{self, text};
use super::chain::ChainArgs;
use super::output::{CliResult, CommandFailure, columns, print, print_json, refuse};
use super::trust::read_failure;

#[derive(Args)]
pub(crate) struct ContractKeyRotateArgs {
    /// The anchor contract; the key that pays is its owner's.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// The address of the next sequencer key. The server must hold the key already
    /// (next_sequencer_key_file).
    #[arg(long, value_name = "ADDRESS")]
    key: Address,
    /// The number of the first batch that it signs. Choose it far enough ahead: the transaction
    /// must be in a block before the log reaches that batch.
    #[arg(long, value_name = "N")]
    from_batch: u64,
    /// The server's admin socket (its option admin_socket).
    #[arg(long, value_name = "PATH", default_value = "data/admin.sock")]
    socket: PathBuf,
    #[command(flatten)]
    chain: ChainArgs,
}

#[derive(Args)]
pub(crate) struct ContractKeyCloseArgs {
    /// The anchor contract.
    #[arg(long, value_name = "ADDRESS")]
    contract: Address,
    /// The replaced key, by its index in the contract's list, from 0.
    #[arg(long, value_name = "N")]
    index: u32,
    /// The number of batches of the anchored checkpoint that covers all batches of the key; the newest checkpoint if
    /// absent.
    #[arg(long, value_name = "N")]
    batches: Option<u64>,
    #[command(flatten)]
    chain: ChainArgs,
}

/// Registers the next key, first in the log and then in the contract. Finished steps are skipped, so the same command
/// completes an interrupted rotation.
pub(crate) async fn rotate(args: ContractKeyRotateArgs) -> CliResult<()> {
    let owner = args.chain.key()?;
    let contract = AnchorContract::new(args.chain.client(), args.contract);
    let entry = KeyActivation {
        key: args.key,
        from_batch: args.from_batch,
    };
    let is_there = check_contract(&contract, entry, owner.address()).await?;
    let named = admin::ask_with(
        &args.socket,
        &json!({ "command": "name_sequencer_key", "key": entry.key, "from_batch": entry.from_batch }),
    )
    .await?;
    let mined = if is_there {
        None
    } else {
        let data = rotate_calldata(entry.key, entry.from_batch);
        let sent = args.chain.send(&owner, args.contract, data).await;
        Some(sent.map_err(|error| {
            CommandFailure::refused(format!(
                "the log names the key (sequence {}), but the contract does not: {error}\n  run the \
                 same command again before batch {}, or the server stops signing at that batch \
                 until the contract agrees",
                text(&named["sequence"]),
                entry.from_batch
            ))
        })?)
    };
    let now = admin::ask(&args.socket, "read_sequencer_keys").await?;
    if args.chain.json {
        return print_json(&json!({
            "key": entry.key,
            "from_batch": entry.from_batch,
            "sequence": named["sequence"],
            "contract": args.contract,
            "transaction_hash": mined.map(|mined| mined.tx_hash),
            "block_number": mined.map(|mined| mined.block_number),
            "mode": now["mode"],
            "next_batch": now["batches"],
        }));
    }
    let done = match mined {
        Some(mined) => mined.tx_hash.to_string(),
        None => "already named there".to_owned(),
    };
    print(&columns(&[
        ("key", entry.key.to_string()),
        ("from batch", entry.from_batch.to_string()),
        ("log sequence", text(&named["sequence"])),
        ("transaction", done),
        ("server", text(&now["mode"])),
        ("next batch", text(&now["batches"])),
    ]))
}

/// Whether the contract already has the key. Rejects what the contract would reject, before the log is changed.
async fn check_contract(
    contract: &AnchorContract,
    entry: KeyActivation,
    sender: Address,
) -> CliResult<bool> {
    let terms = contract.key_terms().await.map_err(read_failure)?;
    let same = |term: &KeyTerm| term.key == entry.key && term.from_batch == entry.from_batch;
    if terms.iter().any(same) {
        return Ok(true);
    }
    let owner = contract.owner().await.map_err(read_failure)?;
    if owner != sender {
        return refuse(format!(
            "the contract belongs to {owner}; {sender} cannot rotate its key"
        ));
    }
    let last = terms.last().map_or(0, |term| term.from_batch);
    let anchored = contract
        .latest(BlockTag::Latest)
        .await
        .map_err(read_failure)?;
    if entry.from_batch <= last || entry.from_batch < anchored.batches {
        return refuse(format!(
            "the contract has anchored {} batches and its last key begins at batch {last}: name a later \
             batch than {}",
            anchored.batches, entry.from_batch
        ));
    }
    Ok(false)
}

/// Records in the contract that all batches of a replaced key are anchored. From then on its signatures count as
/// evidence only for the bond's time.
pub(crate) async fn close(args: ContractKeyCloseArgs) -> CliResult<()> {
    let payer = args.chain.key()?;
    let contract = AnchorContract::new(args.chain.client(), args.contract);
    let terms = contract.key_terms().await.map_err(read_failure)?;
    let term = usize::try_from(args.index)
        .ok()
        .and_then(|index| terms.get(index));
    let term = term.ok_or_else(|| {
        CommandFailure::usage(format!(
            "--index: the contract has {} keys, from 0",
            terms.len()
        ))
    })?;
    let batches = if let Some(batches) = args.batches {
        batches
    } else {
        let latest = contract
            .latest(BlockTag::Latest)
            .await
            .map_err(read_failure)?;
        latest.batches
    };
    if term.replaced_at_s == 0 || batches < term.until_batch {
        return refuse(format!(
            "key {} is still in use: {} batches are anchored, and it signs the batches below {}",
            term.key,
            batches,
            if term.replaced_at_s == 0 {
                "no end yet".to_owned()
            } else {
                term.until_batch.to_string()
            }
        ));
    }
    let data = close_key_calldata(args.index, batches);
    let mined = args.chain.send(&payer, args.contract, data).await?;
    let terms = contract.key_terms().await.map_err(read_failure)?;
    let closed_at_s = terms
        .get(args.index as usize)
        .map_or(0, |term| term.closed_at_s);
    if args.chain.json {
        return print_json(&json!({
            "contract": args.contract,
            "index": args.index,
            "key": term.key,
            "batches": batches,
            "closed_at": closed_at_s,
            "transaction_hash": mined.tx_hash,
            "block_number": mined.block_number,
        }));
    }
    print(&columns(&[
        ("key", term.key.to_string()),
        ("batches", batches.to_string()),
        ("closed at", format!("{closed_at_s} (Unix seconds)")),
        ("transaction", mined.tx_hash.to_string()),
        ("block", mined.block_number.to_string()),
    ]))
}
