//! Compressed answers: who gets them, their tags, and conditions through proxies that compress.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::Full;
use hyper::Request;
use hyper::http::response::Parts;
use serde_json::{Value, json};

use super::compressor::{Compressor, Tags};
use crate::harness::{Answer, Caller, PASSWORD, Server, Signed, signature};
use crate::resources::files;

/// Gets a path with these headers in addition to the caller's token.
async fn read(
    server: &Server,
    caller: &Caller,
    (method, path): (&str, &str),
    more: &[(&str, &str)],
) -> (Parts, Bytes) {
    let (name, bearer) = caller.bearer();
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url))
        .header(name, bearer);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    server.fetch(request.body(Full::default()).unwrap()).await
}

fn text<'a>(parts: &'a Parts, name: &str) -> &'a str {
    let value = parts.headers.get(name);
    value.map_or("", |value| value.to_str().unwrap())
}

fn decoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut read = Vec::new();
    match coding {
        "zstd" => read = zstd::decode_all(bytes).unwrap(),
        "gzip" => {
            GzDecoder::new(bytes).read_to_end(&mut read).unwrap();
        }
        other => panic!("{other:?}"),
    }
    read
}

/// Makes a template and 60 objects in one batch; returns the ids of the template and of the first object.
async fn filled(server: &Server, ann: &Caller) -> (String, String) {
    let template_id = ann.new_template(server, "ticket").await;
    let object_id = ann.new_object(server, &template_id).await;
    let mint: Signed<'_> = ("mint", &template_id, "{}");
    ann.bus(server, &[mint; 60], false).await.expect(200);
    (template_id, object_id)
}

/// Checks that a large answer comes in every coding, each with a tag, and that conditions accept any of these tags.
async fn comes_in_every_form(server: &Server, ann: &Caller, path: &str) {
    let get = ("GET", path);
    let (plain, whole) = read(server, ann, get, &[]).await;
    assert_eq!(plain.status, 200, "{path}");
    assert!(whole.len() > 1024, "{path}: {}", whole.len());
    assert_eq!(text(&plain, "content-encoding"), "", "{path}");
    assert_eq!(text(&plain, "vary"), "Accept-Encoding", "{path}");
    let tag = text(&plain, "etag").to_owned();
    for coding in ["gzip", "zstd"] {
        let accepted = [("accept-encoding", coding)];
        let (parts, bytes) = read(server, ann, get, &accepted).await;
        assert_eq!(text(&parts, "content-encoding"), coding, "{path}");
        assert_eq!(text(&parts, "vary"), "Accept-Encoding", "{path}");
        assert_eq!(decoded(coding, &bytes), whole, "{path}");
        assert!(
            bytes.len() * 10 < whole.len() * 9,
            "{path}: {}",
            bytes.len()
        );
        let (head, nothing) = read(server, ann, ("HEAD", path), &accepted).await;
        assert!(nothing.is_empty());
        for name in ["content-encoding", "content-length", "etag", "vary"] {
            assert_eq!(text(&head, name), text(&parts, name), "{path}: {name}");
        }
        if tag.is_empty() {
            continue;
        }
        let coded = format!("{}-{coding}\"", tag.strip_suffix('"').unwrap());
        assert_eq!(text(&parts, "etag"), coded, "{path}");
        let weak = format!("W/{tag}");
        for known in [tag.as_str(), &coded, &weak] {
            let more = [("accept-encoding", coding), ("if-none-match", known)];
            let (parts, bytes) = read(server, ann, get, &more).await;
            assert_eq!((parts.status.as_u16(), bytes.len()), (304, 0), "{path}");
            assert_eq!(text(&parts, "etag"), coded, "{path}");
            assert_eq!(text(&parts, "vary"), "Accept-Encoding", "{path}");
            assert_eq!(text(&parts, "content-encoding"), "", "{path}");
        }
        let (same, _) = read(server, ann, get, &[("if-none-match", coded.as_str())]).await;
        assert_eq!(same.status, 304, "{path}");
        assert_eq!(text(&same, "etag"), tag, "{path}");
    }
}

