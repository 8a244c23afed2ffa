//! Callers without a known organization, and failed logins.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use super::{ON, free_port, me, metric, policy, reported, use_up};
use crate::harness::{Answer, Caller, PASSWORD, Server};

async fn from(server: &Server, forwarded_for: &str) -> Answer {
    let header = ("x-forwarded-for", forwarded_for.to_owned());
    server.call("GET", "/checkpoint", &[header], "").await
}

async fn log_in(server: &Server, email: &str, password: &str) -> Answer {
    let body = json!({ "email": email, "password": password }).to_string();
    server.call("POST", "/wallets/login", &[], &body).await
}

#[tokio::test]
async fn an_address_has_a_hundred_requests_a_minute() {
    let port = free_port();
    let metrics = format!("metrics_listen=\"127.0.0.1:{port}\"");
    let server = Server::start_with(&[ON, &metrics]).await;
    // Requests refused for other reasons count too: guessing paths and tokens is not free.
    use_up(100, "address", 0, async |number| match number % 5 {
        0 => server.get("/batches", None).await,
        1 => server.get("/nothing", None).await,
        2 => server.get("/wallets/me", None).await,
        3 => server.get("/wallets/me", Some("guessed")).await,
        _ => server.call("DELETE", "/objects", &[], "").await,
    })
    .await;
    let series = r#"kedge_rate_limited_total{policy="address"}"#;
    assert_eq!(metric(port, series).await, 1);
    // The peer is not configured as a trusted proxy.
    let answer = from(&server, "203.0.113.7").await;
    assert!(reported(&answer).remaining < 100, "{:?}", answer.headers);
    server.get("/healthz", None).await.expect(200);
}

