//! E-mail addresses: validation and normal form.

use kedge_protocol::limits::EMAIL_BYTES_MAX;

/// The form in which an e-mail address is stored and looked up.
pub fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// A practical check: one @, a local part, a dotted or single-label host of letters, digits and hyphens. It does not
/// show whether mail arrives.
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
    use super::{is_email, normal_email};

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

    #[test]
    fn parts_of_an_email_address_have_their_bounds() {
        let local = |bytes: usize| format!("{}@b", "a".repeat(bytes));
        let label = |bytes: usize| format!("a@c.{}.d", "b".repeat(bytes));
        // An address of a given length, from labels of 60 bytes.
        let whole = |bytes: usize| {
            let start = format!("a@{}", format!("{}.", "b".repeat(59)).repeat(4));
            format!("{start}{}", "c".repeat(bytes - start.len()))
        };
        for good in [
            local(64),
            label(63),
            whole(254),
            "a@b-c.d1".to_owned(),
            "a@1".to_owned(),
        ] {
            assert!(is_email(&good), "{good}");
        }
        for bad in [
            local(65),
            local(66),
            label(64),
            label(65),
            whole(255),
            whole(256),
            "a\u{1}@b".to_owned(),
            "a\u{a0}@b".to_owned(),
            "a@b-".to_owned(),
            "a@-".to_owned(),
            "a@b_c".to_owned(),
            "a@.b".to_owned(),
            "a@b.".to_owned(),
        ] {
            assert!(!is_email(&bad), "{bad}");
        }
        assert_eq!(normal_email(" Ä.B@Example.COM\n"), "ä.b@example.com");
    }
}
