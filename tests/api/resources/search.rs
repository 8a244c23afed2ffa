//! Searching and counting objects.

use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, Signed};

/// Marks `price`, `size.w` and `na.me` as indexed.
pub(crate) fn schema() -> Value {
    json!({ "properties": {
        "price": { "x-index": true },
        "size": { "properties": { "w": { "x-index": true } } },
        "na.me": { "x-index": true },
    } })
}

pub(crate) async fn new_template(caller: &Caller, server: &Server, body: &Value) -> String {
    let made = caller.template(server, body).await.expect(201);
    made.body["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn mint_all(
    caller: &Caller,
    server: &Server,
    template: &str,
    properties: &[&str],
) {
    let payloads: Vec<String> = properties
        .iter()
        .map(|properties| format!(r#"{{"properties":{properties}}}"#))
        .collect();
    let mints: Vec<Signed<'_>> = payloads
        .iter()
        .map(|payload| ("mint", template, payload.as_str()))
        .collect();
    caller.bus(server, &mints, true).await.expect(200);
}

async fn ask(caller: &Caller, server: &Server, path: &str, body: &str) -> Answer {
    server.call("POST", path, &[caller.bearer()], body).await
}

/// All matches of a filter; their number is counted too.
pub(crate) async fn found(
    caller: &Caller,
    server: &Server,
    filter: &Value,
    rest: &Value,
) -> Vec<Value> {
    let mut body = json!({ "filter": filter });
    for (name, value) in rest.as_object().unwrap() {
        body[name] = value.clone();
    }
    let mut items = Vec::new();
    loop {
        let page = ask(caller, server, "/objects/search", &body.to_string()).await;
        let page = page.expect(200).body;
        items.extend_from_slice(page["items"].as_array().unwrap());
        assert_eq!(page["has_more"], json!(!page["cursor"].is_null()));
        body["cursor"] = page["cursor"].clone();
        if body["cursor"].is_null() {
            break;
        }
    }
    let count = json!({ "filter": filter }).to_string();
    let counted = ask(caller, server, "/objects/count", &count)
        .await
        .expect(200);
    assert_eq!(counted.body, json!({ "count": items.len() }));
    items
}

fn prices(items: &[Value]) -> Vec<&Value> {
    items
        .iter()
        .map(|item| &item["properties"]["price"])
        .collect()
}

pub(crate) fn is(field: &str, op: &str, value: impl Into<Value>) -> Value {
    json!({ "field": field, "op": op, "value": value.into() })
}

/// Checks that a changed object is found only under its new price, as the newest.
async fn moves_in_the_index(caller: &Caller, server: &Server, of_template: &Value, object: &Value) {
    let id = items_id(object);
    let price = ("update", id.as_str(), r#"{"properties":{"price":11}}"#);
    caller.action(server, price).await.expect(201);
    caller.action(server, ("lock", &id, "{}")).await.expect(201);
    let eleven = json!({ "and": [of_template, is("properties.price", "in", json!([11.0, 9.5]))] });
    let items = found(caller, server, &eleven, &json!({})).await;
    assert_eq!(items.len(), 1);
    assert_eq!(
        (&items[0]["id"], &items[0]["status"]),
        (&object["id"], &json!("locked"))
    );
    let newest = json!({ "sort": [{ "field": "updated_at", "order": "desc" }], "limit": 3 });
    let items = found(caller, server, of_template, &newest).await;
    assert_eq!(items[0]["id"], object["id"]);
}

#[tokio::test]
async fn objects_are_found_counted_and_sorted_as_they_change() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({ "name": "ticket", "schema": schema() });
    let template = new_template(&ann, &server, &body).await;
    let of_template = is("template_id", "eq", template.as_str());
    let properties = [
        r#"{"price":10,"na.me":"a"}"#,
        r#"{"price":9.50,"na.me":"ab"}"#,
        r#"{"price":"9.50","na.me":"b"}"#,
        r#"{"price":9007199254740993,"size":{"w":1}}"#,
        r#"{"na.me":["a"]}"#,
    ];
    mint_all(&ann, &server, &template, &properties).await;

    let cheap = json!({ "and": [of_template, is("properties.price", "lte", 10)] });
    let items = found(&ann, &server, &cheap, &json!({})).await;
    assert_eq!(prices(&items), [&json!(10), &json!(9.50)]);
    let by_price = json!({ "sort": [{ "field": "properties.price" }], "limit": 2 });
    let items = found(&ann, &server, &cheap, &by_price).await;
    assert_eq!(prices(&items), [&json!(9.50), &json!(10)]);
    let all = found(&ann, &server, &of_template, &by_price).await;
    let huge = json!(9_007_199_254_740_993_u64);
    let order = [
        &json!(9.50),
        &json!(10),
        &huge,
        &json!("9.50"),
        &Value::Null,
    ];
    assert_eq!(prices(&all), order);

    // A number one more than a double can distinguish, and a key with a dot in it.
    for (filter, count) in [
        (is("properties.price", "eq", 9_007_199_254_740_992_u64), 0),
        (is("properties.price", "gt", 9_007_199_254_740_992_u64), 1),
        (is("properties.na\\.me", "prefix", "a"), 2),
        (is("properties.na\\.me", "contains", "a"), 3),
        (is("properties.na.me", "exists", true), 0),
        (is("properties.size.w", "exists", false), 4),
        (json!({ "not": is("properties.price", "exists", true) }), 1),
        (
            json!({ "or": [is("version", "gt", 1), is("status", "eq", "locked")] }),
            0,
        ),
    ] {
        let filter = json!({ "and": [of_template, filter] });
        let items = found(&ann, &server, &filter, &json!({})).await;
        assert_eq!(items.len(), count, "{filter}");
    }

    moves_in_the_index(&ann, &server, &of_template, &all[0]).await;

    // A search waits for the sequence it must reflect.
    let sequence = server.sequence().await;
    let body = json!({ "filter": of_template }).to_string();
    let path = format!("/objects/search?min_sequence={sequence}");
    let answer = ask(&ann, &server, &path, &body).await.expect(200);
    assert_eq!(answer.header("x-sequence"), sequence.to_string());
}

pub(crate) fn items_id(item: &Value) -> String {
    item["id"].as_str().unwrap().to_owned()
}

// Holds invariant 44.
#[tokio::test]
async fn pages_follow_each_other_while_objects_are_added() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({ "name": "ticket", "schema": schema() });
    let template = new_template(&ann, &server, &body).await;
    let some = [
        r#"{"price":1}"#,
        r#"{"price":3}"#,
        r#"{"price":2}"#,
        r#"{"price":5}"#,
        r#"{"price":4}"#,
    ];
    mint_all(&ann, &server, &template, &some.repeat(4)).await;
    let before = server.sequence().await;
    for sort in ["created_at", "updated_at", "properties.price"] {
        let mut body = json!({
            "filter": { "and": [is("template_id", "eq", template.as_str()), is("properties.price", "lt", 5)] },
            "sort": [{ "field": sort }],
            "limit": 3,
        });
        let mut items: Vec<Value> = Vec::new();
        while body.get("cursor").is_none_or(|cursor| !cursor.is_null()) {
            let page = ask(&ann, &server, "/objects/search", &body.to_string())
                .await
                .expect(200);
            items.extend_from_slice(page.body["items"].as_array().unwrap());
            body["cursor"] = page.body["cursor"].clone();
            mint_all(&ann, &server, &template, &some[..1]).await;
            if items.len() > 60 {
                break;
            }
        }
        // Every object that existed at first occurs exactly once, in order; new ones may occur too.
        let mut ids: Vec<String> = items.iter().map(items_id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), items.len(), "{sort}");
        let old = items
            .iter()
            .filter(|item| item["sequence"].as_u64().unwrap() <= before);
        let old: Vec<&Value> = old.collect();
        assert_eq!(old.len(), 16, "{sort}");
        let key = |item: &Value| match sort {
            "properties.price" => item["properties"]["price"].as_u64(),
            _ => item["sequence"].as_u64(),
        };
        assert!(old.is_sorted_by_key(|item| key(item)), "{sort}");
    }
}

// Holds invariant 45.
#[tokio::test]
async fn others_objects_are_found_only_where_they_are_public_and_named() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let body = |name: &str, public: bool| json!({ "name": name, "schema": schema(), "public_access": public });
    let public = new_template(&ann, &server, &body("public", true)).await;
    let private = new_template(&ann, &server, &body("private", false)).await;
    let objects = [r#"{"price":1}"#, r#"{"price":2}"#, r#"{"price":3}"#];
    mint_all(&ann, &server, &public, &objects).await;
    mint_all(&ann, &server, &private, &objects).await;
    let own = ann.new_object(&server, &private).await;
    let to_bob = json!({ "to": bob.wallet_id }).to_string();
    ann.action(&server, ("transfer", &own, &to_bob))
        .await
        .expect(201);
    let one_of = async |template: &str| {
        let filter = is("template_id", "eq", template);
        let objects = found(&ann, &server, &filter, &json!({})).await;
        items_id(&objects[0])
    };
    let (public_one, private_one) = (one_of(&public).await, one_of(&private).await);

    let everything = json!({ "and": [] });
    let cheap = is("properties.price", "lt", 3);
    let none = json!({ "and": [cheap, { "not": cheap }] });
    let cases = [
        // Filter, matches for Ann, matches for Bob.
        (everything.clone(), 7, 1),
        (cheap.clone(), 4, 0),
        (none, 0, 0),
        (is("template_id", "eq", public.as_str()), 3, 3),
        (is("template_id", "eq", private.as_str()), 4, 1),
        (
            json!({ "and": [is("template_id", "in", json!([public, private])), cheap] }),
            4,
            2,
        ),
        (
            // Objects named by one branch of the filter count as named.
            json!({ "or": [is("template_id", "eq", public.as_str()), is("version", "gt", 9)] }),
            3,
            3,
        ),
        (
            json!({ "not": is("template_id", "ne", public.as_str()) }),
            3,
            3,
        ),
        (is("owner_id", "eq", ann.wallet_id.as_str()), 6, 3),
        (
            is("owner_address", "eq", ann.key.address().to_string()),
            6,
            3,
        ),
        (is("owner_id", "eq", bob.wallet_id.as_str()), 1, 1),
        (is("id", "eq", public_one.as_str()), 1, 1),
        (is("id", "eq", private_one.as_str()), 1, 0),
        (is("id", "in", json!([private_one, own])), 2, 1),
    ];
    for (filter, of_ann, of_bob) in cases {
        let to_ann = found(&ann, &server, &filter, &json!({})).await.len();
        let to_bob = found(&bob, &server, &filter, &json!({})).await.len();
        assert_eq!((to_ann, to_bob), (of_ann, of_bob), "{filter}");
    }
    // Bob may not use the index of a template that he does not see.
    let by_price = async |template: &str| {
        let filter = is("template_id", "eq", template);
        let body = json!({ "filter": filter, "sort": [{ "field": "properties.price" }] });
        ask(&bob, &server, "/objects/search", &body.to_string()).await
    };
    by_price(&private).await.refused(400, "VALIDATION_ERROR");
    let seen = by_price(&public).await.expect(200);
    assert_eq!(seen.body["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn searches_that_are_not_right_are_refused() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({ "name": "ticket", "schema": schema() });
    let template = new_template(&ann, &server, &body).await;
    mint_all(&ann, &server, &template, &["{}", "{}"]).await;
    let of_template = is("template_id", "eq", template.as_str());
    let first = json!({ "filter": of_template, "limit": 1 });
    let page = ask(&ann, &server, "/objects/search", &first.to_string())
        .await
        .expect(200);
    let cursor = page.body["cursor"].as_str().unwrap();

    let with = |name: &str, value: Value| {
        let mut body = first.clone();
        body[name] = value;
        body
    };
    let other_filter = json!({ "filter": { "and": [] }, "cursor": cursor });
    let mut other_order = with("cursor", json!(cursor));
    other_order["sort"] = json!([{ "field": "created_at", "order": "desc" }]);
    for (body, code, pointer) in [
        (json!({}), "VALIDATION_ERROR", "/filter"),
        (with("filter", json!("all")), "VALIDATION_ERROR", "/filter"),
        (with("filters", json!([])), "VALIDATION_ERROR", "/filters"),
        (with("limit", json!(0)), "VALIDATION_ERROR", "/limit"),
        (with("limit", json!(1001)), "VALIDATION_ERROR", "/limit"),
        (
            with("sort", json!([{ "field": "name" }])),
            "VALIDATION_ERROR",
            "/sort/0/field",
        ),
        (
            with("sort", json!([{ "field": "properties.colour" }])),
            "VALIDATION_ERROR",
            "/sort/0/field",
        ),
        (
            with("filter", json!({ "or": [of_template, { "field": "id" }] })),
            "VALIDATION_ERROR",
            "/filter/or/1/op",
        ),
        (with("cursor", json!("x")), "CURSOR_INVALID", ""),
        (
            with("cursor", json!(format!("{cursor}A"))),
            "CURSOR_INVALID",
            "",
        ),
        (other_filter, "CURSOR_INVALID", ""),
        (other_order, "CURSOR_INVALID", ""),
    ] {
        let answer = ask(&ann, &server, "/objects/search", &body.to_string()).await;
        answer.refused(400, code);
        if !pointer.is_empty() {
            assert_eq!(
                answer.body["body"]["errors"][0]["pointer"], pointer,
                "{body}"
            );
        }
    }
    let rest = with("cursor", json!(cursor));
    let rest = ask(&ann, &server, "/objects/search", &rest.to_string())
        .await
        .expect(200);
    assert_eq!(rest.body["items"].as_array().unwrap().len(), 1);
    let bob = Caller::register(&server, "bob@example.com").await;
    let foreign = with("cursor", json!(cursor)).to_string();
    ask(&bob, &server, "/objects/search", &foreign)
        .await
        .refused(400, "CURSOR_INVALID");
    let anonymous = server
        .call("POST", "/objects/search", &[], &first.to_string())
        .await;
    anonymous.refused(401, "UNAUTHENTICATED");
    let twice = r#"{"filter":{"and":[],"and":[]}}"#;
    ask(&ann, &server, "/objects/count", twice)
        .await
        .refused(400, "MALFORMED_JSON");
}

#[tokio::test]
async fn a_mark_of_an_index_is_true_or_absent() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut marks = schema();
    marks["properties"]["price"]["x-index"] = json!("yes");
    let bad = ann
        .template(&server, &json!({ "name": "other", "schema": marks }))
        .await;
    bad.refused(400, "VALIDATION_ERROR");
    let pointer = &bad.body["body"]["errors"][0]["pointer"];
    assert_eq!(pointer, "/schema/properties/price/x-index");
}
