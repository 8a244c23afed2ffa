//! Normalization of names in new requests. An e-mail address has one form, so that a lookalike cannot register as
//! another account: PRECIS for the local part (RFC 8265, UsernameCaseMapped), UTS 46 for the domain. Names hold no
//! invisible characters. The rules of the log do not check this, because it holds older names too. Lookalike letters of
//! different scripts stay different.

use std::borrow::Cow;

use icu_properties::CodePointSetData;
use icu_properties::props::{DefaultIgnorableCodePoint, SoftDotted};
use idna::AsciiDenyList;
use idna::uts46::{Hyphens, Uts46};
use kedge_actors::api::{Submission, SubmittedAction};
use kedge_protocol::action::Kind;
use kedge_rules::FieldError;
use kedge_rules::registration::normal_email;
use precis_core::profile::Profile as _;
use precis_profiles::UsernameCaseMapped;
use serde::Deserialize;
use unicode_normalization::char::canonical_combining_class;

use crate::error::{ApiError, ApiResult};

/// Members of payloads that name something.
#[derive(Deserialize, Default)]
struct PayloadNames<'a> {
    #[serde(borrow)]
    email: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    nickname: Option<Cow<'a, str>>,
    #[serde(borrow)]
    organization_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    variations: Option<Vec<NamedVariation<'a>>>,
}

#[derive(Deserialize)]
struct NamedVariation<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

/// The normal form of an e-mail address; `None` if a profile disallows a character. Older accounts log in by it, so it
/// may hold more than a new one may (`is_new`).
pub fn one_form(email: &str) -> Option<String> {
    let (local, domain) = email.trim().rsplit_once('@')?;
    let local = UsernameCaseMapped::new().enforce(local).ok()?;
    let (domain, checked) = Uts46::new().to_unicode(
        domain.as_bytes(),
        AsciiDenyList::STD3,
        Hyphens::CheckFirstLast,
    );
    checked.ok()?;
    let form = format!("{local}@{domain}");
    // The rules have a simpler normal form, which must not change it.
    (normal_email(&form) == form).then_some(form)
}

/// Whether new accounts may have this address: the local part has no ASCII signs but those of a dot-string (RFC 5321,
/// 4.1.2), and no dot above replaces or supplements a letter's own dot.
fn is_new(form: &str) -> bool {
    let is_sign = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    let local = form.trim().rsplit_once('@').map_or("", |(local, _)| local);
    if local.contains(|c| is_sign(c) && !".!#$%&'*+-/=?^_`{|}~".contains(c)) {
        return false;
    }
    let soft_dotted = CodePointSetData::new::<SoftDotted>();
    let mut takes_dot = false;
    !form.chars().any(|c| {
        let hides = takes_dot && c == '\u{307}';
        // Marks that do not stand above the letter change nothing there.
        let is_mark_elsewhere = !matches!(canonical_combining_class(c), 0 | 230);
        let is_dotless = matches!(c, '\u{131}' | '\u{237}');
        takes_dot = soft_dotted.contains(c) || is_dotless || takes_dot && is_mark_elsewhere;
        hides
    })
}

/// Whether the rules' simpler form is the only form of this address.
fn is_plain(email: &str) -> bool {
    email.is_ascii() && !email.to_ascii_lowercase().contains("xn--")
}

fn wrong(pointer: &str, message: impl Into<String>) -> FieldError {
    FieldError {
        pointer: pointer.to_owned(),
        code: "format".into(),
        message: message.into(),
    }
}

fn disallowed() -> FieldError {
    wrong(
        "/email",
        "holds a character that an e-mail address may not have here: a space, a sign or something invisible that makes it \
         look like another one",
    )
}

/// The normal form of a registration's address. Other errors of plain addresses are left to the rules.
pub(super) fn registered(email: String) -> ApiResult<String> {
    let form = if is_plain(&email) {
        Some(email)
    } else {
        one_form(&email)
    };
    let form = form.filter(|form| is_new(form));
    form.ok_or_else(|| ApiError::fields(vec![disallowed()]))
}

/// Checks an address in a signed text, which cannot be changed here.
fn check_email(email: &str, problems: &mut Vec<FieldError>) {
    match one_form(email) {
        _ if is_plain(email) && is_new(email) => {}
        None => problems.push(disallowed()),
        Some(form) if !is_new(&form) => problems.push(disallowed()),
        Some(form) if form != normal_email(email) => {
            let message = format!("must be written in its one form: {form}");
            problems.push(wrong("/email", message));
        }
        Some(_) => {}
    }
}

/// Characters that are blank or break lines, but that Unicode does not list as ignorable.
const EMPTY: [char; 6] = [
    '\u{2028}', '\u{2029}', '\u{2800}', '\u{fff9}', '\u{fffa}', '\u{fffb}',
];

/// Whether a name has an invisible character. Joiners and emoji selectors are parts of words in many scripts, but not
/// of ASCII text.
fn hides_something(name: &str) -> bool {
    let invisible = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let mut previous = 'a';
    name.chars().any(|c| {
        let joins = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        let fits = joins
            && previous != '\u{200c}'
            && previous != '\u{200d}'
            && (!previous.is_ascii() || matches!(previous, '0'..='9' | '#' | '*'));
        previous = c;
        (invisible.contains(c) || EMPTY.contains(&c)) && !fits
    })
}

fn check_name(pointer: &str, name: Option<&str>, problems: &mut Vec<FieldError>) {
    if name.is_some_and(hides_something) {
        let message = "must not hold invisible characters";
        problems.push(wrong(pointer, message));
    }
}

