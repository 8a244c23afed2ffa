//! Templates with the most and the longest regular expressions allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kedge_client::{NewObject, NewTemplate, Properties, TemplateChange};
use serde_json::json;

use crate::besieged::Siege;
use crate::field::{Field, swarm};

/// Regular expressions of one template.
const PATTERNS: usize = 64;
/// Repetitions in each, the most expensive to compile for their counted size.
const PLACES: usize = 24;

/// The number of schemas so far.
static NAMED: AtomicUsize = AtomicUsize::new(0);

/// A name and a schema that differ in every call, so that no compiled expression can be reused.
fn heavy() -> (String, Properties) {
    let number = NAMED.fetch_add(1, Ordering::Relaxed);
    let member = |n| {
        let pattern = format!("^.{{{PLACES}}}{}$", number + n);
        (format!("p{n}"), json!({ "pattern": pattern }))
    };
    let properties: Properties = (0..PATTERNS).map(member).collect();
    let schema = [("properties".to_owned(), json!(properties))];
    (format!("heavy {number}"), schema.into_iter().collect())
}

/// Each template is created, changed (which other clients' changes wait for) and used.
async fn templates(field: Arc<Field>, _: usize) {
    let (name, schema) = heavy();
    let template = NewTemplate {
        name,
        schema: Some(schema),
        ..NewTemplate::default()
    };
    let Ok(made) = field.account.create_template(&template).await else {
        return;
    };
    field.did();
    let change = TemplateChange {
        schema: Some(heavy().1),
        ..TemplateChange::default()
    };
    let id = made.resource.id;
    if field.account.update_template(id, &change).await.is_ok() {
        field.did();
    }
    if field.account.mint(id, &NewObject::default()).await.is_ok() {
        field.did();
    }
}

#[test]
#[ignore = "a siege: make siege"]
fn patterns_of_one_tenant() {
    Siege::new(
        "one tenant: templates of 64 long regular expressions, made, changed and used by 8",
        768,
    )
    .leaves_mib(512)
    .run(async |field| swarm(&field, 8, templates).await);
}
