//! A row of the walk: one endpoint's properties, written from the documents.

use std::pin::Pin;

use crate::ask::Ask;
use crate::world::World;

/// Makes a request that succeeds, or one that fails in its own way.
pub(crate) type AskFn = for<'a> fn(&'a World) -> Pin<Box<dyn Future<Output = Ask> + Send + 'a>>;

/// The callers that an endpoint allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Auth {
    /// Any caller.
    Public,
    /// Callers that show an access token, an API key, or both.
    Any,
    /// Like `Any`, but a key alone has no wallet.
    Wallet,
}

/// The signed part of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signs {
    Nothing,
    Body,
    /// Its body's digest.
    Digest,
    /// Actions whose payloads are given separately.
    Actions,
}

/// The kind of body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    Nothing,
    Json,
    Form,
}

/// The kind of good answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gives {
    /// One resource, in the form of a read: with an ETag.
    One,
    /// A page of a list.
    List,
    /// Other JSON.
    Json,
    /// Anything but JSON, with this media type.
    Other(&'static str),
}

/// One kind of refusal.
pub(crate) struct Case {
    pub(crate) code: &'static str,
    /// The pointer of the error, for a VALIDATION_ERROR of a body.
    pub(crate) pointer: Option<&'static str>,
    pub(crate) ask: AskFn,
}

pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) status: u16,
    pub(crate) auth: Auth,
    /// The area and the access that an API key needs.
    pub(crate) right: (&'static str, &'static str),
    /// Only for owners and admins.
    pub(crate) admin: bool,
    pub(crate) signs: Signs,
    pub(crate) takes: Takes,
    pub(crate) gives: Gives,
    /// An id of nothing is answered with a proof that the log has made nothing of that name.
    pub(crate) proves_absence: bool,
    /// Counts on no limit.
    pub(crate) free: bool,
    /// Members of a good answer.
    pub(crate) keys: &'static [&'static str],
    pub(crate) ask: AskFn,
    pub(crate) cases: Vec<Case>,
}

impl Row {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET"
    }

    pub(crate) fn has_id(&self) -> bool {
        self.path.contains('{')
    }

    /// The path with a well-formed id in every place for one, each of which names nothing.
    pub(crate) fn nowhere(&self) -> String {
        let named = self.path.replace("{delivery_id}", &format!("dlv_{NOBODY}"));
        named.replace("{id}", &format!("{}_{NOBODY}", self.prefix()))
    }

    /// The prefix of the ids in the path.
    pub(crate) fn prefix(&self) -> &'static str {
        let known = [
            // The path takes an address, so this also has the wrong form.
            ("/wallets/me/keys", "obj"),
            ("/organizations/me/members", "wal"),
            ("/organizations/me/invitations", "act"),
            ("/api-keys", "key"),
            ("/objects", "obj"),
            ("/templates", "tpl"),
            ("/ebus/actions", "act"),
            ("/batches", "bat"),
            ("/anchors", "anc"),
            ("/disputes", "dsp"),
            ("/files", "fil"),
            ("/webhooks", "whk"),
            ("/state", "obj"),
        ];
        let found = known.iter().find(|(path, _)| self.path.starts_with(path));
        let has_id = self.path.contains("{id}");
        assert!(
            found.is_some() || !has_id,
            "{}: whose ids are these?",
            self.path
        );
        found.map_or("", |(_, prefix)| prefix)
    }
}

/// An identifier without its prefix, which names nothing.
pub(crate) const NOBODY: &str = "5yrzzxc7r7qyrbt578rhejqh4m";

/// A request that is built with the world.
macro_rules! ask {
    ($world:ident => $made:expr) => {
        |$world| Box::pin(async move { $made })
    };
}
pub(crate) use ask;

/// A refusal, with the pointer if there is one.
macro_rules! case {
    ($code:literal, $world:ident => $made:expr) => {
        crate::row::Case {
            code: $code,
            pointer: None,
            ask: |$world| Box::pin(async move { $made }),
        }
    };
    ($code:literal at $pointer:literal, $world:ident => $made:expr) => {
        crate::row::Case {
            code: $code,
            pointer: Some($pointer),
            ask: |$world| Box::pin(async move { $made }),
        }
    };
}
pub(crate) use case;

/// A row with the most common values: a read of one resource by any authenticated caller.
pub(crate) fn row(method: &'static str, path: &'static str, ask: AskFn) -> Row {
    Row {
        method,
        path,
        status: 200,
        auth: Auth::Any,
        right: ("", ""),
        admin: false,
        signs: Signs::Nothing,
        takes: Takes::Nothing,
        gives: Gives::One,
        proves_absence: false,
        free: false,
        keys: &[],
        ask,
        cases: Vec::new(),
    }
}
