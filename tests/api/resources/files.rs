//! Files: contents are on disk once, complete or not at all; browsers never run them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::http::response::Parts;
use kedge_client::Client;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use serde_json::Value;

use crate::harness::{Answer, Caller, PASSWORD, Server, signature};

const BOUNDARY: &str = "a-boundary";
pub(crate) const FORM: &str = "multipart/form-data; boundary=a-boundary";

/// A part of a form: the text after `form-data;`, and the bytes.
pub(crate) type Part<'a> = (&'a str, &'a [u8]);

pub(crate) fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (disposition, bytes) in parts {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\
             Content-Type: text/html\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// The headers of an upload signed for these bytes and this name.
pub(crate) fn headers(
    server: &Server,
    caller: &Caller,
    name: &str,
    bytes: &[u8],
) -> Vec<(&'static str, String)> {
    let payload = digest_text(&sha256(bytes));
    let action = [("file.create", name, payload.as_str())];
    let mut headers = signature(&caller.key, &caller.terms(server), &action);
    headers.push(caller.bearer());
    headers.push(("content-type", FORM.to_owned()));
    headers
}

pub(crate) async fn post(
    server: &Server,
    headers: &[(&'static str, String)],
    body: Vec<u8>,
) -> Answer {
    let mut request = Request::post(format!("{}/files", server.url));
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    server
        .send(request.body(Full::new(Bytes::from(body))).unwrap())
        .await
}

pub(crate) async fn upload(server: &Server, caller: &Caller, name: &str, bytes: &[u8]) -> Answer {
    let headers = headers(server, caller, name, bytes);
    let parts: [Part<'_>; 2] = [("name=\"name\"", name.as_bytes()), ("name=\"file\"", bytes)];
    post(server, &headers, form(&parts)).await
}

pub(crate) fn id(answer: &Answer) -> String {
    answer.body["id"].as_str().unwrap().to_owned()
}

/// A request for a content, with additional headers.
pub(crate) async fn content(
    server: &Server,
    caller: &Caller,
    (method, id): (&str, &str),
    more: &[(&str, &str)],
) -> (Parts, Bytes) {
    let (name, bearer) = caller.bearer();
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}/files/{id}/content", server.url))
        .header(name, bearer);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    server.fetch(request.body(Full::default()).unwrap()).await
}

fn text<'a>(parts: &'a Parts, name: &str) -> &'a str {
    parts
        .headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

pub(crate) fn folder(server: &Server) -> PathBuf {
    server.dir.path().join("data/files")
}

/// Files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Waits until the folder of contents holds this many files.
pub(crate) async fn until_there_are(server: &Server, count: usize) {
    let folder = folder(server);
    let seen = async {
        while files(&folder).len() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), seen).await;
    assert!(in_time.is_ok(), "{:?}", files(&folder));
}

// Holds invariant 28.
#[tokio::test]
async fn a_file_comes_back_and_its_content_is_kept_once() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let eve = Caller::register(&server, "eve@example.com").await;
    // Larger than every buffer along the way.
    let bytes: Vec<u8> = (0..1_500_000u32).flat_map(u32::to_be_bytes).collect();
    let made = upload(&server, &ann, "numbers.bin", &bytes)
        .await
        .expect(201);
    let file = &made.body;
    assert_eq!(file["name"], "numbers.bin");
    assert_eq!(file["size_bytes"], bytes.len());
    assert_eq!(file["sha256"], sha256(&bytes).to_string());
    assert_eq!(file["media_type"], "application/octet-stream");
    assert_eq!(file["receipt"]["leaf"]["sequence"], file["sequence"]);

    let (parts, read) = content(&server, &ann, ("GET", &id(&made)), &[]).await;
    assert_eq!((parts.status.as_u16(), read == bytes), (200, true));
    assert_eq!(text(&parts, "content-length"), bytes.len().to_string());
    let digest = digest_text(&sha256(&bytes));
    assert_eq!(text(&parts, "content-digest"), digest);
    assert_eq!(text(&parts, "repr-digest"), digest);

    let again = upload(&server, &ann, "other name", &bytes)
        .await
        .expect(201);
    let foreign = upload(&server, &eve, "numbers.bin", &bytes)
        .await
        .expect(201);
    assert_ne!(id(&again), id(&made));
    let kept = files(&folder(&server));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let digits = sha256(&bytes).to_string();
    assert!(kept[0].ends_with(format!("{}/{}", &digits[2..4], &digits[4..])));

    let listed = server
        .get("/files", Some(&ann.token))
        .await
        .expect(200)
        .body;
    let names: Vec<&Value> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["name"])
        .collect();
    assert_eq!(names, ["numbers.bin", "other name"]);
    let path = format!("/files/{}", id(&foreign));
    let own = server.get(&path, Some(&eve.token)).await.expect(200);
    assert_eq!(own.body["sha256"], file["sha256"]);
    for path in [
        path.clone(),
        format!("{path}/content"),
        "/files/fil_x".to_owned(),
    ] {
        server
            .get(&path, Some(&ann.token))
            .await
            .refused(404, "RESOURCE_NOT_FOUND");
        server
            .get(&path, None)
            .await
            .refused(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn an_upload_with_a_key_is_done_once() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let send = |bytes: &'static [u8]| {
        let mut headers = headers(&server, &ann, "a", bytes);
        headers.push(("idempotency-key", "k-1".to_owned()));
        let body = form(&[("name=\"file\"; filename=\"a\"", bytes)]);
        let server = &server;
        async move { post(server, &headers, body).await }
    };
    let first = send(b"content").await.expect(201);
    let again = send(b"content").await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.body, first.body);
    send(b"another").await.refused(422, "IDEMPOTENCY_MISMATCH");
    until_there_are(&server, 1).await;
}

