//! Tests of the console's answers, with and without a built console.

use hyper::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};

use super::*;

fn made_of(files: &[(&str, &'static str)]) -> ConsoleFiles {
    let file = |(name, media_type): &(&str, &'static str)| {
        let coded = [("br", Bytes::from("compressed"))];
        let fixed = FixedBody::with_forms(media_type, Bytes::from("plain"), coded);
        ((*name).to_owned(), fixed)
    };
    ConsoleFiles {
        is_on: true,
        files: files.iter().map(file).collect(),
    }
}

fn get(console: &ConsoleFiles, path: &str) -> ApiResult<HttpReply> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, "gzip, br".parse().unwrap());
    console.answer(&Method::GET, path, &headers, 7)
}

#[test]
fn its_paths_are_its_own() {
    for path in ["/console", "/console/", "/console/assets/a.js"] {
        assert!(covers(path), "{path}");
    }
    for path in ["/", "/consoles", "/v2/console", "/objects"] {
        assert!(!covers(path), "{path}");
    }
}

// Holds invariant 171.
#[test]
fn the_page_is_asked_for_again_and_hashed_files_are_kept() {
    let console = made_of(&[
        ("index.html", "text/html"),
        ("assets/a-1.js", "text/javascript"),
    ]);
    for path in ["/console", "/console/", "/console/index.html"] {
        let page = get(&console, path).unwrap();
        assert_eq!(page.headers[CACHE_CONTROL], "no-cache", "{path}");
        assert_eq!(page.headers[CONTENT_TYPE], "text/html");
        assert_eq!(page.headers[CONTENT_ENCODING], "br");
        let policy = page.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    let script = get(&console, "/console/assets/a-1.js").unwrap();
    assert_eq!(script.headers[CACHE_CONTROL], IMMUTABLE);
}

#[test]
fn other_paths_and_methods_are_refused() {
    let console = made_of(&[("index.html", "text/html")]);
    for path in ["/console/nothing", "/console/../keys", "/console/assets/"] {
        assert_eq!(
            get(&console, path).unwrap_err().code,
            Code::ResourceNotFound,
            "{path}"
        );
    }
    let posted = console.answer(&Method::POST, "/console", &HeaderMap::new(), 7);
    assert_eq!(posted.unwrap_err().code, Code::MethodNotAllowed);
}

#[test]
fn a_program_without_it_says_how_to_get_it() {
    let console = made_of(&[]);
    let error = get(&console, "/console").unwrap_err();
    assert_eq!(error.code, Code::ResourceNotFound);
    assert!(error.message.contains("make run"), "{}", error.message);
    let off = ConsoleFiles {
        is_on: false,
        ..made_of(&[("index.html", "text/html")])
    };
    assert!(
        !get(&off, "/console")
            .unwrap_err()
            .message
            .contains("make run")
    );
}

#[test]
fn the_start_says_where_it_is_or_why_not() {
    assert_eq!(announced(true, true, "http://x"), "http://x/console");
    for (is_on, is_built) in [(true, false), (false, true), (false, false)] {
        let text = announced(is_on, is_built, "http://x");
        assert!(text.starts_with("without console: "), "{text}");
    }
}
