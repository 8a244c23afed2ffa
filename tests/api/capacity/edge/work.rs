//! Expensive work comes last: lengths and signatures are checked first, and slow work has fair turns.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::{ask, connect_from, login, post, read_answer};
use crate::harness::{Caller, Server};

/// A character that NFKC makes eighteen times as long.
const GROWS: &str = "\u{fdfa}";

// Holds invariant 116.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_without_a_right_signature_costs_next_to_nothing() {
    let server = Server::start().await;
    let nobody = Caller::nobody();
    let before = server.memory_bytes();
    let begun = Instant::now();
    for (length, status, code) in [
        (15_600_000, 413, "PAYLOAD_TOO_LARGE"),
        (15_000, 400, "VALIDATION_ERROR"),
    ] {
        let mut body = nobody.registration("ann@example.com");
        body["password"] = GROWS.repeat(length / GROWS.len()).into();
        let body = body.to_string();
        let mut fields = nobody.false_signature(&server);
        fields.push(("Content-Length", body.len().to_string()));
        let mut stream = connect_from(&server, 1).await;
        let head = post("/wallets/register", &fields);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        read_answer(&mut stream).await.refused(status, code);
    }
    let (took, grown) = (
        begun.elapsed(),
        server.memory_bytes().saturating_sub(before),
    );
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(grown < 32 << 20, "{grown} bytes");
    // The password, made of common words, is checked only after the signature.
    let mut body = nobody.registration("ann@example.com");
    body["password"] = "passwordpassword".into();
    let body = body.to_string();
    let mut fields = nobody.false_signature(&server);
    fields.push(("Content-Length", body.len().to_string()));
    let request = post("/wallets/register", &fields) + &body;
    let unsigned = ask(&mut connect_from(&server, 1).await, &request).await;
    unsigned.refused(401, "SIGNATURE_INVALID");
    let signed = nobody.send_registration(&server, &body).await;
    signed.refused(400, "VALIDATION_ERROR");
    assert_eq!(signed.body["body"]["errors"][0]["code"], "guessed");
}

// Holds invariant 117.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_logins_of_one_address_do_not_delay_anothers() {
    let server = Server::start_with(&["password_hashes_max=1"]).await;
    let mut alone = connect_from(&server, 2).await;
    let begun = Instant::now();
    ask(&mut alone, &login("ann@example.com"))
        .await
        .refused(401, "CREDENTIALS_INVALID");
    let one = begun.elapsed();
    let mut many = JoinSet::new();
    for number in 0..300 {
        let mut stream = connect_from(&server, 1).await;
        many.spawn(async move { ask(&mut stream, &login(&format!("{number}@example.com"))).await });
    }
    tokio::time::sleep(one / 2).await;
    let begun = Instant::now();
    let mut other = connect_from(&server, 3).await;
    ask(&mut other, &login("ann@example.com"))
        .await
        .refused(401, "CREDENTIALS_INVALID");
    let took = begun.elapsed();
    // Covers one login before it, its own, and many refusals.
    assert!(
        took < 4 * one + Duration::from_secs(1),
        "{took:?}, alone {one:?}"
    );
    let (mut done, mut refused) = (0, 0);
    for answer in many.join_all().await {
        match answer.status() {
            401 => done += 1,
            429 => {
                answer.refused(429, "RATE_LIMITED");
                assert_eq!(answer.body["body"]["policy"], "password-checks");
                assert!(answer.header("retry-after").is_some());
                refused += 1;
            }
            503 => assert!(answer.header("retry-after").is_some()),
            other => panic!("{other}"),
        }
    }
    assert!(done > 0 && refused > 0, "{done} {refused}");
}
