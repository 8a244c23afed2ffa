//! Policies (C2SP tlog-policy): which witnesses' cosignatures make a note trustworthy.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{NoteAlgorithm, NoteVerifier, VerifierError};
use super::note::decimal;
use super::trust::OpenedNote;

/// The name of the quorum that needs no cosignature.
const NO_QUORUM: &str = "none";

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A control character other than tab and newline.
    #[error("a policy has no control characters but tab and newline")]
    Characters,
    /// Neither a log, a witness, a group nor a quorum.
    #[error("line {0} is not a line of a policy")]
    Line(usize),
    /// The verifier key of a line.
    #[error("line {line}: {error}")]
    Key {
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        error: VerifierError,
    },
    /// The key's type does not suit a log or a witness.
    #[error("line {0}: the key is not of a log's or of a witness's type")]
    Type(usize),
    /// The key, or its name, was listed before: keys of one name are one witness.
    #[error("line {0} lists a key, or a key's name, again")]
    Again(usize),
    /// A name was defined before, or is `none`.
    #[error("line {0} defines a name again")]
    Name(usize),
    /// A group or the quorum names what no line before it defines, or what is a member already.
    #[error("line {0} names what is unknown, or is a member already")]
    Member(usize),
    /// The threshold of a group is not between 1 and its members' count.
    #[error("line {0}: the threshold is not from 1 to the number of members")]
    Threshold(usize),
    /// No quorum, or two of them.
    #[error("a policy has one quorum line")]
    Quorum,
}

/// What makes a name of the policy count as a witness of a note.
#[derive(Clone, Debug)]
enum PolicyRule {
    /// A cosignature under this name.
    Witness(String),
    /// At least so many of the members, which stand before it.
    Group {
        threshold: usize,
        members: Vec<usize>,
    },
}

/// What a policy asks for.
#[derive(Clone, Copy, Debug)]
enum PolicyQuorum {
    /// No cosignature.
    Nothing,
    /// The rule at this place.
    Rule(usize),
}

/// A policy that was read.
#[derive(Clone, Debug)]
pub struct TlogPolicy {
    logs: Vec<NoteVerifier>,
    witnesses: Vec<NoteVerifier>,
    rules: Vec<PolicyRule>,
    quorum: PolicyQuorum,
}

impl TlogPolicy {
    /// Reads a policy: lines `log <key> [<URL>]`, `witness <name> <key> [<URL>]`, `group <name> <all, any or a number>
    /// <members>`, and one `quorum <name>`. C2SP allows any bytes above 0x7f in names; here the text is UTF-8.
    ///
    /// # Errors
    /// The first line that breaks a rule.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let is_control = |c: char| c.is_ascii_control() && c != '\t' && c != '\n';
        if text.contains(is_control) {
            return Err(PolicyError::Characters);
        }
        let mut reader = PolicyReader::default();
        for (number, line) in (1..).zip(text.split('\n')) {
            let words: Vec<&str> = line.split([' ', '\t']).filter(|w| !w.is_empty()).collect();
            if words.first().is_some_and(|first| !first.starts_with('#')) {
                reader.line(number, &words)?;
            }
        }
        Ok(Self {
            logs: reader.logs,
            witnesses: reader.witnesses,
            rules: reader.rules,
            quorum: reader.quorum.ok_or(PolicyError::Quorum)?,
        })
    }

    /// The keys of the logs; where there are none, the log is known from elsewhere.
    pub fn logs(&self) -> &[NoteVerifier] {
        &self.logs
    }

    /// The keys of the witnesses.
    pub fn witnesses(&self) -> &[NoteVerifier] {
        &self.witnesses
    }

    /// Whether a checked note fulfils the policy: a line of one of the logs, if it lists any, and the quorum. The note
    /// must have been checked with the policy's keys among the known ones.
    pub fn is_met(&self, note: &OpenedNote) -> bool {
        let is_log = |key: &NoteVerifier| {
            let of_key = |line: &super::NoteCosignature| {
                line.name == key.name() && line.key_id == key.key_id()
            };
            key.name() == note.origin.as_str() && note.cosignatures.iter().any(of_key)
        };
        (self.logs.is_empty() || self.logs.iter().any(is_log)) && self.has_quorum(&note.witnesses())
    }

    /// Whether cosignatures under these names are a quorum.
    pub fn has_quorum(&self, names: &BTreeSet<&str>) -> bool {
        let mut met: Vec<bool> = Vec::with_capacity(self.rules.len());
        for rule in &self.rules {
            met.push(match rule {
                PolicyRule::Witness(name) => names.contains(name.as_str()),
                PolicyRule::Group { threshold, members } => {
                    members.iter().filter(|member| met[**member]).count() >= *threshold
                }
            });
        }
        match self.quorum {
            PolicyQuorum::Nothing => true,
            PolicyQuorum::Rule(rule) => met[rule],
        }
    }
}

