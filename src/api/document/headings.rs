//! Headings of the document in reading order, each with the area of the rights that API keys need, and the meaning of
//! its path parameters.

use kedge_protocol::Prefix;
use kedge_protocol::resource::Area;
use serde_json::{Value, json};

struct DocumentHeading {
    name: &'static str,
    description: &'static str,
    /// The area of rights to its endpoints; `None` if they need none.
    area: Option<Area>,
    /// Meaning of a path parameter, by the path up to it.
    ids: &'static [(&'static str, PathParameter)],
}

/// Kind of a path parameter.
#[derive(Clone, Copy)]
pub(crate) enum PathParameter {
    Id(Prefix),
    /// An identifier, or a number of this name.
    IdOr(Prefix, &'static str),
    Address,
}

const HEADINGS: &[DocumentHeading] = &[
    DocumentHeading {
        name: "Accounts",
        description: "Wallets, their keys, and the tokens to act for them.",
        area: Some(Area::Wallets),
        ids: &[("/wallets/me/keys/", PathParameter::Address)],
    },
    DocumentHeading {
        name: "Organization",
        description: "The caller's organization: its limits, its members and its invitations.",
        area: Some(Area::Wallets),
        ids: &[
            (
                "/organizations/me/members/",
                PathParameter::Id(Prefix::Wallet),
            ),
            (
                "/organizations/me/invitations/",
                PathParameter::Id(Prefix::Action),
            ),
        ],
    },
    DocumentHeading {
        name: "API keys",
        description: "Credentials for programs, with narrow rights.",
        area: Some(Area::ApiKeys),
        ids: &[("/api-keys/", PathParameter::Id(Prefix::Key))],
    },
    DocumentHeading {
        name: "Templates",
        description: "What objects are made from.",
        area: Some(Area::Templates),
        ids: &[("/templates/", PathParameter::Id(Prefix::Template))],
    },
    DocumentHeading {
        name: "Objects",
        description: "Minting, reading, changing and transferring objects.",
        area: Some(Area::Objects),
        ids: &[("/objects/", PathParameter::Id(Prefix::Object))],
    },
    DocumentHeading {
        name: "Action bus",
        description: "Signed actions, one by one or in batches, and their proofs.",
        area: Some(Area::Actions),
        ids: &[(
            "/ebus/actions/",
            PathParameter::IdOr(Prefix::Action, "sequence"),
        )],
    },
    DocumentHeading {
        name: "Events",
        description: "What happened, as a list and as a stream.",
        area: Some(Area::Events),
        ids: &[],
    },
    DocumentHeading {
        name: "Files",
        description: "Files whose digests are in the log.",
        area: Some(Area::Files),
        ids: &[("/files/", PathParameter::Id(Prefix::File))],
    },
    DocumentHeading {
        name: "Webhooks",
        description: "Events that are sent to a URL.",
        area: Some(Area::Webhooks),
        ids: &[
            ("/webhooks/", PathParameter::Id(Prefix::Webhook)),
            (
                "/webhooks/{id}/deliveries/",
                PathParameter::Id(Prefix::Delivery),
            ),
        ],
    },
    DocumentHeading {
        name: "Log",
        description: "Batches, anchors and their proofs. Public.",
        area: Some(Area::Batches),
        ids: &[
            ("/batches/", PathParameter::IdOr(Prefix::Batch, "number")),
            ("/anchors/", PathParameter::IdOr(Prefix::Anchor, "number")),
            ("/disputes/", PathParameter::Id(Prefix::Dispute)),
        ],
    },
    DocumentHeading {
        name: "Service",
        description: "The domain, the keys, the health of the server, this document.",
        area: None,
        ids: &[],
    },
];

pub(crate) fn tags() -> Value {
    let tags = HEADINGS.iter();
    tags.map(|heading| json!({ "name": heading.name, "description": heading.description }))
        .collect()
}

pub fn is_tag(name: &str) -> bool {
    HEADINGS.iter().any(|heading| heading.name == name)
}

/// The area of rights to the endpoints under a heading.
pub(crate) fn area(name: &str) -> Option<Area> {
    let heading = HEADINGS.iter().find(|heading| heading.name == name);
    heading.and_then(|heading| heading.area)
}

/// Meaning of the parameter after this part of a path.
pub(crate) fn named(before: &str) -> Option<PathParameter> {
    let ids = HEADINGS.iter().flat_map(|heading| heading.ids);
    let fits = ids.filter(|(path, _)| before.starts_with(path));
    fits.max_by_key(|(path, _)| path.len())
        .map(|(_, named)| *named)
}
