//! The rows of all endpoints, in reading order.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kedge_api::Code;

use super::{
    Endpoint, accounts, bus, disputes, events, files, keys, log, objects, organization, service,
    templates, webhooks,
};

pub static TABLE: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut table = Vec::new();
    table.extend(accounts::rows());
    table.extend(organization::rows());
    table.extend(keys::rows());
    table.extend(templates::rows());
    table.extend(objects::rows());
    table.extend(bus::rows());
    table.extend(events::rows());
    table.extend(files::rows());
    table.extend(webhooks::rows());
    table.extend(log::rows());
    table.extend(disputes::rows());
    table.extend(service::rows());
    table
});

/// The codes of each row of [`TABLE`], by index.
static CODES: LazyLock<Vec<BTreeSet<Code>>> =
    LazyLock::new(|| TABLE.iter().map(Endpoint::codes).collect());

/// [`Endpoint::codes`] of a row of [`TABLE`], computed once: every refusal is compared with them, and a refusal must
/// cost next to nothing.
pub fn documented(index: usize) -> &'static BTreeSet<Code> {
    &CODES[index]
}
