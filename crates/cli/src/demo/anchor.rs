//! Second half of the demo: an anchor, and a proof that needs no trust in the server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::{RpcClient, RpcOptions};
use kedge_client::{Account, Client, ProofForm};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{BatchKeys, SequencerKeys};

use super::super::admin;
use super::super::output::{CliResult, CommandFailure, refuse};
use super::super::trust::read_failure;
use super::super::verify::anchor_check::check_on_chain;
use super::DemoArgs;
use super::report::DemoReport;
use super::steps::DemoObjects;

/// Pause before the second poll; doubles with each poll, up to the longest. A free organization has 100 requests a
/// minute, and the earlier steps have used nearly half of them.
const POLL_FIRST: Duration = Duration::from_millis(500);
const POLL_LONGEST: Duration = Duration::from_secs(4);

/// Anchors through the admin socket, and proves an action of this account.
pub(super) async fn run(
    shown: &DemoObjects,
    account: &Account,
    socket: &Path,
    args: &DemoArgs,
    report: &mut DemoReport,
) -> CliResult<()> {
    let client = account.client();
    let spinner = ProgressBar::new_spinner().with_message("anchoring");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let started = Instant::now();
    admin::ask(socket, "anchor_now").await?;
    let proof = wait_for_anchor(shown, account, args.patience).await?;
    spinner.finish_and_clear();
    let waited_s = started.elapsed().as_secs_f64();

    check_offline(&proof, client, report)?;
    check_chain(&proof, args, client, waited_s, report).await?;
    check_forgery(&proof, client, report)?;

    let file = save(&proof, shown, args.save.as_deref())?;
    let rpc = RpcClient::new(args.rpc.clone(), RpcOptions::default());
    let contract = client.domain().verifying_contract;
    let (file, endpoint) = (file.display(), rpc.endpoint().to_string());
    report.hints.push(format!(
        "kedge verify proof {file} --rpc {endpoint} --contract {contract}"
    ));
    report
        .hints
        .push(format!("curl {}/batches?limit=3", client.base_url()));
    report
        .hints
        .push(format!("curl {}/anchors", client.base_url()));
    Ok(())
}

async fn wait_for_anchor(
    shown: &DemoObjects,
    account: &Account,
    patience_s: u64,
) -> CliResult<ProofFile> {
    let give_up = Instant::now() + Duration::from_secs(patience_s);
    let mut pause = POLL_FIRST;
    loop {
        let proof = account
            .proof(shown.action_id, ProofForm::Authorship)
            .await?;
        if proof.anchor.is_some() {
            return Ok(proof);
        }
        if Instant::now() >= give_up {
            return refuse(format!(
                "no final anchor within {patience_s} s (--patience); `kedge admin status` shows its progress"
            ));
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(POLL_LONGEST);
    }
}

fn check_offline(proof: &ProofFile, client: &Client, report: &mut DemoReport) -> CliResult<()> {
    proof.verify(&client.domain(), &client.sequencer_keys())?;
    let header = &proof.batch.header;
    report.proven(
        "offline",
        format!(
            "{} of {}: leaf {} of the {} in batch {}, signed by {}",
            proof.action.kind,
            proof.action.target,
            proof.inclusion.leaf_index,
            header.count,
            header.number,
            proof.action.signer
        ),
    );
    Ok(())
}

/// Checks through the node that the contract anchors this log, knows this sequencer, and holds the checkpoint.
async fn check_chain(
    proof: &ProofFile,
    args: &DemoArgs,
    client: &Client,
    waited_s: f64,
    report: &mut DemoReport,
) -> CliResult<()> {
    let Some(anchor) = &proof.anchor else {
        return refuse("the proof has no anchor");
    };
    let rpc = RpcClient::new(args.rpc.clone(), RpcOptions::default());
    let contract = AnchorContract::new(rpc, anchor.contract);
    let separator = contract.domain_separator().await.map_err(read_failure)?;
    if separator != *client.domain_separator() {
        return refuse("the contract anchors a different log than the server's");
    }
    let (named, stated) = (contract.sequencer_keys().await, client.sequencer_keys());
    let named = named.map_err(read_failure)?;
    if let Some(batch) = disagreement(&named, &stated, &anchor.checkpoint.checkpoint) {
        return refuse(format!(
            "the contract names {} as the sequencer of batch {batch}, the server {}",
            named.key_of(batch),
            stated.key_of(batch)
        ));
    }
    let where_it_is = check_on_chain(anchor, &contract).await?;
    report.proven(
        "on the chain",
        format!("{where_it_is}; final after {waited_s:.1} s"),
    );
    Ok(())
}

/// The first batch for which contract and server name different keys, among the checkpoint's batches and later ones for
/// which both know a key. One of the two may learn of a next key first.
fn disagreement(
    named: &SequencerKeys,
    stated: &SequencerKeys,
    anchored: &Checkpoint,
) -> Option<u64> {
    let end = if named.extends(stated) || stated.extends(named) {
        anchored.batches
    } else {
        u64::MAX
    };
    named.first_difference(stated, end)
}

/// Changes one character of the payload, after which the file must not verify.
fn check_forgery(proof: &ProofFile, client: &Client, report: &mut DemoReport) -> CliResult<()> {
    let mut forged = proof.clone();
    forged.action.payload.push(' ');
    match forged.verify(&client.domain(), &client.sequencer_keys()) {
        Ok(_) => refuse("a forged copy of the proof was accepted"),
        Err(error) => {
            report.proven(
                "a forgery refused",
                format!("a space more in the payload: {error}"),
            );
            Ok(())
        }
    }
}

fn save(proof: &ProofFile, shown: &DemoObjects, path: Option<&Path>) -> CliResult<PathBuf> {
    let path = path.map_or_else(
        || std::env::temp_dir().join(format!("kedge-proof-{}.json", shown.object_id)),
        Path::to_owned,
    );
    let text = serde_json::to_string_pretty(proof)?;
    std::fs::write(&path, text + "\n").map_err(CommandFailure::at(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::{Address, Hash, KeyActivation};

    use super::*;

    fn keys(list: &[(u8, u64)]) -> SequencerKeys {
        let entry = |(key, from_batch): &(u8, u64)| KeyActivation {
            key: Address([*key; 20]),
            from_batch: *from_batch,
        };
        SequencerKeys::new(list.iter().map(entry).collect()).unwrap()
    }

    // Holds invariant 104.
    #[test]
    fn contract_and_server_name_the_same_keys_or_one_is_ahead() {
        let anchored = Checkpoint {
            batches: 10,
            sequence: 20,
            head: Hash::ZERO,
            history: Hash::ZERO,
            state: Hash::ZERO,
            issued_at_ms: 0,
        };
        let known = keys(&[(1, 0), (2, 5)]);
        let cases = [
            (keys(&[(1, 0), (2, 5)]), None),
            (keys(&[(1, 0), (2, 5), (3, 10)]), None),
            (keys(&[(1, 0)]), Some(5)),
            (keys(&[(3, 0), (2, 5)]), Some(0)),
            (keys(&[(1, 0), (2, 6)]), Some(5)),
            (keys(&[(1, 0), (2, 5), (3, 9)]), Some(9)),
        ];
        for (other, differs_at) in cases {
            assert_eq!(disagreement(&known, &other, &anchored), differs_at);
            assert_eq!(disagreement(&other, &known, &anchored), differs_at);
        }
        // Also after the anchor, if each knows a different next key.
        let (one, other) = (keys(&[(1, 0), (2, 15)]), keys(&[(1, 0), (3, 15)]));
        assert_eq!(disagreement(&one, &other, &anchored), Some(15));
    }
}
