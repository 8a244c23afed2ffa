//! Uploads that break off, and servers killed during one.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::harness::{Caller, Server};
use crate::resources::files::{content, files, folder, form, headers, id, until_there_are, upload};

/// Begins an upload over its own socket and sends part of it.
async fn begin(server: &Server, caller: &Caller, bytes: &[u8]) -> TcpStream {
    let body = form(&[("name=\"name\"", b"torn"), ("name=\"file\"", bytes)]);
    let mut head = format!(
        "POST /files HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers(server, caller, "torn", bytes) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body[..body.len() / 2]).await.unwrap();
    stream
}

// Holds invariant 29.
#[tokio::test]
async fn a_torn_upload_is_gone() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let torn = begin(&server, &ann, &vec![b'x'; 2_000_000]).await;
    until_there_are(&server, 1).await;
    drop(torn);
    until_there_are(&server, 0).await;
}

// Holds invariant 28.
#[tokio::test]
async fn a_crash_leaves_nothing_that_is_not_named() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let made = upload(&server, &ann, "kept", b"kept").await.expect(201);
    let _torn = begin(&server, &ann, &vec![b'x'; 2_000_000]).await;
    until_there_are(&server, 2).await;
    server.kill();
    assert_eq!(
        files(&folder(&server)).len(),
        2,
        "the crash left the half of an upload"
    );
    // The state after a crash between renaming a content into place and the commit.
    let orphan = folder(&server).join("ab");
    std::fs::create_dir_all(&orphan).unwrap();
    std::fs::write(orphan.join("cd".repeat(31)), "orphan").unwrap();
    let mut server = server.restart().await;
    until_there_are(&server, 1).await;
    let (parts, read) = content(&server, &ann, ("GET", &id(&made)), &[]).await;
    assert_eq!((parts.status.as_u16(), &read[..]), (200, &b"kept"[..]));

    assert_eq!(server.terminate(), Some(0));
    let verify = || server.verify_data();
    let reported = |out: Vec<u8>| String::from_utf8(out).unwrap();
    let good = verify();
    assert!(good.status.success(), "{}", reported(good.stderr));
    let kept = files(&folder(&server)).remove(0);
    std::fs::write(&kept, "bent").unwrap();
    let damaged = verify();
    assert_eq!(damaged.status.code(), Some(1));
    assert!(reported(damaged.stderr).contains(&id(&made)));
    std::fs::remove_file(&kept).unwrap();
    let missing = reported(verify().stderr);
    assert!(
        missing.contains(&id(&made)) && missing.contains("1 of 1"),
        "{missing}"
    );
}
