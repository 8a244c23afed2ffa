//! Mutated multipart bodies on a real server: each is answered, never with a server error; an accepted one is the
//! signed file; and no partial upload stays behind.

use std::path::Path;

use hyper::header::HeaderValue;
use kedge_fuzz::FuzzTarget;
use kedge_protocol::hash::sha256;
use tokio::runtime::Handle;

use super::files::{FORM, Part, files, folder, form, headers, post};
use crate::harness::{Caller, Server};

const NAME: &str = "a.txt";
const BYTES: &[u8] = b"signed";

/// The first line is the content type, the rest the body.
fn seed(content_type: &str, parts: &[Part<'_>]) -> Vec<u8> {
    let mut input = format!("{content_type}\n").into_bytes();
    input.extend_from_slice(&form(parts));
    input
}

async fn outcome(server: &Server, caller: &Caller, input: &[u8]) -> String {
    let end = input.iter().position(|byte| *byte == b'\n');
    let (content_type, body) = input.split_at(end.map_or(input.len(), |end| end + 1));
    let Ok(content_type) = HeaderValue::from_bytes(content_type.trim_ascii()) else {
        return "no header".to_owned();
    };
    let Ok(content_type) = content_type.to_str() else {
        return "no text".to_owned();
    };
    let mut signed = headers(server, caller, NAME, BYTES);
    signed.retain(|(name, _)| *name != "content-type");
    signed.push(("content-type", content_type.to_owned()));
    let answer = post(server, &signed, body.to_vec()).await;
    if answer.status == 201 {
        assert_eq!(answer.body["name"], NAME);
        assert_eq!(answer.body["size_bytes"], BYTES.len());
        assert_eq!(answer.body["sha256"], sha256(BYTES).to_string());
        return "made".to_owned();
    }
    assert!((400..500).contains(&answer.status), "{}", answer.body);
    let message = answer.body["message"].as_str().unwrap_or_default();
    format!("{} {message}", answer.code())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_forms_are_refused_or_are_what_was_signed() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let name: Part<'_> = ("name=\"name\"", NAME.as_bytes());
    let file: Part<'_> = ("name=\"file\"", BYTES);
    let seeds = [
        seed(FORM, &[name, file]),
        seed(FORM, &[file, name]),
        seed(
            FORM,
            &[name, ("name=\"file\"; filename=\"b.txt\"", BYTES), name],
        ),
        seed(FORM, &[name]),
        seed(
            "multipart/form-data; boundary=\"a-boundary\"",
            &[name, file],
        ),
    ];
    let first = outcome(&server, &ann, &seeds[0]).await;
    assert_eq!(first, "made", "the form to begin with");
    let words = [
        "--a-boundary",
        "--a-boundary--",
        "\r\n",
        "\r\n\r\n",
        "name=\"file\"",
        "filename*=UTF-8''%e4",
        "boundary=",
        "; ",
        "Content-Type: ",
        "Content-Transfer-Encoding: base64\r\n",
        "Content-Disposition: form-data; name=\"name\"\r\n",
    ];
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    tokio::task::block_in_place(|| {
        FuzzTarget::new("forms", &cache)
            .seeds(seeds)
            .words(&words)
            .run(|input| Handle::current().block_on(outcome(&server, &ann, input)));
    });
    assert_eq!(files(&folder(&server).join("tmp")).len(), 0);
    assert_eq!(files(&folder(&server)).len(), 1, "one content, kept once");
}
