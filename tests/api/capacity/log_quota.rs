//! The quota of bytes in the log: what counts, what happens past it, and that it survives a restart.

use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};
use crate::resources::files;

const QUOTA: u64 = 60_000;

async fn organization(server: &Server, caller: &Caller) -> Value {
    let view = server.get("/organizations/me", Some(&caller.token)).await;
    view.expect(200).body
}

async fn log_bytes(server: &Server, caller: &Caller) -> u64 {
    let view = organization(server, caller).await;
    view["usage"]["log_bytes"].as_u64().unwrap()
}

/// Letters that do not compress.
fn noise(bytes: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + (state % 26) as u8)
    };
    (0..bytes).map(|_| letter()).collect()
}

// Holds invariant 130.
#[tokio::test]
async fn past_its_quota_an_organization_reads_and_others_write() {
    let option = format!("log_bytes_free={QUOTA}");
    let server = Server::start_with(&[&option]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let of_bob = bob.new_template(&server, "ticket").await;
    let before = log_bytes(&server, &ann).await;
    assert!(before > 0);
    let body = json!({ "template_id": template, "properties": { "n": noise(5_000) } });
    let refused = loop {
        let answer = ann.mint(&server, &body).await;
        if answer.status != 201 {
            break answer;
        }
        let used = log_bytes(&server, &ann).await;
        assert!(used <= QUOTA + 20_000, "{used}");
    };
    refused.refused(403, "QUOTA_EXCEEDED");
    assert_eq!(refused.body["body"]["policy"], "log-bytes");
    let used = log_bytes(&server, &ann).await;
    // Each mint adds its payload, and the object it makes.
    assert!(used > QUOTA - 10_000, "{used}");
    let view = organization(&server, &ann).await;
    assert_eq!(view["limits"]["log_bytes"], QUOTA);
    let forecast = &view["forecast"]["log_bytes"];
    assert_eq!(forecast["policy"], "log-bytes");
    assert_eq!(forecast["remaining"], QUOTA.saturating_sub(used));
    assert!(forecast["exhausted_at"].is_string(), "{forecast}");

    // Reads are served, and others can write.
    server.get("/objects", Some(&ann.token)).await.expect(200);
    bob.new_object(&server, &of_bob).await;

    // It stays so after a restart, until the tier changes.
    let mut server = server;
    server.terminate();
    let server = server.restart_with(&[&option]).await;
    assert_eq!(log_bytes(&server, &ann).await, used);
    ann.mint(&server, &body)
        .await
        .refused(403, "QUOTA_EXCEEDED");
    let socket = server.dir.path().join("data/admin.sock");
    let set = crate::program::kedge()
        .args(["admin", "tier", &ann.organization_id, "custom"])
        .args(["--log-bytes", "1000000", "--json", "--socket"])
        .arg(socket)
        .status();
    assert!(set.unwrap().success());
    assert_eq!(
        organization(&server, &ann).await["limits"]["log_bytes"],
        1_000_000
    );
    ann.mint(&server, &body).await.expect(201);
    let mut server = server;
    server.terminate();
    let verified = server.verify_data();
    assert!(verified.status.success(), "{verified:?}");
}

// Holds invariant 248.
#[tokio::test]
async fn free_organizations_leave_the_others_room_on_the_disk() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let template = bob.new_template(&server, "ticket").await;
    server.terminate();
    // Pretends that the disk has less room than that.
    let server = server
        .restart_with(&["disk_kept_from_free=1000000000000000000", "rate_limits=on"])
        .await;
    let socket = server.dir.path().join("data/admin.sock");
    let set = crate::program::kedge()
        .args([
            "admin",
            "tier",
            &bob.organization_id,
            "developer",
            "--socket",
        ])
        .arg(socket)
        .status();
    assert!(set.unwrap().success());
    bob.new_object(&server, &template).await;
    let body = json!({ "name": "one more" });
    let refused = ann.template(&server, &body).await;
    refused.refused(403, "QUOTA_EXCEEDED");
    assert_eq!(refused.body["body"]["policy"], "disk-share");
    server.get("/templates", Some(&ann.token)).await.expect(200);
    // An upload is not written either, with any credentials.
    let mut headers = files::headers(&server, &ann, "a.txt", b"bytes");
    headers.push(("idempotency-key", "upload-1".to_owned()));
    let parts = [
        ("name=\"name\"", b"a.txt".as_slice()),
        ("name=\"file\"", b"bytes"),
    ];
    let refused = files::post(&server, &headers, files::form(&parts)).await;
    refused.refused(403, "QUOTA_EXCEEDED");
    assert_eq!(files::files(&files::folder(&server)).len(), 0);
    let cat = Caller::nobody();
    let body = cat.registration("cat@example.com").to_string();
    let joined = cat.send_registration(&server, &body).await;
    joined.refused(403, "QUOTA_EXCEEDED");
}

// Holds invariant 131.
#[tokio::test]
async fn small_requests_that_make_large_objects_count_what_they_make() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let large = json!({ "name": "large", "properties": { "n": noise(20_000) } });
    let made = ann.template(&server, &large).await.expect(201);
    let template = made.body["id"].as_str().unwrap();
    let before = log_bytes(&server, &ann).await;
    let mints: Vec<Signed<'_>> = vec![("mint", template, "{}"); 50];
    ann.bus(&server, &mints, true).await.expect(200);
    let added = log_bytes(&server, &ann).await - before;
    assert!((50 * 20_000..50 * 25_000).contains(&added), "{added}");
}

// Holds invariant 130.
#[tokio::test]
async fn requests_at_one_time_do_not_pass_the_quota_together() {
    let option = format!("log_bytes_free={QUOTA}");
    let server = std::sync::Arc::new(Server::start_with(&[&option]).await);
    let ann = std::sync::Arc::new(Caller::register(&server, "ann@example.com").await);
    let template = ann.new_template(&server, "ticket").await;
    let body = json!({ "template_id": template, "properties": { "n": noise(15_000) } });
    let mut mints = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let (server, ann, body) = (server.clone(), ann.clone(), body.clone());
        mints.spawn(async move { ann.mint(&server, &body).await.status });
    }
    let done = mints.join_all().await;
    let minted = done.iter().filter(|status| **status == 201).count();
    assert!((1..=4).contains(&minted), "{done:?}");
    assert!(done.iter().all(|status| [201, 403].contains(status)));
}