// Holds invariant 228.
#[tokio::test]
async fn every_large_answer_is_compressed_for_who_accepts_it() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let (template_id, object_id) = filled(&server, &ann).await;
    let sequence = server.sequence().await;
    for path in [
        "/objects".to_owned(),
        format!("/objects?template_id={template_id}&limit=1000"),
        "/ebus/actions".to_owned(),
        "/ebus/events".to_owned(),
        format!("/ebus/actions/{sequence}/proof"),
        "/batches".to_owned(),
        "/batches/3/leaves".to_owned(),
        "/batches/3/actions".to_owned(),
    ] {
        comes_in_every_form(&server, &ann, &path).await;
    }
    let (small, _) = read(
        &server,
        &ann,
        ("GET", &format!("/objects/{object_id}")),
        &[("accept-encoding", "gzip")],
    )
    .await;
    assert_eq!(text(&small, "content-encoding"), "");
    assert_eq!(text(&small, "vary"), "");
    // A caller that refuses plain bytes gets none; one that accepts only these gets them.
    for (accepted, coding) in [
        ("identity;q=0, gzip", "gzip"),
        ("*;q=0, zstd;q=0.001", "zstd"),
        ("identity, gzip;q=0", ""),
        ("br", ""),
    ] {
        let path = ("GET", "/version");
        let (parts, _) = read(&server, &ann, path, &[("accept-encoding", accepted)]).await;
        assert_eq!(text(&parts, "content-encoding"), coding, "{accepted}");
    }
}

// Holds invariant 228.
#[tokio::test]
async fn an_export_is_compressed_while_it_is_written() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    filled(&server, &ann).await;
    server.newest_checkpoint().await;
    let export = ("GET", "/export");
    let (_, whole) = read(&server, &ann, export, &[]).await;
    let lines = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().lines().count();
    for coding in ["gzip", "zstd"] {
        let accepted = [("accept-encoding", coding)];
        let (parts, bytes) = read(&server, &ann, export, &accepted).await;
        assert_eq!(text(&parts, "content-encoding"), coding);
        assert_eq!(text(&parts, "vary"), "Accept-Encoding");
        let read_again = decoded(coding, &bytes);
        assert_eq!(lines(&read_again), lines(&whole));
        assert!(bytes.len() * 2 < whole.len(), "{}", bytes.len());
        let (head, _) = read(&server, &ann, ("HEAD", "/export"), &accepted).await;
        assert_eq!(text(&head, "content-encoding"), coding);
    }
}

// Holds invariant 228.
/// Secrets next to chosen text, contents of files, and event streams are not compressed.
#[tokio::test]
async fn secrets_files_and_streams_are_sent_as_they_are() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let accepted = ("accept-encoding", "gzip, zstd, identity;q=0".to_owned());
    let login = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
    let headers = std::slice::from_ref(&accepted);
    let answer = server.call("POST", "/wallets/login", headers, &login);
    let answer = answer.await.expect(200);
    assert_eq!(answer.header("content-encoding"), "");
    let right = json!({ "resource": "objects", "crud": { "read": true } });
    let body = json!({ "name": "k".repeat(60), "permissions": [right] }).to_string();
    let credentials = [ann.bearer(), accepted.clone()];
    let signed = ("key.create", "", body.as_str());
    let request = ("POST", "/api-keys");
    let answer = ann.change_as(&server, request, signed, &body, &credentials);
    let answer = answer.await;
    assert_eq!(answer.header("content-encoding"), "", "{}", answer.body);
    assert!(answer.expect(201).body["key"].is_string());

    let content = "the same line again\n".repeat(500);
    let made = files::upload(&server, &ann, "a.txt", content.as_bytes()).await;
    let id = files::id(&made.expect(201));
    for (range, status) in [(None, 200), (Some("bytes=5-4000"), 206)] {
        let mut more = vec![("accept-encoding", accepted.1.as_str())];
        more.extend(range.map(|range| ("range", range)));
        let (parts, bytes) = files::content(&server, &ann, ("GET", &id), &more).await;
        assert_eq!(parts.status.as_u16(), status);
        assert_eq!(text(&parts, "content-encoding"), "");
        assert!(
            content
                .as_bytes()
                .windows(bytes.len())
                .any(|part| part == bytes)
        );
    }

    let (name, bearer) = ann.bearer();
    let stream = Request::get(format!("{}/ebus/events/stream", server.url))
        .header(name, bearer)
        .header("accept-encoding", "gzip");
    let stream = server.http.request(stream.body(Full::default()).unwrap());
    let stream = stream.await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(!stream.headers().contains_key("content-encoding"));
}

