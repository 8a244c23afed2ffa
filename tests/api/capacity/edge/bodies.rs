//! Bodies: an announced length reserves nothing, received bytes count, and bodies must make progress.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ask, connect_from, login, post, read_answer};
use crate::harness::{Caller, PASSWORD, Server};

const MIB: u64 = 1 << 20;

// Holds invariant 115.
#[tokio::test]
async fn what_is_announced_reserves_nothing() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let announced = ("Content-Length", (16 * MIB).to_string());
    let token = ("Authorization", format!("Bearer {}", ann.token));
    let mut open = Vec::new();
    for number in 0..32 {
        let mut stream = connect_from(&server, 1).await;
        // Half of them show a token, half of them log in.
        let head = if number % 2 == 0 {
            post("/objects/search", &[announced.clone(), token.clone()])
        } else {
            post("/wallets/login", std::slice::from_ref(&announced))
        };
        stream
            .write_all(format!("{head}{{").as_bytes())
            .await
            .unwrap();
        open.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for host in [1, 2] {
        let answer = ask(
            &mut connect_from(&server, host).await,
            &login("ann@example.com"),
        )
        .await;
        answer.refused(401, "CREDENTIALS_INVALID");
    }
    let body = r#"{"filter":{}}"#;
    let headers = [ann.bearer()];
    let searched = server.call("POST", "/objects/search", &headers, body).await;
    assert_ne!(searched.status, 503, "{}", searched.body);
}

// Holds invariant 115.
#[tokio::test]
async fn one_address_leaves_room_for_the_bodies_of_others() {
    let server = Server::start().await;
    let mut open = Vec::new();
    let head = post("/wallets/login", &[("Content-Length", "16384".to_owned())]);
    let part = " ".repeat(12_000);
    for _ in 0..300 {
        let mut stream = connect_from(&server, 1).await;
        stream
            .write_all(format!("{head}{part}").as_bytes())
            .await
            .unwrap();
        open.push(stream);
    }
    // The last one has no room, which its caller learns after sending everything.
    let last = open.last_mut().unwrap();
    last.write_all(" ".repeat(16_384 - 12_000).as_bytes())
        .await
        .unwrap();
    // This address's share is used up; no other is.
    let refused = read_answer(open.last_mut().unwrap()).await;
    refused.refused(429, "RATE_LIMITED");
    assert_eq!(refused.body["body"]["policy"], "body-bytes");
    assert!(refused.header("retry-after").is_some());
    let other = ask(
        &mut connect_from(&server, 2).await,
        &login("ann@example.com"),
    )
    .await;
    other.refused(401, "CREDENTIALS_INVALID");
}

