//! E-mail addresses: their one form, and what is taken for one.

use kedge_protocol::limits::EMAIL_BYTES_MAX;

/// The e-mail address in the one form in which it is stored and looked up.
pub fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// A practical check: one @, a local part, a dotted or single-label host of letters, digits and hyphens. The text does
/// not show whether mail arrives.
pub(crate) fn is_email(email: &str) -> bool {
    let Some((local, host)) = email.rsplit_once('@') else {
        return false;
    };
    let local_fits = !local.is_empty()
        && local.len() <= 64
        && !local.contains('@')
        && local.chars().all(|c| !c.is_whitespace() && !c.is_control());
    let label_fits = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    email.len() <= EMAIL_BYTES_MAX && local_fits && host.split('.').all(label_fits)
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn email_forms() {
        for good in ["a@b", "ann.lee+x@example.com", "ü@bücher.example"] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "", "a", "@b", "a@", "a@b@c", "a b@c", "a@-b", "a@b..c", "a@b c",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
