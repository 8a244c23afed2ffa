//! A heading of the document: a feature of the API.

use kedge_protocol::Prefix;
use kedge_protocol::resource::Area;

/// A heading: the tag of its endpoints, with what they have in common.
#[derive(Debug)]
pub struct ApiHeading {
    pub name: &'static str,
    pub description: &'static str,
    /// The area of rights that API keys need for its endpoints; `None` if they need none.
    pub area: Option<Area>,
    /// Meaning of a path parameter, by the path up to it.
    pub ids: &'static [(&'static str, PathParameter)],
}

/// Kind of a path parameter.
#[derive(Clone, Copy, Debug)]
pub enum PathParameter {
    Id(Prefix),
    /// An identifier, or a number of this name.
    IdOr(Prefix, &'static str),
    /// An identifier of any kind.
    AnyId,
    Address,
}

impl ApiHeading {
    /// Placeholder for a missing heading, which a test reports.
    pub(super) const MISSING: Self = Self {
        name: "",
        description: "",
        area: None,
        ids: &[],
    };

    /// Meaning of the parameter after this part of a path.
    pub(super) fn parameter(&self, before: &str) -> Option<PathParameter> {
        let fits = self.ids.iter().filter(|(path, _)| before.starts_with(path));
        fits.max_by_key(|(path, _)| path.len())
            .map(|(_, parameter)| *parameter)
    }
}
