//! Keys of the sequencer: the log names them, and each signs from its batch on.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::resources::ids;
use crate::support::{
    check_fold, check_receipt_by, next_key, operator, register, sequencer_key, start, template,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_key_that_the_log_names_signs_from_its_batch_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let template = template(&engine, &alice, r#"{"name":"card"}"#).await;
    let (_, organization_id) = ids(&alice);
    let operator = operator(&engine, organization_id).await;
    let from_batch = engine.published().head.batches + 4;
    let named = next_key().address();
    let payload = format!(r#"{{"from_batch":{from_batch}}}"#);
    operator
        .send_one(
            &engine,
            "system.sequencer_key",
            &named.to_string(),
            &payload,
        )
        .await;

    let mut seen = BTreeSet::new();
    for _ in 0..8 {
        let sent = alice.sign(alice.next_nonce(), false, &[("mint", &template, "{}")]);
        let outcome = engine.submit(sent.submission).await.unwrap();
        let placement = outcome.placement.as_ref().unwrap();
        let number = placement.batch.signed.header.number;
        let is_new = number >= from_batch;
        let key = if is_new {
            named
        } else {
            sequencer_key().address()
        };
        check_receipt_by(&outcome, &sent.contents, &key);
        seen.insert(is_new);
    }
    assert_eq!(seen, BTreeSet::from([false, true]));
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}