#[derive(Default)]
struct PolicyReader {
    logs: Vec<NoteVerifier>,
    witnesses: Vec<NoteVerifier>,
    rules: Vec<PolicyRule>,
    /// Places among the rules by name.
    names: BTreeMap<String, usize>,
    members: BTreeSet<usize>,
    quorum: Option<PolicyQuorum>,
}

impl PolicyReader {
    fn line(&mut self, number: usize, words: &[&str]) -> Result<(), PolicyError> {
        match *words {
            ["log", key] | ["log", key, _] => self.log(number, key),
            ["witness", name, key] | ["witness", name, key, _] => self.witness(number, name, key),
            ["group", name, threshold, ref members @ ..] if !members.is_empty() => {
                self.group(number, name, threshold, members)
            }
            ["quorum", name] => self.set_quorum(number, name),
            _ => Err(PolicyError::Line(number)),
        }
    }

    fn log(&mut self, line: usize, key: &str) -> Result<(), PolicyError> {
        let key = read_key(line, key)?;
        let is_again = |one: &NoteVerifier| one.public_key() == key.public_key();
        if key.algorithm() == NoteAlgorithm::TimedEd25519 {
            return Err(PolicyError::Type(line));
        }
        if self.logs.iter().any(is_again) {
            return Err(PolicyError::Again(line));
        }
        self.logs.push(key);
        Ok(())
    }

    fn witness(&mut self, line: usize, name: &str, key: &str) -> Result<(), PolicyError> {
        let key = read_key(line, key)?;
        if key.algorithm() == NoteAlgorithm::Ed25519 {
            return Err(PolicyError::Type(line));
        }
        let is_again =
            |one: &NoteVerifier| one.public_key() == key.public_key() || one.name() == key.name();
        if self.witnesses.iter().any(is_again) {
            return Err(PolicyError::Again(line));
        }
        self.define(line, name, PolicyRule::Witness(key.name().to_owned()))?;
        self.witnesses.push(key);
        Ok(())
    }

    fn group(
        &mut self,
        line: usize,
        name: &str,
        threshold: &str,
        members: &[&str],
    ) -> Result<(), PolicyError> {
        let threshold = match threshold {
            "all" => members.len(),
            "any" => 1,
            number => decimal(number)
                .and_then(|number| usize::try_from(number).ok())
                .filter(|number| (1..=members.len()).contains(number))
                .ok_or(PolicyError::Threshold(line))?,
        };
        let mut places = Vec::with_capacity(members.len());
        for member in members {
            let place = self.names.get(*member).copied();
            let place = place.filter(|place| self.members.insert(*place));
            places.push(place.ok_or(PolicyError::Member(line))?);
        }
        let members = places;
        self.define(line, name, PolicyRule::Group { threshold, members })
    }

    fn define(&mut self, line: usize, name: &str, rule: PolicyRule) -> Result<(), PolicyError> {
        let is_taken = self.names.contains_key(name) || name == NO_QUORUM;
        if is_taken {
            return Err(PolicyError::Name(line));
        }
        self.names.insert(name.to_owned(), self.rules.len());
        self.rules.push(rule);
        Ok(())
    }

    fn set_quorum(&mut self, line: usize, name: &str) -> Result<(), PolicyError> {
        if self.quorum.is_some() {
            return Err(PolicyError::Quorum);
        }
        let quorum = match self.names.get(name) {
            Some(rule) => PolicyQuorum::Rule(*rule),
            None if name == NO_QUORUM => PolicyQuorum::Nothing,
            None => return Err(PolicyError::Member(line)),
        };
        self.quorum = Some(quorum);
        Ok(())
    }
}

fn read_key(line: usize, text: &str) -> Result<NoteVerifier, PolicyError> {
    text.parse()
        .map_err(|error| PolicyError::Key { line, error })
}
