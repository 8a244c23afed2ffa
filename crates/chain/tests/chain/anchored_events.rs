//! Accepted checkpoints, read from a real node.

use kedge_chain::contract::{
    AnchorContract, anchor_calldata, decode_anchor_call, pause_calldata, transact,
};
use kedge_chain::rpc::BlockTag;
use kedge_chain::transaction::FeePolicy;
use kedge_protocol::Hash;

use super::support::*;

// Holds invariant 82.
#[tokio::test]
async fn each_is_read_with_the_signature_that_brought_it() {
    let anvil = Anvil::start(&[]).await;
    let rpc = anvil.rpc();
    let deployed = deploy_anchor(&rpc).await;
    let contract = AnchorContract::new(rpc.clone(), deployed.address);
    let first_block = contract.first_block().await.unwrap();
    let log = TestLog::new(5, 7);
    let mut anchored = Vec::new();
    for (from, to) in [(0, 2), (2, 3), (3, 7)] {
        let intent = log.intent(deployed.address, from, to);
        let data = anchor_calldata(&intent.signed, &intent.proof);
        let to = Some(deployed.address);
        transact(&rpc, &payer(), to, data, &FeePolicy::default(), 10_000)
            .await
            .unwrap();
        anchored.push(intent.signed);
    }
    let head = rpc
        .block(BlockTag::Latest)
        .await
        .unwrap()
        .unwrap()
        .number
        .as_u64();
    let events = contract.anchored_events(first_block, head).await.unwrap();
    let mut read = Vec::new();
    for event in &events {
        assert!(event.block_number > first_block);
        read.push(contract.anchored_signature(event).await.unwrap().unwrap());
    }
    assert_eq!(read, anchored);
    // Only the third event follows the second one's block.
    let later = contract.anchored_events(events[1].block_number + 1, head);
    assert_eq!(later.await.unwrap(), events[2..]);

    // Another transaction holds no signature of the event's checkpoint.
    let mut event = events[0].clone();
    event.tx_hash = events[1].tx_hash;
    assert_eq!(contract.anchored_signature(&event).await.unwrap(), None);
    event.tx_hash = Hash([1; 32]);
    assert_eq!(contract.anchored_signature(&event).await.unwrap(), None);
}

#[test]
fn what_is_no_call_of_anchor_is_not_read() {
    let log = TestLog::new(5, 2);
    let intent = log.intent(kedge_protocol::Address([1; 20]), 0, 2);
    let data = anchor_calldata(&intent.signed, &[Hash([6; 32])]);
    assert_eq!(decode_anchor_call(&data), Some(intent.signed));
    for cut in [0, 3, 4, data.len() / 2] {
        assert_eq!(decode_anchor_call(&data[..cut]), None, "{cut}");
    }
    assert_eq!(decode_anchor_call(&pause_calldata()), None);
}
