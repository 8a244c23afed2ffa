//! Passwords: Argon2id with the crate's defaults (19 MiB, two passes), on separate threads, a bounded number at a time.

use std::collections::HashSet;
use std::sync::Arc;

use kedge_protocol::limits::{NAME_CHARS_MAX, PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};

use crate::error::{ApiError, ApiResult};
use crate::limits::ClientAddress;
use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use unicode_normalization::UnicodeNormalization as _;

use super::hashing_queue::HashingQueue;

#[derive(Clone)]
pub struct PasswordChecker {
    turns: HashingQueue,
    /// A hash that matches no password, so that an unknown e-mail address takes as long as a known one.
    nobody: Arc<str>,
}

#[derive(Debug, thiserror::Error)]
#[error("hashing a password: {0}")]
pub struct PasswordError(String);

fn hash(password: &[u8]) -> Result<String, PasswordError> {
    Argon2::default()
        .hash_password(password)
        .map(|hash| hash.to_string())
        .map_err(|error| PasswordError(error.to_string()))
}

/// The normal form (NFKC) of a password that can be typed in several ways (NIST SP 800-63B, 3.1.1.2).
fn normal(password: &str) -> String {
    password.nfkc().collect()
}

/// Bytes of the longest name that a password is compared with: a full nickname in the widest characters.
const NAME_BYTES_MAX: usize = 4 * NAME_CHARS_MAX;
/// Words of the passwords guessed first, including words of this service.
const GUESSED_WORDS: &[&str] = &[
    "password",
    "passwort",
    "passwd",
    "letmein",
    "welcome",
    "iloveyou",
    "trustno",
    "changeme",
    "changeit",
    "default",
    "secret",
    "admin",
    "administrator",
    "login",
    "qwertyuiop",
    "qwerty",
    "qwertz",
    "azerty",
    "asdfghjkl",
    "asdfgh",
    "zxcvbnm",
    "yxcvbnm",
    "qazwsxedc",
    "abcdefghijklm",
    "abcdef",
    "abc",
    "nopqrstuvwxyz",
    "dragon",
    "monkey",
    "football",
    "baseball",
    "sunshine",
    "princess",
    "superman",
    "batman",
    "master",
    "shadow",
    "summer",
    "winter",
    "spring",
    "autumn",
    "whatever",
    "hello",
    "test",
    "user",
    "root",
    "kedge",
    "wallet",
    "digitalobjectservice",
];
/// Different letters that must remain once the guessed words are removed.
const LEFT_LETTERS_MIN: usize = 4;

/// True for passwords made only of commonly guessed words, the caller's names, digits and repetitions (NIST SP 800-63B,
/// 3.1.1.2: the block list).
fn is_guessed<'a>(password: &str, names: impl IntoIterator<Item = &'a str>) -> bool {
    let letters = |text: &str| -> String {
        let lower = text.to_lowercase();
        lower.chars().filter(|c| c.is_alphabetic()).collect()
    };
    let mut words: Vec<String> = GUESSED_WORDS
        .iter()
        .map(|word| (*word).to_owned())
        .collect();
    for name in names {
        words.push(letters(name));
        words.extend(name.split(['@', '.', '-', '_', '+', ' ']).map(letters));
    }
    words.retain(|word| word.chars().count() > 2);
    // Longest first: removing a shorter word inside a longer one would leave the rest of it.
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut left = letters(password);
    for word in &words {
        left = left.replace(word.as_str(), "");
    }
    let different: HashSet<char> = left.chars().collect();
    different.len() < LEFT_LETTERS_MIN && !is_random(password)
}

/// Different pairs of neighbouring digits that make a password random: more than a telephone number and a date have.
const RANDOM_PAIRS_MIN: usize = 8;
/// Different pairs plus different characters that make a password random.
const RANDOM_PARTS_MIN: usize = 11;

/// True for a password without words that has many unordered digits or many different characters: hexadecimal from a
/// password manager may have few letters.
fn is_random(password: &str) -> bool {
    let signs: HashSet<char> = password.chars().filter(|c| !c.is_alphanumeric()).collect();
    let digits = || password.bytes().filter(u8::is_ascii_digit);
    let pairs = digits().zip(digits().skip(1));
    // Neither repeated nor counted up or down.
    let pairs: HashSet<(u8, u8)> = pairs
        .filter(|(one, next)| one.abs_diff(*next) > 1)
        .collect();
    pairs.len() >= RANDOM_PAIRS_MIN || pairs.len() + signs.len() >= RANDOM_PARTS_MIN
}

fn wrong(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::field("/password", code, message)
}

/// Checks a new password's length (NIST SP 800-63B, 3.1.1.2): first its bytes, before any other work, then the
/// characters of its normal form.
pub fn check_length(password: &str) -> ApiResult<()> {
    if password.len() > PASSWORD_BYTES_MAX {
        let message = format!("must have at most {PASSWORD_BYTES_MAX} bytes");
        return Err(wrong("range", message));
    }
    if normal(password).chars().count() < PASSWORD_CHARS_MIN {
        let message = format!("must have at least {PASSWORD_CHARS_MIN} characters");
        return Err(wrong("range", message));
    }
    Ok(())
}