#[tokio::test]
async fn the_client_uploads_and_checks_what_comes_back() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let client = Client::builder(&server.url).connect().await.unwrap();
    let account = client.account(ann.key.clone());
    account.login("ann@example.com", PASSWORD).await.unwrap();
    let bytes = [b"--\r\n\r\n--x--\r\n", &vec![0xff; 300_000][..]].concat();
    let made = account.upload("ä \"1\".bin", &bytes).await.unwrap();
    let file = account.file(made.resource.id).await.unwrap();
    assert_eq!((&file, file.name.as_str()), (&made.resource, "ä \"1\".bin"));
    assert_eq!(account.download(&file).await.unwrap(), bytes);
    let path = files(&folder(&server)).remove(0);
    std::fs::write(path, vec![0; bytes.len()]).unwrap();
    let error = account.download(&file).await.unwrap_err();
    assert!(
        matches!(error, kedge_client::ClientError::Verification(_)),
        "{error}"
    );
}

/// Checks that a part past the end is refused, in both forms of errors.
async fn no_such_part(server: &Server, caller: &Caller, wanted: (&str, &str)) {
    let (parts, read) = content(server, caller, wanted, &[("range", "bytes=10-")]).await;
    assert_eq!(parts.status, 416);
    assert_eq!(text(&parts, "content-range"), "bytes */10");
    let error: Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(error["status"], 416);
    assert_eq!(error["code"], "RANGE_NOT_SATISFIABLE");
    let problem = &[
        ("range", "bytes=10-"),
        ("accept", "application/problem+json"),
    ];
    let (parts, read) = content(server, caller, wanted, problem).await;
    assert_eq!(parts.status, 416);
    assert_eq!(text(&parts, "content-type"), "application/problem+json");
    let problem: Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(problem["status"], 416);
    assert_eq!(problem["title"], "Range Not Satisfiable");
}

