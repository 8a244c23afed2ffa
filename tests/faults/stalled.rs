//! A disk that stalls for longer than any caller waits.

use std::time::Duration;

use kedge_client::types::TemplateActionRule;
use kedge_client::{ClientError, NewObject, NewTemplate, TemplateChange};
use kedge_protocol::resource::Who;

use crate::support::faults::OnCall;
use crate::support::{Rng, connect, http, register, template};

/// Long enough to exceed any earlier wait in the server.
const STALL: Duration = Duration::from_secs(13);

// Holds invariant 93.
/// Mints that wait while the template's rules change are decided by the new rules, however long the
/// disk takes to make the rules durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_new_rules_is_decided_by_them() {
    let mut rng = Rng::seeded("a stalled disk");
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    // Callers wait longer than the stall.
    let setup = setup.set("request_timeout_s", 60);
    let server = setup.start();
    let client = kedge_client::Client::builder(setup.url())
        .retry(kedge_client::RetryPolicy::never())
        .timeout_ms(90_000)
        .connect()
        .await
        .unwrap();
    let issuer = register(&client, rng.key()).await;
    let other = register(&client, rng.key()).await;
    let bystander = register(&client, rng.key()).await;
    let anyone = |who| {
        vec![TemplateActionRule {
            kind: "mint".to_owned(),
            who,
            schema: None,
        }]
    };
    let open = NewTemplate {
        name: "open".to_owned(),
        public_access: true,
        actions: anyone(Who::Anyone),
        ..NewTemplate::default()
    };
    let made = issuer.create_template(&open).await.unwrap().resource.id;
    let own = template(&bystander, "a bystander's").await;

    faults.stall(OnCall::Fdatasync, "/log/");
    let begun = std::time::Instant::now();
    let closing = tokio::spawn({
        let issuer = issuer.clone();
        let change = TemplateChange {
            actions: Some(anyone(Who::Issuer)),
            ..TemplateChange::default()
        };
        async move { issuer.update_template(made, &change).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut mints = Vec::new();
    let mut foreign = Vec::new();
    while begun.elapsed() < STALL {
        let (account, bystander) = (other.clone(), bystander.clone());
        mints.push(tokio::spawn(async move {
            account.mint(made, &NewObject::default()).await
        }));
        foreign.push(tokio::spawn(async move {
            bystander.mint(own, &NewObject::default()).await
        }));
        // Reading works without writes to the disk.
        assert_eq!(http::get(setup.port(), "/healthz").await.status, 200);
        issuer.template(made).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(faults.met() > 0, "the disk did not stall");
    faults.lift();

    closing.await.unwrap().unwrap();
    for mint in mints {
        let refused = mint.await.unwrap().unwrap_err();
        let ClientError::Refused(envelope) = &refused else {
            panic!("{refused}");
        };
        assert_eq!(
            envelope.status, 403,
            "by the rules that hold now: {envelope}"
        );
    }
    for mint in foreign {
        mint.await.unwrap().unwrap();
    }
    let left = http::metric(setup.metrics_port(), "kedge_requests_under_way", &[]).await;
    assert!(left.abs() < 0.1, "{left} requests are still held");
    assert_eq!(server.readiness().await.0, 200);
    server.stop();
    crate::verify(&setup, &client);
}

// Holds invariant 94.
/// A request given up by its caller is never done later: if it was not placed when the caller got its answer, it never
/// will be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_up_is_never_done() {
    let mut rng = Rng::seeded("given up");
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let setup = setup.set("request_timeout_s", 2);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, rng.key()).await;
    let of = template(&account, "given up").await;

    faults.stall(OnCall::Fdatasync, "/log/");
    let change = TemplateChange {
        description: Some("changed".to_owned()),
        ..TemplateChange::default()
    };
    let unknown = tokio::spawn({
        let account = account.clone();
        async move { account.update_template(of, &change).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    // It waits for the rules that are being synced.
    let nothing = account.mint(of, &NewObject::default()).await.unwrap_err();
    let unknown = unknown.await.unwrap().unwrap_err();
    let outcome = |error: &ClientError| match error {
        ClientError::Refused(envelope) => envelope.body["outcome"].as_str().map(str::to_owned),
        other => panic!("{other}"),
    };
    assert_eq!(outcome(&unknown).as_deref(), Some("unknown"), "{unknown}");
    assert_eq!(
        outcome(&nothing).as_deref(),
        Some("nothing_done"),
        "{nothing}"
    );
    faults.lift();
    // The nonce of the request that was never done is free.
    account.mint(of, &NewObject::default()).await.unwrap();
    let objects = account.objects(&kedge_client::ListQuery::default());
    assert_eq!(objects.collect(10).await.unwrap().len(), 1);
    assert_eq!(account.template(of).await.unwrap().description, "changed");
    server.stop();
    crate::verify(&setup, &client);
}
