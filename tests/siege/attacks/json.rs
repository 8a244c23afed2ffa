//! JSON that is deep or wide: in bodies that are refused, and in writes and searches that are not.

use std::sync::Arc;

use kedge_client::NewObject;
use serde_json::{Map, json};

use crate::besieged::Siege;
use crate::field::{Field, repeat, swarm};

const BYTES: usize = 4 << 20;

/// Arrays in arrays, or objects in objects.
fn deep(number: usize) -> String {
    let (open, close) = if number.is_multiple_of(2) {
        ("[", "]")
    } else {
        (r#"{"a":"#, "}")
    };
    let depth = BYTES / (open.len() + close.len());
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

/// One object with many members, or one array with many numbers.
fn wide(number: usize) -> String {
    let member = |n| {
        if number.is_multiple_of(2) {
            format!(r#""m{n}":{n}"#)
        } else {
            "0".to_owned()
        }
    };
    let count = BYTES / member(100_000).len().max(2);
    let members: Vec<String> = (0..count).map(member).collect();
    let (open, close) = if number.is_multiple_of(2) {
        ("{", "}")
    } else {
        ("[", "]")
    };
    format!("{open}{}{close}", members.join(","))
}

async fn bodies(field: Arc<Field>, number: usize) {
    let value = if number % 4 < 2 {
        deep(number)
    } else {
        wide(number)
    };
    let path = ["/objects/search", "/objects/count"][number / 4 % 2];
    let body = format!(r#"{{"filter":{{"seat":{value}}}}}"#);
    repeat(&field, number, &field.post(path, &body)).await;
}

/// Accepted wide objects: minted, and patched member by member.
async fn wide_objects(field: Arc<Field>, number: usize) {
    let properties: Map<_, _> = (0..20_000).map(|n| (format!("m{n}"), json!(n))).collect();
    let object = NewObject {
        properties,
        ..NewObject::default()
    };
    if let Ok(made) = field.account.mint(field.template, &object).await {
        field.did();
        for member in 0..50 {
            let patch = json!({ format!("m{member}"): number });
            if field
                .account
                .update(made.resource.id, patch.as_object().unwrap())
                .await
                .is_ok()
            {
                field.did();
            }
        }
    }
}

#[test]
#[ignore = "a siege: make siege"]
fn deep_and_wide_json() {
    Siege::new("deep and wide JSON, bodies of 4 MiB on 16 connections", 512)
        .run(async |field| swarm(&field, 16, bodies).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn wide_objects_that_change() {
    Siege::new("objects of 20,000 members, minted and patched by 8", 768)
        .leaves_mib(256)
        .run(async |field| swarm(&field, 8, wide_objects).await);
}
