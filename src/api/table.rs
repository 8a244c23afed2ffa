//! The rows of all endpoints, in reading order.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kedge_protocol::Code;

use crate::api::{
    EndpointRow, accounts, bus, disputes, events, files, keys, log, objects, organization, service,
    templates, webhooks,
};

pub static TABLE: LazyLock<Vec<EndpointRow>> = LazyLock::new(|| {
    let mut table = Vec::new();
    table.extend(accounts::rows::rows());
    table.extend(organization::rows::rows());
    table.extend(keys::rows::rows());
    table.extend(templates::rows::rows());
    table.extend(objects::rows::rows());
    table.extend(bus::rows::rows());
    table.extend(events::rows::rows());
    table.extend(files::rows::rows());
    table.extend(webhooks::rows::rows());
    table.extend(log::rows::rows());
    table.extend(disputes::rows::rows());
    table.extend(service::rows::rows());
    table
});

/// The codes of each row of [`TABLE`], by index.
static CODES: LazyLock<Vec<BTreeSet<Code>>> =
    LazyLock::new(|| TABLE.iter().map(EndpointRow::codes).collect());

/// [`EndpointRow::codes`] of a row of [`TABLE`], computed once: every refusal is compared with them, and a refusal must
/// cost next to nothing.
pub fn documented(index: usize) -> &'static BTreeSet<Code> {
    &CODES[index]
}