// Holds invariant 115.
/// Bodies without credentials have little memory here: 128 KiB.
#[tokio::test]
async fn bodies_announced_from_many_addresses_keep_nobody_from_logging_in() {
    let server = Server::start_with(&["body_bytes_max=16384", "body_bytes_total_max=65536"]).await;
    Caller::register(&server, "ann@example.com").await;
    let right = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
    let logs_in = async || {
        let login = server.call("POST", "/wallets/login", &[], &right).await;
        login.expect(200);
    };
    let head = post("/wallets/login", &[("Content-Length", "16384".to_owned())]);
    let mut open = Vec::new();
    for host in 2..=129 {
        let mut stream = connect_from(&server, host).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    logs_in().await;
    // They send as much as they may hold, but not the end.
    let part = " ".repeat(16_000);
    for stream in &mut open {
        stream.write_all(part.as_bytes()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for _ in 0..3 {
        logs_in().await;
    }
    // Most of them had no room, and are refused after sending everything.
    let mut refused = 0;
    for stream in &mut open {
        stream.write_all(&[b' '; 384]).await.unwrap();
        refused += usize::from(read_answer(stream).await.status() == 503);
    }
    assert!(refused > 100, "{refused}");
}

// Holds invariant 115.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunked_bodies_stay_within_their_share() {
    const BODIES: usize = 30;
    const SHARE: u64 = 32 * MIB;
    let share = format!("body_bytes_per_caller={SHARE}");
    let server = Server::start_with(&[&share]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let head = post(
        "/objects/search",
        &[
            ("Transfer-Encoding", "chunked".to_owned()),
            ("Authorization", format!("Bearer {}", ann.token)),
        ],
    );
    let before = server.memory_bytes();
    let piece = format!("{:x}\r\n{}\r\n", MIB, " ".repeat(MIB as usize));
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..BODIES {
        let mut stream = connect_from(&server, 1).await;
        let (head, piece) = (head.clone(), piece.clone());
        senders.spawn(async move {
            stream.write_all(head.as_bytes()).await.unwrap();
            for _ in 0..6 {
                stream.write_all(piece.as_bytes()).await.unwrap();
            }
            stream
        });
    }
    let mut open = senders.join_all().await;
    let grown = server.memory_bytes().saturating_sub(before);
    // The allocator keeps buffers that bodies have outgrown for a while, at most as many bytes again, and each
    // connection has its own buffers. Without the share it would be more than was sent.
    let sent = 6 * MIB * BODIES as u64;
    assert!(
        grown < sent * 2 / 3,
        "{grown} bytes for {sent} bytes of bodies"
    );
    // Some have no room, and are refused after sending everything.
    let mut refused = 0;
    for stream in &mut open {
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let answer = read_answer(stream).await;
        if answer.status() == 429 {
            answer.refused(429, "RATE_LIMITED");
            refused += 1;
        }
    }
    assert!(refused > 0 && refused < BODIES, "{refused}");
    let answer = ask(
        &mut connect_from(&server, 1).await,
        &login("ann@example.com"),
    )
    .await;
    answer.refused(401, "CREDENTIALS_INVALID");
}

// Holds invariant 115.
#[tokio::test]
async fn a_body_that_hardly_comes_is_ended() {
    let server = Server::start().await;
    let begun = Instant::now();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = post("/wallets/login", &[("Content-Length", "9999".to_owned())]);
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let drip = tokio::spawn(async move {
        // Ends when the server has closed the connection.
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let mut text = vec![0; 4096];
    let count = reading.read(&mut text).await.unwrap();
    let text = String::from_utf8_lossy(&text[..count]);
    assert!(
        text.starts_with("HTTP/1.1 400") && text.contains("slowly"),
        "{text}"
    );
    assert!(text.to_lowercase().contains("connection: close"), "{text}");
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    drip.abort();
}

// Holds invariant 115.
#[tokio::test]
async fn without_credentials_bodies_are_short_and_long_enough() {
    let server = Server::start().await;
    for path in [
        "/wallets/login",
        "/wallets/token/refresh",
        "/wallets/logout",
        "/wallets/register",
    ] {
        let mut stream = connect_from(&server, 1).await;
        let filler = format!(r#"{{"email":"{}"}}"#, "a".repeat(17 * 1024));
        let headers = Caller::nobody().false_signature(&server);
        let mut fields = vec![("Content-Length", filler.len().to_string())];
        fields.extend(headers);
        let answer = ask(&mut stream, &(post(path, &fields) + &filler)).await;
        answer.refused(413, "PAYLOAD_TOO_LARGE");
    }
    // The longest registration, with every character written in its longest form.
    let escaped = |text: &str| -> String {
        let units = text.encode_utf16();
        units.fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"))
    };
    let ann = Caller::nobody();
    let body = ann.registration("ann@example.com");
    let password = "correct horse battery staple, ".repeat(40)[..1_024].to_owned();
    let nickname = "\u{1f600}".repeat(200);
    let email = format!("{}@example.com", "a".repeat(60));
    let blind = body["blind"].as_str().unwrap();
    let body = format!(
        r#"{{"email":"{}","password":"{}","nickname":"{}","organization_name":"{}","address":"{}","blind":"{}"}}"#,
        escaped(&email),
        escaped(&password),
        escaped(&nickname),
        escaped(&nickname),
        escaped(body["address"].as_str().unwrap()),
        escaped(blind),
    );
    assert!(body.len() > 11_000, "{}", body.len());
    let made = ann.send_registration(&server, &body).await.expect(201);
    assert_eq!(made.body["wallet"]["nickname"], nickname);
    let again = json!({ "email": email, "password": password });
    server
        .call("POST", "/wallets/login", &[], &again.to_string())
        .await
        .expect(200);
}

// Holds invariant 115.
#[tokio::test]
async fn a_body_that_nobody_asked_for_is_dropped_before_the_answer_or_refused() {
    let server = Server::start().await;
    let head = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
    let dropped = format!("{head}Content-Length: 5\r\n\r\nhello");
    let mut stream = connect_from(&server, 1).await;
    // The connection stays usable: nothing of the body is taken for a request.
    for _ in 0..2 {
        assert_eq!(ask(&mut stream, &dropped).await.status(), 200);
    }
    let length = 64 * MIB;
    for wrong in [
        "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n".to_owned(),
        format!("Content-Length: {length}\r\n\r\n"),
        "Content-Length: 5\r\n\r\nhell".to_owned(),
    ] {
        let mut stream = connect_from(&server, 1).await;
        let answer = ask(&mut stream, &format!("{head}{wrong}")).await;
        answer.refused(400, "VALIDATION_ERROR");
    }
}