#[tokio::test]
async fn whoever_shows_a_token_is_not_counted_on_the_address() {
    let server = Server::start_with(&[ON, "address_requests_per_minute=4"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    for _ in 0..10 {
        me(&server, &ann).await.expect(200);
        // A public read with a token counts on the organization too.
        server
            .get("/checkpoint", Some(&ann.token))
            .await
            .expect(200);
    }
    let anonymous = server.get("/checkpoint", None).await.expect(200);
    assert!(
        reported(&anonymous).remaining >= 2,
        "{:?}",
        anonymous.headers
    );
}

#[tokio::test]
async fn behind_a_trusted_proxy_callers_are_told_apart() {
    let trusted = r#"trusted_proxies=["127.0.0.0/8", "10.0.0.0/8"]"#;
    let options = [ON, trusted, "address_requests_per_minute=3"];
    let server = Server::start_with(&options).await;
    let cases = [
        // One caller behind two proxies, who wrote the entries before its address.
        (
            "198.51.100.7, 10.1.1.1",
            "203.0.113.9, 198.51.100.7",
            "198.51.100.8",
        ),
        // An IPv6 subscriber has a /64 network.
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:3::1"),
    ];
    for (caller, same, other) in cases {
        let mut turn = 0;
        use_up(3, "address", 0, async |_| {
            turn += 1;
            from(&server, if turn % 2 == 0 { caller } else { same }).await
        })
        .await;
        from(&server, other).await.expect(200);
    }
}

/// Logs in with wrong passwords until the limit refuses; windows may end meanwhile.
async fn guess(server: &Server, email: impl Fn(u32) -> String, most: u32) -> (Answer, u32) {
    for number in 0..=2 * most {
        let answer = log_in(server, &email(number), "wrong horse battery").await;
        if answer.status == 429 {
            return (answer, number);
        }
        answer.refused(401, "CREDENTIALS_INVALID");
    }
    panic!("more guesses were let in than there may be");
}

// Holds invariant 24.
#[tokio::test]
async fn an_account_is_shut_after_failures_whether_it_exists_or_not() {
    let server = Server::start_with(&[ON, "login_failures_per_address=1000"]).await;
    Caller::register(&server, "ann@example.com").await;
    let mut messages = Vec::new();
    for email in ["ann@example.com", "nobody@example.com"] {
        let (refused, guesses) = guess(&server, |_| email.to_owned(), 5).await;
        assert!((5..=10).contains(&guesses), "{guesses}");
        assert_eq!(policy(&refused), "login-account");
        assert_eq!(reported(&refused).limit, 5);
        assert_eq!(reported(&refused).reset % (15 * 60), 0);
        let message = refused.body["body"]["message"].as_str().unwrap();
        messages.push(message.split(';').next().unwrap().to_owned());
        // Neither the right password nor another spelling of the address lifts the limit.
        let again = log_in(&server, &email.to_uppercase(), PASSWORD).await;
        let is_new_window = reported(&again).reset > reported(&refused).reset;
        assert!(again.status == 429 || is_new_window, "{}", again.body);
    }
    assert_eq!(messages[0], messages[1], "nothing tells that one exists");
}

#[tokio::test]
async fn a_right_password_forgets_the_failures_before_it() {
    let server = Server::start_with(&[ON]).await;
    Caller::register(&server, "ann@example.com").await;
    for _ in 0..2 {
        for _ in 0..4 {
            let wrong = log_in(&server, "ann@example.com", "wrong horse battery").await;
            wrong.refused(401, "CREDENTIALS_INVALID");
        }
        log_in(&server, "ann@example.com", PASSWORD)
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn an_address_is_shut_after_failures_of_any_accounts() {
    let server = Server::start_with(&[ON]).await;
    Caller::register(&server, "ann@example.com").await;
    let email = |number| format!("guess-{number}@example.com");
    let (refused, guesses) = guess(&server, email, 10).await;
    assert!((10..=20).contains(&guesses), "{guesses}");
    assert_eq!(policy(&refused), "login-address");
    let again = log_in(&server, "guess-0@example.com", PASSWORD).await;
    let is_new_window = reported(&again).reset > reported(&refused).reset;
    assert!(again.status == 429 || is_new_window, "{}", again.body);
    // An account that has logged in from this address is not locked out by guesses at others.
    log_in(&server, "ann@example.com", PASSWORD)
        .await
        .expect(200);
}

/// The status of a login from this address of the machine.
async fn status_from(server: &Server, from: [u8; 4], password: &str) -> u16 {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    let address = server.address().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let body = json!({ "email": "ann@example.com", "password": password }).to_string();
    let request = format!(
        "POST /wallets/login HTTP/1.1\r\nhost: kedge\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer[9..12].parse().unwrap()
}

// Holds invariant 24.
#[tokio::test]
async fn guesses_from_one_address_do_not_keep_the_owner_out_at_another() {
    let server = Server::start_with(&[ON]).await;
    Caller::register(&server, "ann@example.com").await;
    let (guesser, owner) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let mut tried = 0;
    for _ in 0..20 {
        match status_from(&server, guesser, "wrong horse battery").await {
            401 => tried += 1,
            status => assert_eq!(status, 429),
        }
    }
    assert!((5..=10).contains(&tried), "{tried}");
    assert_eq!(status_from(&server, owner, PASSWORD).await, 200);
    assert_eq!(status_from(&server, guesser, PASSWORD).await, 429);
    assert_eq!(status_from(&server, owner, PASSWORD).await, 200);
}

// Holds invariant 24.
#[tokio::test]
async fn a_guesser_with_many_addresses_has_an_hours_guesses_and_a_known_device_gets_in() {
    let options = [
        ON,
        r#"trusted_proxies=["127.0.0.0/8"]"#,
        "login_failures_per_account_hour=10",
    ];
    let server = Server::start_with(&options).await;
    let from = async |address: &str, path: &str, body: Value| {
        let header = ("x-forwarded-for", address.to_owned());
        server
            .call("POST", path, &[header], &body.to_string())
            .await
    };
    let log_in = async |address: &str, email: &str, password: &str| {
        let body = json!({ "email": email, "password": password });
        from(address, "/wallets/login", body).await
    };
    Caller::register(&server, "ann@example.com").await;
    let (home, work) = ("198.51.100.1", "198.51.100.2");
    let tokens = log_in(home, "ann@example.com", PASSWORD).await.expect(200);
    let mut messages = Vec::new();
    for (network, email) in ["ann@example.com", "nobody@example.com"].iter().enumerate() {
        let mut tried = 0;
        let mut refused = None;
        for number in 0..40 {
            let address = format!("2001:db8:{network}:{number}::1");
            let answer = log_in(&address, email, "wrong horse battery").await;
            match answer.status {
                401 => tried += 1,
                _ => refused = Some(answer),
            }
        }
        // Half of them in one go, and the next one twelve minutes later.
        assert_eq!(tried, 5);
        let refused = refused.unwrap();
        assert_eq!(policy(&refused), "login-account-hour");
        assert_eq!(reported(&refused).limit, 10);
        let wait_s: u64 = refused.header("retry-after").parse().unwrap();
        assert!((600..=720).contains(&wait_s), "{wait_s}");
        let message = refused.body["body"]["message"].as_str().unwrap();
        messages.push(message.split(';').next().unwrap().to_owned());
    }
    assert_eq!(messages[0], messages[1], "nothing shows that one exists");
    // From an unknown address the right password is no exception.
    let unknown = log_in(work, "ann@example.com", PASSWORD).await;
    assert_eq!(policy(&unknown), "login-account-hour");
    log_in(home, "ann@example.com", PASSWORD).await.expect(200);
    // A refresh token makes another address known.
    let body = json!({ "refresh_token": tokens.body["refresh_token"] });
    from(work, "/wallets/token/refresh", body).await.expect(200);
    log_in(work, "ann@example.com", PASSWORD).await.expect(200);
}