/// Sends a PATCH of an object to `url` under a condition.
async fn patched(
    server: &Server,
    (url, ann): (&str, &Caller),
    object_id: &str,
    (number, condition): (u64, &str),
) -> Answer {
    let body = format!(r#"{{"properties":{{"n":{number}}}}}"#);
    let terms = ann.terms(server);
    let mut headers = signature(&ann.key, &terms, &[("update", object_id, &body)]);
    headers.push(ann.bearer());
    headers.push(("content-type", "application/json".to_owned()));
    headers.push(("if-match", condition.to_owned()));
    let mut request = Request::patch(format!("{url}/objects/{object_id}"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(body));
    server.send(request.body(body).unwrap()).await
}

/// An object whose answer is large.
async fn large_object(server: &Server, ann: &Caller) -> String {
    let template_id = ann.new_template(server, "ticket").await;
    let text = "seat ".repeat(600);
    let body = json!({ "template_id": template_id, "properties": { "text": text } });
    let made = ann.mint(server, &body).await.expect(201);
    made.body["id"].as_str().unwrap().to_owned()
}

// Holds invariant 228.
#[tokio::test]
async fn a_change_accepts_the_tag_of_every_form() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let object_id = large_object(&server, &ann).await;
    let path = format!("/objects/{object_id}");
    let url = server.url.as_str();
    for (number, coding) in [(1, "gzip"), (2, "zstd"), (3, "identity")] {
        let more = [("accept-encoding", coding)];
        let (parts, _) = read(&server, &ann, ("GET", &path), &more).await;
        let tag = text(&parts, "etag");
        let to = (url, &ann);
        let done = patched(&server, to, &object_id, (number, tag)).await;
        done.expect(200);
        let late = patched(&server, to, &object_id, (number, tag)).await;
        late.refused(412, "PRECONDITION_FAILED");
    }
}

// Holds invariant 228.
/// Conditions through proxies that compress.
#[tokio::test]
async fn conditions_hold_behind_proxies_that_compress() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let object_id = large_object(&server, &ann).await;
    let path = format!("/objects/{object_id}");
    for (number, tags) in [(1, Tags::Weakened), (2, Tags::Ending), (3, Tags::PassedOn)] {
        let proxy = Compressor::before(server.url.clone(), tags).await;
        let get = async |more: &[(&str, &str)]| {
            let (name, bearer) = ann.bearer();
            let mut request = Request::get(format!("{}{path}", proxy.url()));
            request = request
                .header(name, bearer)
                .header("accept-encoding", "gzip");
            for (name, value) in more {
                request = request.header(*name, *value);
            }
            server.fetch(request.body(Full::default()).unwrap()).await
        };
        let (parts, bytes) = get(&[]).await;
        assert_eq!(text(&parts, "content-encoding"), "gzip", "{tags:?}");
        let object: Value = serde_json::from_slice(&decoded("gzip", &bytes)).unwrap();
        assert_eq!(object["id"], object_id.as_str());
        let tag = text(&parts, "etag");
        assert_eq!(tag.starts_with("W/"), tags == Tags::Weakened, "{tag}");
        let (known, nothing) = get(&[("if-none-match", tag)]).await;
        assert_eq!((known.status.as_u16(), nothing.len()), (304, 0), "{tags:?}");
        let to = (proxy.url(), &ann);
        let changed = patched(&server, to, &object_id, (number, tag)).await;
        if tags == Tags::Weakened {
            // A weak tag never matches (RFC 9110, 13.1.1), and the refusal says whose tag it is.
            changed.refused(412, "PRECONDITION_FAILED");
            let message = changed.body["body"]["message"].as_str().unwrap();
            assert!(message.contains("proxy"), "{message}");
        } else {
            changed.expect(200);
        }
    }
}
