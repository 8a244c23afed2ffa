//! API keys, webhooks and files: their payloads, and the rights to make, change and end them.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{URL_BYTES_MAX, WEBHOOK_EVENTS_MAX, WEBHOOKS_MAX};
use kedge_protocol::payload::digest_text;
use kedge_protocol::resource::{ApiKey, Area, Crud, FileRecord, Permission, Role, Webhook};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_rules::fold::FoldState;
use kedge_rules::json::quoted;
use kedge_rules::resources::{self, RuleDecision};
use kedge_rules::world::{CountedResource, World};
use kedge_rules::{ActionInput, Caller, Refusal, file};

use crate::log::{ANN, Log, MEMBER, OPERATORS, STRANGER, house, left, places, why, wrong};

const DAY_S: u64 = 24 * 60 * 60;

fn permission(area: &str) -> String {
    format!(r#"{{"resource":"{area}","crud":{{"read":true}}}}"#)
}

fn key(
    log: &mut Log,
    name: &str,
    permissions: &[String],
    more: &str,
) -> Result<RuleDecision, Refusal> {
    let permissions = permissions.join(",");
    let payload = format!(r#"{{"name":"{name}","permissions":[{permissions}]{more}}}"#);
    log.act(ANN, &Kind::KeyCreate, "", &payload)
}

fn webhook(log: &mut Log, url: &str, events: &[&str]) -> Result<RuleDecision, Refusal> {
    let events: Vec<String> = events.iter().map(|event| quoted(event)).collect();
    let (url, events) = (quoted(url), events.join(","));
    let payload = format!(r#"{{"url":{url},"events":[{events}]}}"#);
    log.act(ANN, &Kind::WebhookCreate, "", &payload)
}

#[test]
fn a_key_has_a_name_and_permissions_for_each_area_once() {
    let mut log = house();
    let all: Vec<String> = Area::ALL
        .iter()
        .map(|area| permission(area.text()))
        .collect();
    let more = r#","expires_at":"2026-01-02T03:04:05.678Z""#;
    let done = key(&mut log, "robot", &all, more).unwrap();
    let made = left::<ApiKey>(&done);
    let wallet = log.wallet(ANN);
    assert_eq!(
        (made.organization_id, made.wallet_id, made.name.as_str()),
        (wallet.organization_id, wallet.id, "robot")
    );
    assert_eq!(made.expires_at_ms, Some(1_767_323_045_678));
    assert_eq!(
        (made.rotations, made.overlap_s, made.deleted),
        (0, 0, false)
    );
    let read = Crud {
        read: true,
        ..Crud::default()
    };
    let expected: Vec<Permission> = Area::ALL
        .iter()
        .map(|area| Permission {
            resource: *area,
            crud: read,
        })
        .collect();
    assert_eq!(made.permissions, expected);
    let done = key(&mut log, "robot", &all[..1], "").unwrap();
    assert_eq!(left::<ApiKey>(&done).expires_at_ms, None);

    wrong(
        key(&mut log, "robot", &[], ""),
        &[("/permissions", "range")],
    );
    let twice = [all[0].clone(), all[1].clone(), all[0].clone()];
    wrong(
        key(&mut log, " ", &twice, r#","expires_at":"tomorrow""#),
        &[
            ("/name", "required"),
            ("/permissions/2/resource", "duplicate"),
            ("/expires_at", "format"),
        ],
    );
    // The limit is sixteen, duplicates included.
    for (count, is_over) in [(16, false), (17, true), (18, true)] {
        let done = key(&mut log, "robot", &vec![all[0].clone(); count], "");
        let over = ("/permissions".to_owned(), "range".to_owned());
        assert_eq!(places(done).contains(&over), is_over, "{count}");
    }
    for payload in [
        r#"{"name":"a","permissions":[["objects",{}]]}"#,
        r#"{"name":"a","permissions":[{"resource":"x","crud":{}}]}"#,
    ] {
        let done = log.act(ANN, &Kind::KeyCreate, "", payload);
        assert_eq!(why(done), "invalid", "{payload}");
    }
}

/// Resources that are rotated and ended in the same way: the kinds that make, rotate and end one.
fn secrets(log: &mut Log) -> [(String, CountedResource, Kind, Kind); 2] {
    let done = key(log, "robot", &[permission("objects")], "").unwrap();
    let key = left::<ApiKey>(&done).id;
    let done = webhook(log, "https://example.com/", &["*"]).unwrap();
    let webhook = left::<Webhook>(&done).id;
    [
        (
            key.to_string(),
            CountedResource::ApiKeys,
            Kind::KeyRotate,
            Kind::KeyDelete,
        ),
        (
            webhook.to_string(),
            CountedResource::Webhooks,
            Kind::WebhookRotate,
            Kind::WebhookDelete,
        ),
    ]
}

/// Rotations, overlap and whether it is ended.
fn secret(done: &RuleDecision) -> (u64, u64, bool, u64) {
    let mut images = done.images.iter();
    let key = images.find_map(|image| <&ApiKey>::try_from(image).ok());
    if let Some(key) = key {
        return (key.rotations, key.overlap_s, key.deleted, key.trace.version);
    }
    let webhook = left::<Webhook>(done);
    assert_eq!(webhook.active, !webhook.deleted);
    (
        webhook.rotations,
        webhook.overlap_s,
        webhook.deleted,
        webhook.trace.version,
    )
}

#[test]
fn a_secret_is_replaced_and_the_old_one_stays_valid_for_a_while() {
    let mut log = house();
    for (target, _, rotate, delete) in secrets(&mut log) {
        let overlaps = [
            ("", DAY_S),
            ("{}", DAY_S),
            (r#"{"overlap_s":null}"#, DAY_S),
            (r#"{"overlap_s":0}"#, 0),
            (r#"{"overlap_s":1}"#, 1),
            (r#"{"overlap_s":604800}"#, 7 * DAY_S),
        ];
        for ((payload, overlap_s), times) in overlaps.into_iter().zip(1..) {
            let done = log.act(ANN, &rotate, &target, payload).unwrap();
            assert_eq!(secret(&done), (times, overlap_s, false, times + 1));
        }
        for (payload, place) in [
            (r#"{"overlap_s":604801}"#, ("/overlap_s", "range")),
            (r#"{"overlap_s":-1}"#, ("/overlap_s", "type")),
            (r#"{"overlap":1}"#, ("/overlap", "unknown")),
            ("[]", ("", "type")),
            ("x", ("", "syntax")),
        ] {
            wrong(log.act(ANN, &rotate, &target, payload), &[place]);
        }
        let done = log.act(ANN, &delete, &target, "").unwrap();
        assert_eq!(secret(&done), (6, 7 * DAY_S, true, 8));
    }
}

#[test]
fn keys_and_webhooks_are_managed_by_owners_and_admins_of_their_organization() {
    let mut log = house();
    let payload = format!(
        r#"{{"name":"a","permissions":[{}]}}"#,
        permission("objects")
    );
    let url = r#"{"url":"https://example.com/","events":["*"]}"#;
    for (kind, payload) in [(Kind::KeyCreate, &*payload), (Kind::WebhookCreate, url)] {
        assert_eq!(why(log.act(MEMBER, &kind, "", payload)), "forbidden");
    }
    for (target, of, rotate, delete) in secrets(&mut log) {
        let update = (of == CountedResource::Webhooks).then_some(Kind::WebhookUpdate);
        let organization = log.wallet(ANN).organization_id;
        let kinds = [Some(&rotate), Some(&delete), update.as_ref()];
        for kind in kinds.into_iter().flatten() {
            assert_eq!(why(log.act(MEMBER, kind, &target, "{}")), "forbidden");
            assert_eq!(why(log.act(STRANGER, kind, &target, "{}")), "not found");
            let unknown = Id::made_by(Prefix::Key, &Hash([9; 32]), 0).to_string();
            assert_eq!(why(log.act(ANN, kind, &unknown, "{}")), "not found");
            assert_eq!(
                why(log.act(ANN, kind, &organization.to_string(), "{}")),
                "not found"
            );
        }
        for payload in ["[]", r#"{"a":1}"#, "null"] {
            assert_eq!(why(log.act(ANN, &delete, &target, payload)), "invalid");
        }
        let held = |log: &Log| log.state.held(organization, of).unwrap();
        assert_eq!((held(&log).live, held(&log).made), (1, 1));
        log.act(ANN, &delete, &target, "{}").unwrap();
        assert_eq!((held(&log).live, held(&log).made), (0, 1));
        for kind in kinds.into_iter().flatten() {
            assert_eq!(why(log.act(ANN, kind, &target, "{}")), "not found");
            assert_eq!(why(log.act(MEMBER, kind, &target, "{}")), "not found");
        }
    }
}

#[test]
fn live_webhooks_are_bounded() {
    let mut log = house();
    let mut last = None;
    for _ in 0..WEBHOOKS_MAX {
        let done = webhook(&mut log, "https://example.com/", &["*"]).unwrap();
        assert_ne!(Some(&done.claims), last.as_ref());
        last = Some(done.claims);
    }
    assert_eq!(WEBHOOKS_MAX, 100);
    let id = log
        .state
        .others_of::<Webhook>()
        .next()
        .unwrap()
        .id
        .to_string();
    assert_eq!(
        why(webhook(&mut log, "https://example.com/", &["*"])),
        "state"
    );
    // Changing one makes no room, ending one does.
    log.act(ANN, &Kind::WebhookUpdate, &id, r#"{"active":false}"#)
        .unwrap();
    assert_eq!(
        why(webhook(&mut log, "https://example.com/", &["*"])),
        "state"
    );
    log.act(ANN, &Kind::WebhookDelete, &id, "").unwrap();
    webhook(&mut log, "https://example.com/", &["*"]).unwrap();
    assert_eq!(
        why(webhook(&mut log, "https://example.com/", &["*"])),
        "state"
    );
}

#[test]
fn a_webhook_has_an_http_url() {
    let mut log = house();
    let long = |bytes: usize| {
        let start = "https://example.com/";
        format!("{start}{}", "a".repeat(bytes - start.len()))
    };
    for good in [
        "https://example.com",
        "http://example.com:8080/a?b=c@d",
        "https://example.com?a@b",
        "https://example.com/@",
        &long(URL_BYTES_MAX),
    ] {
        let done = webhook(&mut log, good, &["*"]).unwrap();
        assert_eq!(left::<Webhook>(&done).url, good);
    }
    for bad in [
        "",
        "example.com",
        "ftp://example.com/",
        "HTTPS://example.com/",
        "https://",
        "https:///a",
        "https://?a",
        "https://ann@example.com/",
        "http://ann:secret@example.com",
        "https://example.com/#a",
        "https://example.com/a b",
        "https://example.com/ä",
        "https://example.com/\u{7f}",
    ] {
        wrong(webhook(&mut log, bad, &["*"]), &[("/url", "format")]);
    }
    for bytes in [URL_BYTES_MAX + 1, URL_BYTES_MAX + 2] {
        wrong(
            webhook(&mut log, &long(bytes), &["*"]),
            &[("/url", "range")],
        );
    }
}

#[test]
fn a_webhook_names_its_events_once() {
    let mut log = house();
    let url = "https://example.com/";
    let good = ["*", "object.created", "batch.sealed"];
    let done = webhook(&mut log, url, &good).unwrap();
    assert_eq!(left::<Webhook>(&done).events, good);
    wrong(webhook(&mut log, url, &[]), &[("/events", "range")]);
    wrong(
        webhook(
            &mut log,
            url,
            &["*", "object.made", "batch.sealed", "*", "batch.sealed"],
        ),
        &[
            ("/events/1", "format"),
            ("/events/3", "duplicate"),
            ("/events/4", "duplicate"),
        ],
    );
    for (count, is_over) in [(0, false), (1, true), (2, true)] {
        let count = WEBHOOK_EVENTS_MAX + count;
        let done = webhook(&mut log, url, &vec!["*"; count]);
        let over = ("/events".to_owned(), "range".to_owned());
        assert_eq!(places(done).contains(&over), is_over, "{count}");
    }
    assert_eq!(WEBHOOK_EVENTS_MAX, 32);
}

#[test]
fn a_webhook_changes_in_what_is_named() {
    let mut log = house();
    let payload =
        r#"{"url":"https://example.com/","events":["*"],"description":"d","active":false}"#;
    let done = log.act(ANN, &Kind::WebhookCreate, "", payload).unwrap();
    let made = left::<Webhook>(&done).clone();
    assert!(!made.active && made.description == "d");
    let target = made.id.to_string();
    let mut update = |payload: &str| log.act(ANN, &Kind::WebhookUpdate, &target, payload);
    let done = update("{}").unwrap();
    let same = left::<Webhook>(&done);
    let expected = Webhook {
        trace: same.trace,
        ..made.clone()
    };
    assert_eq!((same, same.trace.version), (&expected, 2));
    let done = update(r#"{"url":"http://example.org","active":true}"#).unwrap();
    let next = left::<Webhook>(&done);
    assert_eq!(
        (next.url.as_str(), next.active),
        ("http://example.org", true)
    );
    assert_eq!(
        (&next.events, &next.description),
        (&made.events, &made.description)
    );
    let done = update(r#"{"events":["batch.sealed"],"description":""}"#).unwrap();
    let next = left::<Webhook>(&done);
    assert_eq!(
        (next.url.as_str(), next.active),
        ("http://example.org", true)
    );
    assert_eq!(
        (&next.events[..], &*next.description),
        (&["batch.sealed".to_owned()][..], "")
    );
    let description = |chars: usize| format!(r#"{{"description":"{}"}}"#, "é".repeat(chars));
    assert!(update(&description(4_000)).is_ok());
    wrong(update(&description(4_001)), &[("/description", "range")]);
    wrong(
        update(r#"{"url":"x","events":[]}"#),
        &[("/url", "format"), ("/events", "range")],
    );
    wrong(update(r#"{"secret":"x"}"#), &[("/secret", "unknown")]);
    // Without the member, a webhook is active.
    let done = webhook(&mut log, "https://example.com/", &["*"]).unwrap();
    assert!(left::<Webhook>(&done).active);
}

#[test]
fn the_operators_server_switches_an_active_webhook_off() {
    let mut log = house();
    let done = webhook(&mut log, "https://example.com/", &["*"]).unwrap();
    let target = left::<Webhook>(&done).id.to_string();
    let off = Kind::SystemWebhookOff;
    let reason = r#"{"reason":"gone"}"#;
    assert_eq!(why(log.act(ANN, &off, &target, reason)), "forbidden");
    wrong(
        log.act(OPERATORS, &off, &target, "{}"),
        &[("/reason", "required")],
    );
    let done = log.act(OPERATORS, &off, &target, reason).unwrap();
    let webhook = left::<Webhook>(&done);
    assert_eq!(
        (webhook.active, webhook.deleted, webhook.trace.version),
        (false, false, 2)
    );
    assert_eq!(why(log.act(OPERATORS, &off, &target, reason)), "state");
    log.act(ANN, &Kind::WebhookUpdate, &target, r#"{"active":true}"#)
        .unwrap();
    log.act(ANN, &Kind::WebhookDelete, &target, "").unwrap();
    assert_eq!(why(log.act(OPERATORS, &off, &target, reason)), "state");
}

#[test]
fn a_file_is_named_and_described_by_what_was_signed() {
    let caller = Caller {
        wallet_id: Id::made_by(Prefix::Wallet, &Hash::ZERO, 0),
        organization_id: Id::made_by(Prefix::Organization, &Hash::ZERO, 0),
        role: Role::Member,
        address: ANN,
    };
    let sha256 = Hash([7; 32]);
    let payload = format!(r#"{{"sha256":"{sha256}","size_bytes":5,"media_type":"text/plain"}}"#);
    let digest = digest_text(&sha256);
    let content = Hash([8; 32]);
    let create = |name: &str, payload: &str, signed: &str| {
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &Kind::FileCreate,
            target: name,
            payload,
            signed,
            content: &content,
        };
        let made = file::create(&caller, &input);
        let decided = resources::decide(&FoldState::default(), &caller, None, &input);
        let decided = decided.map(|decision| left::<FileRecord>(&decision).clone());
        assert_eq!(made, decided);
        made
    };
    let made = create("a.txt", &payload, &digest).unwrap();
    assert_eq!(
        (
            made.name.as_str(),
            made.size_bytes,
            made.media_type.as_str()
        ),
        ("a.txt", 5, "text/plain")
    );
    assert_eq!((made.sha256, made.trace.version), (sha256, 1));
    assert_eq!(
        (made.organization_id, made.wallet_id),
        (caller.organization_id, caller.wallet_id)
    );
    wrong(
        create("a.txt", &payload, &digest_text(&Hash([6; 32]))),
        &[("", "range")],
    );
    wrong(
        create("a.txt", r#"{"sha256":"x"}"#, &digest),
        &[("/sha256", "type")],
    );
    for good in ["a", " a", &"é".repeat(255)] {
        assert_eq!(create(good, &payload, &digest).unwrap().name, good);
    }
    for bad in ["", " ", "a\nb", &"é".repeat(256), &"é".repeat(257)] {
        wrong(create(bad, &payload, &digest), &[("/name", "range")]);
    }
}