/// Checks that a new password is not commonly guessed (NIST SP 800-63B, 3.1.1.2: a block list, no composition rules).
/// `names` are the caller's e-mail address and nickname. Slower than a signature check, so it comes after that.
pub fn check_guessed<'a>(
    password: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> ApiResult<()> {
    // The rules refuse longer names with their own error.
    let names = names
        .into_iter()
        .filter(|name| name.len() <= NAME_BYTES_MAX);
    if is_guessed(password, names) {
        let message = "is made of words that are guessed first; use some unrelated words, or let a \
                       password manager make one";
        return Err(wrong("guessed", message));
    }
    Ok(())
}

impl PasswordChecker {
    /// `at_once` bounds the concurrent hashes.
    pub fn new(at_once: usize) -> Result<Self, PasswordError> {
        Ok(Self {
            turns: HashingQueue::new(at_once),
            nobody: hash(b"nobody's password")?.into(),
        })
    }

    /// Runs work on a separate thread when it is the address's turn.
    async fn in_turn<T, F>(&self, address: ClientAddress, work: F) -> ApiResult<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let turn = self.turns.turn(address).await?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|error| ApiError::internal(&error))
    }

    /// The PHC string of a new password.
    pub async fn hash(&self, address: ClientAddress, password: String) -> ApiResult<String> {
        let work = move || hash(normal(&password).as_bytes());
        self.in_turn(address, work)
            .await?
            .map_err(|error| ApiError::internal(&error))
    }

    /// Verifies a password; a hash of `None` takes the same time and is never true.
    pub async fn verify(
        &self,
        address: ClientAddress,
        password: String,
        phc: Option<String>,
    ) -> ApiResult<bool> {
        let known = phc.is_some();
        let phc = phc.unwrap_or_else(|| self.nobody.to_string());
        let verify = move || {
            // A password longer than allowed is wrong, and not worth hashing.
            let password = if password.len() > PASSWORD_BYTES_MAX {
                String::new()
            } else {
                normal(&password)
            };
            Argon2::default().verify_password(password.as_bytes(), phc.as_str())
        };
        Ok(self.in_turn(address, verify).await?.is_ok() && known)
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[tokio::test]
    async fn only_the_right_password_passes() {
        let passwords = PasswordChecker::new(1).unwrap();
        let address = ClientAddress::from(std::net::IpAddr::from([192, 0, 2, 1]));
        let phc = passwords.hash(address, "correct horse battery".into());
        let phc = phc.await.unwrap();
        assert!(phc.starts_with("$argon2id$"));
        let verify = |password: &str, phc| passwords.verify(address, password.to_owned(), phc);
        assert!(
            verify("correct horse battery", Some(phc.clone()))
                .await
                .unwrap()
        );
        assert!(
            verify("ｃorrect horse battery", Some(phc.clone()))
                .await
                .unwrap(),
            "another spelling of the same text"
        );
        assert!(!verify("correct horse batterx", Some(phc)).await.unwrap());
        assert!(!verify("nobody's password", None).await.unwrap());
    }

    #[test]
    fn length_is_checked_in_characters() {
        assert!(check_length("äöüßäöüßäöüßäö").is_err());
        assert!(check_length("äöüßäöüßäöüßäöü").is_ok());
        let longest = "four".repeat(PASSWORD_BYTES_MAX / 4);
        assert!(check_length(&longest).is_ok());
        assert!(check_length(&format!("{longest}x")).is_err());
    }

    // Holds invariant 116.
    #[test]
    fn a_text_that_is_too_long_is_refused_before_it_is_worked_on() {
        // NFKC makes U+FDFA eighteen times as long.
        let long = "\u{fdfa}".repeat(5 << 20);
        let begun = std::time::Instant::now();
        assert!(check_length(&long).is_err());
        let good = "correct horse battery";
        assert!(check_guessed(good, [long.as_str()]).is_ok());
        assert!(begun.elapsed() < std::time::Duration::from_millis(100));
    }

    #[test]
    fn what_is_guessed_first_is_refused() {
        let names = ["ann.miller@example.com", "Annie"];
        for bad in [
            "passwordpassword",
            "Password123456789",
            "123456789012345",
            "aaaaaaaaaaaaaaaa",
            "qwertyuiop123456",
            "Kedge-Wallet-2026!",
            "AnnMiller1990-1990",
            "annie annie annie 1",
            "example-miller-2026",
            "1111111111111 7777",
            "annie 0171 2345678 24.12.1990",
            "12345678900987654321",
            "a1b2c3d4e5f6g7h8",
        ] {
            assert!(check_guessed(bad, names).is_err(), "{bad}");
        }
        for good in [
            "correct horse battery",
            "my password is a river",
            "ann miller rides a bike",
            "7f3a 9c21 e04b 55d8",
            "08-15!47/11=$%&(23",
            "80719a5028b617390518a27b49605b13",
        ] {
            assert!(check_guessed(good, names).is_ok(), "{good}");
        }
    }

    /// 16 random bytes in hexadecimal, as password managers make them: one in forty has few different letters. One in
    /// 30,000 is still refused.
    #[test]
    fn random_hexadecimal_is_not_guessed() {
        let names = ["demo@example.com", "abc"];
        for number in 0..5_000_u32 {
            let bytes = Sha256::digest(number.to_be_bytes());
            let password = const_hex::encode(&bytes[..16]);
            assert!(check_guessed(&password, names).is_ok(), "{password}");
        }
    }
}