#[tokio::test]
async fn parts_of_a_content_and_conditions() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let made = upload(&server, &ann, "a", b"0123456789").await.expect(201);
    let id = id(&made);
    let tag = format!("\"{}\"", &sha256(b"0123456789").to_string()[2..]);
    let wanted = ("GET", id.as_str());

    let (parts, read) = content(&server, &ann, wanted, &[("range", "bytes=2-4")]).await;
    assert_eq!((parts.status.as_u16(), &read[..]), (206, &b"234"[..]));
    assert_eq!(text(&parts, "content-range"), "bytes 2-4/10");
    assert_eq!(text(&parts, "content-length"), "3");
    assert_eq!(text(&parts, "content-digest"), digest_text(&sha256(b"234")));
    assert_eq!(
        text(&parts, "repr-digest"),
        digest_text(&sha256(b"0123456789"))
    );
    assert_eq!(text(&parts, "etag"), tag);
    let (parts, read) = content(
        &server,
        &ann,
        wanted,
        &[("range", "bytes=-4"), ("if-range", &tag)],
    )
    .await;
    assert_eq!((parts.status.as_u16(), &read[..]), (206, &b"6789"[..]));
    let (parts, read) = content(&server, &ann, wanted, &[("range", "bytes=0-")]).await;
    assert_eq!((parts.status.as_u16(), read.len()), (206, 10));
    for whole in [
        &[("range", "bytes=2-4"), ("if-range", "\"other\"")][..],
        &[("range", "bytes=0-1,4-5")],
        &[("range", "bytes=4-2")],
    ] {
        let (parts, read) = content(&server, &ann, ("GET", &id), whole).await;
        assert_eq!((parts.status.as_u16(), read.len()), (200, 10), "{whole:?}");
    }
    no_such_part(&server, &ann, wanted).await;

    let (parts, read) = content(
        &server,
        &ann,
        wanted,
        &[("if-none-match", &tag), ("range", "bytes=10-")],
    )
    .await;
    assert_eq!((parts.status.as_u16(), read.len()), (304, 0));
    assert_eq!(text(&parts, "etag"), tag);
    let (parts, read) = content(&server, &ann, ("HEAD", &id), &[("range", "bytes=2-4")]).await;
    assert_eq!((parts.status.as_u16(), read.len()), (200, 0));
    assert_eq!(text(&parts, "content-length"), "10");

    let path = format!("/files/{id}");
    let described = server.get(&path, Some(&ann.token)).await.expect(200);
    let known = [
        ann.bearer(),
        ("if-none-match", described.header("etag").to_owned()),
    ];
    server.call("GET", &path, &known, "").await.expect(304);
    let empty = upload(&server, &ann, "empty", b"").await.expect(201);
    let empty = empty.body["id"].as_str().unwrap();
    let (parts, read) = content(&server, &ann, ("GET", empty), &[]).await;
    assert_eq!((parts.status.as_u16(), read.len()), (200, 0));
}

// Holds invariant 30.
#[tokio::test]
async fn nothing_of_a_file_runs_and_no_name_leads_astray() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let page = b"<!DOCTYPE html><script>alert(document.cookie)</script>";
    let cases = [
        ("index.html", "index.html"),
        ("ä€ 日本.txt", "%C3%A4%E2%82%AC%20%E6%97%A5%E6%9C%AC.txt"),
        (
            "say \"hi\"; filename=x.exe",
            "say%20%22hi%22%3B%20filename%3Dx.exe",
        ),
        ("../../../etc/passwd", ".._.._.._etc_passwd"),
        ("..\\boot.ini", ".._boot.ini"),
    ];
    for (name, escaped) in cases {
        let made = upload(&server, &ann, name, page).await.expect(201);
        assert_eq!(made.body["name"], name);
        assert_eq!(made.body["media_type"], "text/plain; charset=utf-8");
        let (parts, _) = content(&server, &ann, ("GET", &id(&made)), &[]).await;
        assert_eq!(text(&parts, "content-type"), "text/plain; charset=utf-8");
        assert_eq!(text(&parts, "x-content-type-options"), "nosniff");
        let disposition = format!("attachment; filename*=UTF-8''{escaped}");
        assert_eq!(text(&parts, "content-disposition"), disposition);
        let policy = text(&parts, "content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("sandbox"),
            "{policy}"
        );
    }
    assert_eq!(files(&folder(&server)).len(), 1);

    // Without a part `name`, the name is the filename of the part `file`.
    let signed = headers(&server, &ann, "reported.txt", page);
    let reported = form(&[("name=\"file\"; filename=\"reported.txt\"", page)]);
    let made = post(&server, &signed, reported).await.expect(201);
    assert_eq!(made.body["name"], "reported.txt");
    let long = "x".repeat(256);
    for bad in ["", " ", "a\nb", "a\0b", &long] {
        upload(&server, &ann, bad, page)
            .await
            .refused(400, "VALIDATION_ERROR");
    }
}

