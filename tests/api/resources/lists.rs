//! Pages, cursors, orders, filters.

use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};
use crate::resources::search::items_id;

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn pages_follow_each_other_while_records_are_added() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let mints: Vec<Signed<'_>> = vec![("mint", &template_id, "{}"); 150];
    ann.bus(&server, &mints, true).await.expect(200);

    let first = server.get("/objects", Some(&ann.token)).await.expect(200);
    assert_eq!(ids(&first.body).len(), 100);
    assert_eq!(first.body["has_more"], true);
    ann.bus(&server, &mints[..10], true).await.expect(200);
    let cursor = first.body["cursor"].as_str().unwrap();
    let second = server
        .get(&format!("/objects?cursor={cursor}"), Some(&ann.token))
        .await
        .expect(200);
    assert_eq!(second.body["has_more"], false);
    assert_eq!(second.body["cursor"], Value::Null);
    let mut all = ids(&first.body);
    all.extend(ids(&second.body));
    assert_eq!(all.len(), 160);
    let mut unique = all.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 160, "no record stands on two pages");

    let path = format!("/objects?template_id={template_id}&order=desc&limit=1000");
    let mut newest = ids(&server.get(&path, Some(&ann.token)).await.expect(200).body);
    newest.reverse();
    assert_eq!(newest, all);
    let path = format!("/objects?owner_id={}&limit=7", ann.wallet_id);
    let owned = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(ids(&owned.body), all[..7]);

    let offset = server
        .get("/objects?offset=155", Some(&ann.token))
        .await
        .expect(200);
    assert_eq!(ids(&offset.body), all[155..]);
    assert!(offset.header("deprecation").starts_with('@'));
    assert!(offset.header("link").contains("successor-version"));
}

#[tokio::test]
async fn parameters_and_cursors_that_are_not_right_are_refused() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    ann.bus(
        &server,
        &[("mint", &template_id, "{}"), ("mint", &template_id, "{}")],
        true,
    )
    .await;
    let page = server
        .get("/objects?limit=1", Some(&ann.token))
        .await
        .expect(200);
    let cursor = page.body["cursor"].as_str().unwrap().to_owned();
    let forged = format!(
        "{}{}",
        if cursor.starts_with('A') { "B" } else { "A" },
        &cursor[1..]
    );

    let cases = [
        (format!("/objects?cursor={forged}"), "CURSOR_INVALID"),
        ("/objects?cursor=x".to_owned(), "CURSOR_INVALID"),
        (format!("/templates?cursor={cursor}"), "CURSOR_INVALID"),
        (
            format!("/objects?template_id={template_id}&cursor={cursor}"),
            "CURSOR_INVALID",
        ),
        (
            format!("/objects?order=desc&cursor={cursor}"),
            "CURSOR_INVALID",
        ),
        ("/objects?limit=0".to_owned(), "VALIDATION_ERROR"),
        ("/objects?limit=1001".to_owned(), "VALIDATION_ERROR"),
        ("/objects?limit=ten".to_owned(), "VALIDATION_ERROR"),
        ("/objects?offset=10001".to_owned(), "VALIDATION_ERROR"),
        ("/objects?order=up".to_owned(), "VALIDATION_ERROR"),
        ("/objects?colour=red".to_owned(), "VALIDATION_ERROR"),
        ("/objects?owner_id=obj_x".to_owned(), "VALIDATION_ERROR"),
    ];
    for (path, code) in cases {
        server.get(&path, Some(&ann.token)).await.refused(400, code);
    }
    let bob = Caller::register(&server, "bob@example.com").await;
    let foreign = server
        .get(&format!("/objects?cursor={cursor}"), Some(&bob.token))
        .await;
    foreign.refused(400, "CURSOR_INVALID");
}

#[tokio::test]
async fn actions_are_listed_with_their_heads() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let mints: [Signed<'_>; 5] = [("mint", &template_id, "{}"); 5];
    let done = ann.bus(&server, &mints, false).await.expect(200);
    let _bob = Caller::register(&server, "bob@example.com").await;
    let listed = server
        .get("/ebus/actions?order=desc&limit=5", Some(&ann.token))
        .await
        .expect(200);
    let mut listed = listed.body["items"].as_array().unwrap().clone();
    listed.reverse();
    assert_eq!(&listed, done.body["results"].as_array().unwrap());

    let ahead = server.sequence().await + 1;
    let path = format!("/ebus/actions?min_sequence={ahead}");
    server
        .get(&path, Some(&ann.token))
        .await
        .refused(409, "SEQUENCE_NOT_REACHED");
}

