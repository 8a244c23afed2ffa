//! Redaction of operator texts for callers: no paths of the operator's machine. The full text is in the server's log
//! and in `kedge admin status`.

/// Replaces every absolute path.
pub fn without_paths(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace);
    words.map(without_path).collect()
}

fn without_path(word: &str) -> String {
    let is_around = |c: char| "\"'`()[]{}<>,;:".contains(c);
    let inner = word.trim_start_matches(is_around);
    let before = &word[..word.len() - inner.len()];
    // A path may follow a name (`at=/var/lib/kedge`, `error:/var/lib/kedge`), but not a URL's scheme.
    let at = inner.find(['=', ':']).filter(|at| {
        let rest = &inner[at + 1..];
        rest.starts_with('/') && !rest.starts_with("//")
    });
    let (named, path) = at.map_or(("", inner), |at| inner.split_at(at + 1));
    let is_path = path.strip_prefix('/').is_some_and(|rest| {
        let mut parts = rest.split('/');
        parts.next().is_some_and(|first| !first.trim().is_empty())
    });
    if !is_path {
        return word.to_owned();
    }
    let end = path.trim_end_matches(|c: char| c.is_whitespace() || c == '.' || is_around(c));
    format!(
        "{before}{named}(a file of the server){}",
        &path[end.len()..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 241.
    #[test]
    fn paths_are_left_out_and_nothing_else() {
        let hidden = [
            "IO error: While open /var/lib/kedge/data/store/000012.sst: No such file",
            "the log in \"/srv/k/log\" ends, see at=/srv/k/log. error:/srv/k",
        ];
        let shown = [
            "IO error: While open (a file of the server): No such file",
            "the log in \"(a file of the server)\" ends, see at=(a file of the server). error:(a file of the server)",
        ];
        assert_eq!(hidden.map(without_paths), shown);
        for same in [
            "read/write is off; see https://example.com/a and docs/operations/running.md",
            "1 / 2 of the disk is full\nrun `kedge rebuild`",
        ] {
            assert_eq!(without_paths(same), same);
        }
    }
}