/// Refuses requests with lookalike names or e-mail addresses. Unreadable payloads are left to the rules.
pub fn check(submission: &Submission) -> ApiResult<()> {
    let mut problems = Vec::new();
    let named = submission.actions.iter();
    for action in named.filter(|action| !action.kind.is_bus()) {
        check_action(submission, action, &mut problems);
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ApiError::fields(problems))
    }
}

fn check_action(submission: &Submission, action: &SubmittedAction, problems: &mut Vec<FieldError>) {
    if action.kind == Kind::FileCreate {
        return check_name("/name", Some(submission.text(&action.target)), problems);
    }
    let payload = action.disclosed.as_ref().unwrap_or(&action.payload);
    let named: PayloadNames<'_> =
        serde_json::from_str(submission.text(payload)).unwrap_or_default();
    if let Some(email) = &named.email {
        check_email(email, problems);
    }
    check_name("/name", named.name.as_deref(), problems);
    check_name("/nickname", named.nickname.as_deref(), problems);
    let organization = named.organization_name.as_deref();
    check_name("/organization_name", organization, problems);
    for (index, variation) in named.variations.iter().flatten().enumerate() {
        let pointer = format!("/variations/{index}/name");
        check_name(&pointer, variation.name.as_deref(), problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 221.
    #[test]
    fn an_address_has_one_form() {
        for (given, form) in [
            ("Ann.Lee+x@Example.com", "ann.lee+x@example.com"),
            (" ann@b ", "ann@b"),
            ("u\u{308}@bu\u{308}cher.example", "ü@bücher.example"),
            ("ü@xn--bcher-kva.example", "ü@bücher.example"),
            ("\u{ff41}nn@\u{ff45}xample.com", "ann@example.com"),
            // UTS 46 removes these from a domain, which leaves the plain one.
            ("ann@exam\u{200b}ple.com", "ann@example.com"),
            ("ann@exam\u{ad}ple.com", "ann@example.com"),
            ("ИВАН@пример.рф", "иван@пример.рф"),
        ] {
            assert_eq!(one_form(given).as_deref(), Some(form), "{given:?}");
            assert_eq!(one_form(form).as_deref(), Some(form), "{form:?}");
        }
        for bad in [
            "an\u{200b}n@example.com",
            "ann\u{2010}lee@example.com",
            "ann\u{ad}@example.com",
            "\u{202e}ann@example.com",
            "ann\u{2060}@example.com",
            "an\u{feff}n@example.com",
            "a\u{a0}nn@example.com",
            "ann@exam_ple.com",
            "ann@-example.com",
            "ann",
            "@example.com",
        ] {
            assert_eq!(one_form(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_registrations_address_is_stored_in_its_form() {
        let stored = |given: &str| registered(given.to_owned()).map_err(|error| error.code);
        assert_eq!(stored("Not an address"), Ok("Not an address".to_owned()));
        assert_eq!(
            stored("ann@XN--BCHER-KVA.example"),
            Ok("ann@bücher.example".to_owned())
        );
        assert!(stored("an\u{200b}n@example.com").is_err());
    }

    // Holds invariant 221.
    #[test]
    fn a_new_address_has_no_sign_and_no_dot_that_another_one_lacks() {
        let errors_of_change = |email: &str| {
            let mut problems = Vec::new();
            check_email(email, &mut problems);
            problems.len()
        };
        for good in [
            " Ann.O'Lee+x#1@example.com ",
            "ÿ.{x}|~!$%&*/=?^_`-@example.com",
            "z\u{307}a\u{307}@example.com",
            "i\u{301}i\u{323}ı@example.com",
            "иван@example.com",
        ] {
            assert!(registered(good.to_owned()).is_ok(), "{good:?}");
        }
        for bad in [
            "\"ann\"@example.com",
            "ann(x)@example.com",
            "ann,lee@example.com",
            "ann\\@example.com",
            "a:n;n@example.com",
            "<ann>@example.com",
            "ann[1]@example.com",
            "ü\"ann\"@example.com",
            "ann(x)@b\u{fc}cher.example",
            "f\u{130}l@example.com",
            "fi\u{307}l@example.com",
            "j\u{307}@example.com",
            "i\u{323}\u{307}@example.com",
            "ı\u{307}@example.com",
            "\u{456}\u{307}@example.com",
            "ann@f\u{130}l.example",
        ] {
            assert!(registered(bad.to_owned()).is_err(), "{bad:?}");
            assert_eq!(errors_of_change(bad), 1, "{bad:?}");
        }
        assert_eq!(errors_of_change("o'lee+x@example.com"), 0);
        // Older accounts with such addresses log in by this form.
        let before = "fi\u{307}l@bücher.example";
        let written = "f\u{130}l@xn--bcher-kva.example";
        assert_eq!(one_form(written).as_deref(), Some(before));
        let quoted = one_form("\"Ann\"@example.com");
        assert_eq!(quoted.as_deref(), Some("\"ann\"@example.com"));
    }

    #[test]
    fn a_name_hides_nothing() {
        for good in [
            "Ann & Söhne",
            "نمی\u{200c}دانم",
            "👩\u{200d}💻 at work ❤\u{fe0f}",
            "number 1\u{fe0f}\u{20e3}",
            "क्\u{200d}ष",
        ] {
            assert!(!hides_something(good), "{good:?}");
        }
        for bad in [
            "ad\u{200b}min",
            "ad\u{200d}min",
            "admin\u{200c}",
            "admin\u{fe0f}",
            "\u{202e}nimda",
            "admin\u{2066}",
            "\u{feff}admin",
            "ad\u{ad}min",
            "admin\u{e0041}",
            "admin\u{3164}",
            "\u{2800}",
            "two\u{2028}lines",
            "ö\u{200d}\u{200d}",
        ] {
            assert!(hides_something(bad), "{bad:?}");
        }
    }
}