/// Sends forms that are no uploads, each signed rightly.
async fn wrong_forms(server: &Server, ann: &Caller, [named, file]: [Part<'_>; 2]) {
    let signed = || headers(server, ann, "a.txt", file.1);
    for (parts, pointer) in [
        (&[named][..], "/file"),
        (&[file], "/name"),
        (&[named, file, named], "/name"),
        (&[named, file, file], "/file"),
        (&[named, ("name=\"more\"", b""), file], "/more"),
    ] {
        let answer = post(server, &signed(), form(parts)).await;
        answer.refused(400, "VALIDATION_ERROR");
        assert_eq!(answer.body["body"]["errors"][0]["pointer"], pointer);
    }
    let cut = form(&[named, file])[..120].to_vec();
    post(server, &signed(), cut)
        .await
        .refused(400, "VALIDATION_ERROR");
    let heads = form(&[
        named,
        (&format!("name=\"{}\"", "x".repeat(60_000)), b""),
        file,
    ]);
    post(server, &signed(), heads)
        .await
        .refused(400, "VALIDATION_ERROR");
}

// Holds invariant 29.
#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let before = server.sequence().await;
    let (name, bytes) = ("a.txt", &b"some text"[..]);
    let named: Part<'_> = ("name=\"name\"", name.as_bytes());
    let file: Part<'_> = ("name=\"file\"", bytes);
    let whole = || form(&[named, file]);
    let signed = || headers(&server, &ann, name, bytes);

    // Another content than the signed one: the answer states what was received.
    let other = form(&[named, ("name=\"file\"", b"other text")]);
    let answer = post(&server, &signed(), other).await;
    answer.refused(401, "SIGNATURE_INVALID");
    let message = answer.body["body"]["message"].as_str().unwrap();
    assert!(
        message.contains(&digest_text(&sha256(b"other text"))),
        "{message}"
    );
    let renamed = form(&[("name=\"name\"", b"b.txt"), file]);
    post(&server, &signed(), renamed)
        .await
        .refused(401, "SIGNATURE_INVALID");
    // Content-Digest covers the whole body.
    let mut digested = signed();
    digested.push(("content-digest", digest_text(&sha256(bytes))));
    post(&server, &digested, whole())
        .await
        .refused(400, "VALIDATION_ERROR");

    wrong_forms(&server, &ann, [named, file]).await;
    let mut json = signed();
    json.last_mut().unwrap().1 = "application/json".to_owned();
    post(&server, &json, whole())
        .await
        .refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let unsigned = [ann.bearer(), ("content-type", FORM.to_owned())];
    post(&server, &unsigned, whole())
        .await
        .refused(401, "SIGNATURE_REQUIRED");
    // Bob's key signs with Ann's token.
    let mut foreign = headers(&server, &bob, name, bytes);
    let bearer = foreign
        .iter_mut()
        .find(|(name, _)| *name == "authorization")
        .unwrap();
    *bearer = ann.bearer();
    post(&server, &foreign, whole())
        .await
        .refused(403, "FORBIDDEN");

    assert_eq!(server.sequence().await, before);
    until_there_are(&server, 0).await;

    let mut digested = headers(&server, &bob, name, bytes);
    digested.push(("content-digest", digest_text(&sha256(&whole()))));
    post(&server, &digested, whole()).await.expect(201);
}

#[tokio::test]
async fn what_is_too_large_or_past_the_quota_is_refused() {
    let options = ["file_bytes_max=100000", "file_quota_bytes=150000"];
    let server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let before = server.sequence().await;
    let large = vec![b'x'; 100_001];
    upload(&server, &ann, "too large", &large)
        .await
        .refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(server.sequence().await, before);
    until_there_are(&server, 0).await;

    upload(&server, &ann, "most", &large[1..]).await.expect(201);
    let answer = upload(&server, &ann, "too many", &large[..60_000]).await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    let message = answer.body["body"]["message"].as_str().unwrap();
    assert!(
        message.contains("150000") && message.contains("in use"),
        "{message}"
    );
    // A refusal releases its part of the quota; another organization has a separate one.
    upload(&server, &ann, "fits", &large[..50_000])
        .await
        .expect(201);
    upload(&server, &bob, "own", &large[..60_000])
        .await
        .expect(201);
    until_there_are(&server, 3).await;
}
