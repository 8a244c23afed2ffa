//! One organization demands more than its share of read resources: searches, pages, streams, downloads.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, PAUSE, read_to_end, repeat, swarm};

const CONNECTIONS: usize = 200;

/// Searches and counts without an index.
async fn search(field: Arc<Field>, number: usize) {
    let path = ["/objects/search", "/objects/count"][number % 2];
    let body = r#"{"filter":{"field":"properties.filler","op":"contains","value":"y"}}"#;
    repeat(&field, number, &field.post(path, body)).await;
}

async fn page(field: Arc<Field>, number: usize) {
    let object = field.objects[number % field.objects.len()];
    let path = match number % 4 {
        0 => "/ebus/actions?limit=400".to_owned(),
        1 => "/objects?limit=400".to_owned(),
        2 => format!("/objects/{object}/history"),
        _ => format!("/objects/{object}?at_sequence=900"),
    };
    repeat(&field, number, field.head("GET", &path, "").as_bytes()).await;
}

/// Opens an event stream from the log's beginning; every second one is never read.
async fn stream(field: Arc<Field>, number: usize) {
    let unread = number.is_multiple_of(2);
    let Some(mut stream) = field.connect_with(number, unread.then_some(4_096)).await else {
        return;
    };
    let request = field.head("GET", "/ebus/events/stream?after_sequence=0", "");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return;
    }
    field.did();
    if unread {
        while stream.writable().await.is_ok() && stream.write_all(b"\r\n").await.is_ok() {
            tokio::time::sleep(100 * PAUSE).await;
        }
    } else {
        read_to_end(&mut stream).await;
    }
}

async fn export(field: Arc<Field>, number: usize) {
    let request = field.head("GET", "/export", "connection: close\r\n");
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    if stream.write_all(request.as_bytes()).await.is_ok() {
        field.did();
        read_to_end(&mut stream).await;
    }
}

#[test]
#[ignore = "a siege: make siege"]
fn searches_of_one_tenant() {
    Siege::new(
        "one tenant: searches without an index, 200 connections",
        256,
    )
    .run(async |field| swarm(&field, CONNECTIONS, search).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn pages_of_one_tenant() {
    Siege::new(
        "one tenant: pages, histories, the past, 200 connections",
        512,
    )
    .run(async |field| swarm(&field, CONNECTIONS, page).await);
}

// Holds invariant 167.
#[test]
#[ignore = "a siege: make siege"]
fn event_streams_of_one_tenant() {
    Siege::new(
        "one tenant: 3,000 event streams from the log's begin, half unread",
        512,
    )
    .run(async |field| swarm(&field, 3_000, stream).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn exports_of_one_tenant() {
    Siege::new("one tenant: exports on 100 connections", 256)
        .run(async |field| swarm(&field, 100, export).await);
}
