//! The rows, in the order in which a reader meets them.

use std::sync::LazyLock;

use super::{
    Endpoint, accounts, bus, disputes, log, objects, organization, service, templates, transfers,
    webhooks,
};

/// Every route.
pub static TABLE: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut table = accounts::rows();
    table.extend(organization::rows());
    table.extend(templates::rows());
    table.extend(objects::rows());
    table.extend(bus::rows());
    table.extend(transfers::rows());
    table.extend(webhooks::rows());
    table.extend(log::rows());
    table.extend(disputes::rows());
    table.extend(service::rows());
    table
});