#[tokio::test]
async fn lists_are_narrowed_by_status_and_times() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let other = ann.new_template(&server, "other").await;
    let made = mint_of(&server, &ann, [&template, &template, &other, &template]).await;
    let locked_at = lock(&server, &ann, &items_id(&made[1])).await;
    let created = |i: usize| made[i]["created_at"].as_str().unwrap().to_owned();
    // Objects made within the same millisecond share their times.
    let from = |time: &str| {
        made.iter()
            .filter(|object| object["created_at"].as_str() >= Some(time))
            .count()
    };

    let list = |query: String| {
        let (server, token) = (&server, &ann.token);
        async move {
            let answer = server.get(&format!("/objects?{query}"), Some(token)).await;
            answer.expect(200).body["items"].as_array().unwrap().len()
        }
    };
    assert_eq!(list("status=locked".into()).await, 1);
    assert_eq!(
        list(format!("status=active&template_id={template}")).await,
        2
    );
    for (i, order) in [(0, "asc"), (2, "desc"), (3, "asc"), (3, "desc")] {
        let time = created(i);
        assert_eq!(
            list(format!("created_after={time}&order={order}")).await,
            from(&time)
        );
        assert_eq!(
            list(format!("created_before={time}&order={order}")).await,
            4 - from(&time)
        );
    }
    let between = format!("created_after={}&created_before={}", created(1), created(3));
    assert_eq!(list(between).await, from(&created(1)) - from(&created(3)));
    assert_eq!(
        list(format!(
            "created_after={}&created_before={}",
            created(3),
            created(0)
        ))
        .await,
        0
    );
    assert_eq!(list("created_after=2999-01-01T00:00:00Z".into()).await, 0);
    for order in ["asc", "desc"] {
        let long_ago = format!("0055-09-02T15:43:11Z&order={order}");
        assert_eq!(list(format!("created_after={long_ago}")).await, 4);
        assert_eq!(list(format!("created_before={long_ago}")).await, 0);
        assert_eq!(list(format!("updated_before={long_ago}")).await, 0);
    }
    let updated = format!(
        "updated_after={locked_at}&template_id={template}&owner_id={}",
        ann.wallet_id
    );
    assert!(list(updated.clone()).await >= 1);
    assert_eq!(list(format!("{updated}&status=locked")).await, 1);
    assert_eq!(
        list(format!("updated_before={locked_at}&status=locked")).await,
        0
    );
    a_cursor_keeps_its_filters(&server, &ann).await;
}

/// Mints an object of each template.
async fn mint_of(server: &Server, ann: &Caller, templates: [&String; 4]) -> Vec<Value> {
    let mut made = Vec::new();
    for template in templates {
        let object = ann.mint(server, &json!({ "template_id": template })).await;
        made.push(object.expect(201).body);
    }
    made
}

/// Locks an object; returns the time of that.
async fn lock(server: &Server, ann: &Caller, object: &str) -> String {
    let locked = ann.action(server, ("lock", object, "{}")).await;
    locked.expect(201);
    let path = format!("/objects/{object}");
    let read = server.get(&path, Some(&ann.token)).await.expect(200);
    read.body["updated_at"].as_str().unwrap().to_owned()
}

async fn a_cursor_keeps_its_filters(server: &Server, ann: &Caller) {
    let page = server
        .get("/objects?limit=1&status=active", Some(&ann.token))
        .await
        .expect(200);
    let cursor = page.body["cursor"].as_str().unwrap();
    for query in [
        format!("cursor={cursor}"),
        format!("cursor={cursor}&status=locked"),
        "status=gone".to_owned(),
        "created_after=yesterday".to_owned(),
        "updated_before=1790000000".to_owned(),
    ] {
        let answer = server
            .get(&format!("/objects?{query}"), Some(&ann.token))
            .await;
        assert_eq!(answer.status, 400, "{query}");
    }
    let next = format!("/objects?limit=1&status=active&cursor={cursor}");
    server.get(&next, Some(&ann.token)).await.expect(200);
}
