//! Object reads, spread over the nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_load::connection::{LoadConnection, authority};
use tokio::task::JoinSet;

use crate::error::BenchResult;
use crate::fleet::BenchFleet;

/// Connections over all nodes.
const CONNECTIONS: usize = 48;

/// Reads objects through these nodes for `length`. Returns reads a second.
pub(super) async fn measure(
    urls: &[String],
    fleet: &Arc<BenchFleet>,
    length: Duration,
) -> BenchResult<f64> {
    let until = Instant::now() + length;
    let mut readers = JoinSet::new();
    for number in 0..CONNECTIONS {
        let address = authority(&urls[number % urls.len()])?;
        readers.spawn(read(address, Arc::clone(fleet), number, until));
    }
    let mut reads = 0;
    while let Some(read) = readers.join_next().await {
        reads += read??;
    }
    Ok(reads as f64 / length.as_secs_f64())
}

async fn read(
    address: String,
    fleet: Arc<BenchFleet>,
    first: usize,
    until: Instant,
) -> BenchResult<u64> {
    let mut connection = LoadConnection::open(&address).await?;
    let mut reads = 0;
    let mut next = first;
    while Instant::now() < until {
        let organization = &fleet.organizations[next % fleet.organizations.len()];
        let object = organization.objects[next / 7 % organization.objects.len()];
        next += CONNECTIONS;
        let head = format!(
            "GET /objects/{object} HTTP/1.1\r\nhost: {address}\r\nx-api-key: {}\r\n\r\n",
            organization.api_key
        );
        let answer = connection.exchange(head.as_bytes(), &[]).await?;
        if !answer.status.is_success() {
            let text = String::from_utf8_lossy(answer.body);
            return Err(format!("a read was refused: {text}").into());
        }
        reads += 1;
    }
    Ok(reads)
}
