//! Every row, and the check that no endpoint of the server is without one.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::Server;
use crate::row::Row;
use crate::rows;
use crate::world::World;

pub(crate) fn table() -> Vec<Row> {
    let mut table = rows::accounts::rows();
    table.extend(rows::organization::rows());
    table.extend(rows::keys::rows());
    table.extend(rows::objects::rows());
    table.extend(rows::templates::rows());
    table.extend(rows::bus::rows());
    table.extend(rows::files::rows());
    table.extend(rows::webhooks::rows());
    table.extend(rows::log::rows());
    table.extend(rows::disputes::rows());
    table.extend(rows::state::rows());
    table.extend(rows::service::rows());
    table
}

pub(crate) fn find(method: &str, path: &str) -> Row {
    let found = table()
        .into_iter()
        .find(|row| row.method == method && row.path == path);
    found.unwrap_or_else(|| panic!("no row for {method} {path}"))
}

// Holds invariant 50.
/// The server's document comes from its own table of endpoints.
#[tokio::test]
async fn every_endpoint_has_its_row() {
    let server = Server::start().await;
    let document = server.get("/openapi.json", None).await.expect(200).body;
    let mut served = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            if ["GET", "POST", "PATCH", "DELETE", "PUT"].contains(&method.as_str()) {
                served.insert(format!("{method} {path}"));
            }
        }
    }
    let walked: Vec<String> = table().iter().map(Row::name).collect();
    let unique: BTreeSet<String> = walked.iter().cloned().collect();
    assert_eq!(walked.len(), unique.len(), "a row stands twice");
    assert_eq!(unique, served);
}

/// Steps in progress at one time: many, because reads wait for a sequence that is never reached.
const STEPS: usize = 24;

/// Runs a step for each of these rows, some at a time, and reports all failures.
pub(crate) async fn walk<F>(
    world: &Arc<World>,
    wanted: impl Fn(&Row) -> bool,
    step: fn(Arc<World>, Arc<Row>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let rows: Vec<Row> = table().into_iter().filter(|row| wanted(row)).collect();
    assert!(rows.len() > 2, "hardly any row is walked");
    let (mut steps, mut failed) = (JoinSet::new(), Vec::new());
    let room = Arc::new(Semaphore::new(STEPS));
    for row in rows {
        let (name, room) = (row.name(), Arc::clone(&room));
        let step = step(Arc::clone(world), Arc::new(row));
        steps.spawn(async move {
            let _place = room.acquire().await.unwrap();
            let reported = tokio::spawn(step).await;
            reported.map_err(|_| name)
        });
    }
    while let Some(reported) = steps.join_next().await {
        failed.extend(reported.unwrap().err());
    }
    failed.sort();
    assert!(
        failed.is_empty(),
        "{} rows failed: {failed:#?}",
        failed.len()
    );
}
