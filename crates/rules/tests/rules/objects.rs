//! Objects after actions, to the byte, and the errors of refused actions.

use kedge_protocol::action::Kind;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ResourceTrace, Template};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::FoldError;
use kedge_rules::replay::{ObjectReplay, PastAction};
use kedge_rules::{ActionInput, FieldError, IntegrityLink, Refusal};

use crate::log::{Log, left, why, wrong};

const ANN: Address = Address([1; 20]);
const BOB: Address = Address([2; 20]);

/// A log with two wallets and a template with these members.
fn house(members: &str) -> (Log, String) {
    let mut log = Log::new();
    log.register(ANN, "ann@example.com", "").unwrap();
    log.register(BOB, "bob@example.com", "").unwrap();
    let payload = format!(r#"{{"name":"t"{members}}}"#);
    let done = log.act(ANN, &Kind::TemplateCreate, "", &payload).unwrap();
    let template = left::<Template>(&done).id.to_string();
    (log, template)
}

fn mint(log: &mut Log, template: &str, payload: &str) -> Result<Object, Refusal> {
    let done = log.act(ANN, &Kind::Mint, template, payload)?;
    Ok(left::<Object>(&done).clone())
}

fn act(log: &mut Log, of: Id, kind: &Kind, payload: &str) -> Result<Object, Refusal> {
    let done = log.act(ANN, kind, &of.to_string(), payload)?;
    Ok(left::<Object>(&done).clone())
}

/// Properties of the objects below, as compact text.
const SAME: &str = r#"{"b":1.50,"a":{"x":1,"y":[1,2]},"é\n":"\u00e9"}"#;

/// Kinds with payloads, and the resulting properties of such an object.
const CHANGES: [(&str, &str, &str); 12] = [
    ("update", r#"{"properties":{}}"#, SAME),
    ("update", "{}", SAME),
    ("update", r#"{"properties":null}"#, SAME),
    (
        "update",
        r#"{"properties": {"c":2e0,"a":{"x":null,"z": 3 },"b":null}}"#,
        r#"{"a":{"y":[1,2],"z":3},"é\n":"\u00e9","c":2e0}"#,
    ),
    (
        "update",
        r#"{"properties":{"\u0061":{"\u0078":{}},"é\n":""}}"#,
        r#"{"b":1.50,"a":{"x":{},"y":[1,2]},"é\n":""}"#,
    ),
    (
        "set_attributes",
        r#"{"attributes":{"c": null,"a":[ ],"d":-0}}"#,
        r#"{"b":1.50,"a":[],"é\n":"\u00e9","c":null,"d":-0}"#,
    ),
    (
        "set_attributes",
        r#"{"attributes":{"é\u000a":1}}"#,
        r#"{"b":1.50,"a":{"x":1,"y":[1,2]},"é\n":1}"#,
    ),
    ("set_attributes", r#"{"attributes":{}}"#, SAME),
    (
        "delete_attributes",
        r#"{"attributes":["a","c","a"]}"#,
        r#"{"b":1.50,"é\n":"\u00e9"}"#,
    ),
    (
        "delete_attributes",
        r#"{"attributes":["é\n","b","a"]}"#,
        "{}",
    ),
    ("delete_attributes", r#"{"attributes":[]}"#, SAME),
    ("emit", r#"{"properties":{"c":1}}"#, SAME),
];

#[test]
fn each_change_leaves_its_text() {
    let (mut log, template) = house("");
    let properties = r#"{"b":1.50,"a":{"x":1,"y":[1, 2]},"é\n":"\u00e9"}"#;
    for (kind, payload, left) in CHANGES {
        let kind = Kind::of_text(kind).unwrap();
        let made = mint(
            &mut log,
            &template,
            &format!(r#"{{"properties":{properties}}}"#),
        )
        .unwrap();
        let next = act(&mut log, made.id, &kind, payload).unwrap();
        let expected = Object {
            properties: left.to_owned(),
            trace: next.trace,
            ..made.clone()
        };
        assert_eq!(next, expected, "{payload}");
        assert_eq!(next.trace.version, 2);
    }
    // Values for members that the object does not have yet.
    let made = mint(&mut log, &template, "{}").unwrap();
    let next = act(
        &mut log,
        made.id,
        &Kind::SetAttributes,
        r#"{"attributes":{"b":1,"a":2}}"#,
    );
    assert_eq!(next.unwrap().properties, r#"{"b":1,"a":2}"#);
}

#[test]
fn a_payload_that_is_wrong_changes_nothing() {
    let (mut log, template) = house("");
    let made = mint(&mut log, &template, "{}").unwrap();
    for (kind, payload, place) in [
        (
            Kind::Update,
            r#"{"properties":[]}"#,
            ("/properties", "type"),
        ),
        (Kind::Update, r#"{"properties":1}"#, ("/properties", "type")),
        (
            Kind::Update,
            r#"{"properties":{},"a":1}"#,
            ("/a", "unknown"),
        ),
        (
            Kind::Update,
            r#"{"properties":{"a":1,"a":1}}"#,
            ("", "syntax"),
        ),
        (
            Kind::SetAttributes,
            r#"{"attributes":[]}"#,
            ("/attributes", "type"),
        ),
        (Kind::SetAttributes, "{}", ("/attributes", "required")),
        (
            Kind::DeleteAttributes,
            r#"{"attributes":{}}"#,
            ("/attributes", "type"),
        ),
        (
            Kind::DeleteAttributes,
            r#"{"attributes":["a",1]}"#,
            ("/attributes/1", "type"),
        ),
        (Kind::DeleteAttributes, "{}", ("/attributes", "required")),
        (Kind::Lock, r#"{"a":1}"#, ("/a", "unknown")),
        (Kind::Burn, r#"{"a":1}"#, ("/a", "unknown")),
        (Kind::Burn, "[]", ("", "type")),
        (Kind::Emit, r#"{"a":1,"a":1}"#, ("", "syntax")),
        (Kind::Emit, "", ("", "syntax")),
        (Kind::Transfer, "{}", ("/to", "required")),
        (Kind::Transfer, r#"{"to":"0x12"}"#, ("/to", "format")),
        (Kind::Transfer, r#"{"to":"ann"}"#, ("/to", "format")),
        (
            Kind::Transfer,
            &*format!(r#"{{"to":"{}"}}"#, made.id),
            ("/to", "format"),
        ),
    ] {
        wrong(act(&mut log, made.id, &kind, payload), &[place]);
    }
    act(&mut log, made.id, &Kind::Lock, "{}").unwrap();
    wrong(
        act(&mut log, made.id, &Kind::Unlock, r#"{"a":1}"#),
        &[("/a", "unknown")],
    );
    assert_eq!(log.state.objects[&made.id].trace.version, 2);
    for target in ["", "obj_1", &template] {
        let done = log.act(ANN, &Kind::Lock, target, "{}");
        assert_eq!(done, Err(Refusal::not_found("object", target)));
    }
}

#[test]
fn a_mint_names_what_it_is_made_of_and_for_whom() {
    let (mut log, template) = house(r#","properties":{"a":1,"b":{"c":2}}"#);
    let names = r#"{"variations":[{"name":"v","properties":{"b":{"d":3}}}]}"#;
    let variation = |log: &mut Log, of: &str| {
        let done = log.act(ANN, &Kind::TemplateVariations, of, names).unwrap();
        done.images[1].id()
    };
    let own = variation(&mut log, &template);
    let done = log
        .act(ANN, &Kind::TemplateCreate, "", r#"{"name":"u"}"#)
        .unwrap();
    let others = left::<Template>(&done).id.to_string();
    let other = variation(&mut log, &others);
    let bob = log.wallet(BOB);
    let payload = format!(
        r#"{{"template_id":"{template}","variation_id":"{own}","properties":{{"a":null}},"to":"{}"}}"#,
        bob.id
    );
    let made = mint(&mut log, &template, &payload).unwrap();
    assert_eq!(made.properties, r#"{"b":{"c":2,"d":3}}"#);
    assert_eq!(made.variation_id, Some(own));
    assert_eq!((made.owner_id, made.owner_address), (bob.id, BOB));
    let to = format!(r#"{{"to":"{BOB}"}}"#);
    let made = mint(&mut log, &template, &to).unwrap();
    assert_eq!((made.owner_id, made.variation_id), (bob.id, None));
    assert_eq!(made.properties, r#"{"a":1,"b":{"c":2}}"#);
    let made = mint(&mut log, &template, "{}").unwrap();
    assert_eq!(made.owner_address, ANN);

    wrong(
        mint(
            &mut log,
            &template,
            &format!(r#"{{"template_id":"{others}"}}"#),
        ),
        &[("/template_id", "range")],
    );
    wrong(
        mint(&mut log, &template, r#"{"properties":[]}"#),
        &[("/properties", "type")],
    );
    wrong(
        mint(&mut log, &template, r#"{"to":"0x"}"#),
        &[("/to", "format")],
    );
    wrong(
        mint(&mut log, &template, r#"{"owner":"x"}"#),
        &[("/owner", "unknown")],
    );
    for text in [other.to_string(), "var_1".to_owned(), template.clone()] {
        let done = mint(
            &mut log,
            &template,
            &format!(r#"{{"variation_id":"{text}"}}"#),
        );
        assert_eq!(done, Err(Refusal::not_found("variation", &text)));
    }
    for text in [
        Id::made_by(Prefix::Wallet, &Hash([9; 32]), 0).to_string(),
        Address([9; 20]).to_string(),
    ] {
        let done = mint(&mut log, &template, &format!(r#"{{"to":"{text}"}}"#));
        assert_eq!(done, Err(Refusal::not_found("wallet", &text)));
    }
    let unknown = Id::made_by(Prefix::Template, &Hash([9; 32]), 0).to_string();
    for target in [&*unknown, "tpl_1", ""] {
        let done = mint(&mut log, target, "{}");
        assert_eq!(done, Err(Refusal::not_found("template", target)));
    }
}

/// A logged action in the form of a replay.
fn replay(
    replay: &mut ObjectReplay,
    log: &Log,
    record: &RequestRecord<'_>,
    action: &ActionRecord<'_>,
) -> Result<(), FoldError> {
    let past = PastAction {
        action,
        content: &record.content(&record.actions[0]),
        wallet_id: record.wallet_id,
        sequence: record.first_sequence,
        timestamp_ms: record.timestamp_ms,
    };
    replay.apply(&log.state, &past)
}

#[test]
fn an_object_of_a_template_that_changed_since_begins_with_what_it_had() {
    let (mut log, template) = house(r#","properties":{"a":1}"#);
    let made = mint(&mut log, &template, r#"{"properties":{"own":true}}"#).unwrap();
    let minted = log.records.last().unwrap().clone();
    let burned = act(&mut log, made.id, &Kind::Burn, "{}").unwrap();
    let burning = log.records.last().unwrap().clone();
    let changed = r#"{"properties":{"b":2}}"#;
    log.act(ANN, &Kind::TemplateUpdate, &template, changed)
        .unwrap();

    let before = ObjectReplay::after(None).beginning_with(Some(r#"{"a":1}"#.to_owned()));
    let mut steps = before;
    replay(&mut steps, &log, &minted, &minted.actions[0]).unwrap();
    assert_eq!(steps.clone().into_object().as_ref(), Some(&made));
    // The initial properties no longer matter.
    let mut steps = steps.beginning_with(Some("{}".to_owned()));
    assert_eq!(steps.clone().into_object().as_ref(), Some(&made));
    replay(&mut steps, &log, &burning, &burning.actions[0]).unwrap();
    assert_eq!(steps.into_object(), Some(burned));

    let mut now = ObjectReplay::default().beginning_with(None);
    replay(&mut now, &log, &minted, &minted.actions[0]).unwrap();
    let now = now.into_object().unwrap();
    assert_eq!(now.properties, r#"{"b":2,"own":true}"#);
}

#[test]
fn a_replay_goes_on_only_from_the_version_before() {
    let (mut log, template) = house("");
    let made = mint(&mut log, &template, "{}").unwrap();
    let minted = log.records.last().unwrap().clone();
    act(&mut log, made.id, &Kind::Lock, "{}").unwrap();
    let locking = log.records.last().unwrap().clone();
    let changes: [fn(&mut ActionRecord<'_>); 5] = [
        |action| action.version += 1,
        |action| action.version -= 1,
        |action| action.previous_integrity.0[0] ^= 1,
        |action| action.previous_sequence += 1,
        |action| action.resource.bytes[0] ^= 1,
    ];
    for (record, before) in [(&minted, None), (&locking, Some(made.clone()))] {
        let sequence = record.first_sequence;
        let differs = Err(FoldError::Differs { sequence });
        for change in changes {
            let mut action = record.actions[0].clone();
            change(&mut action);
            let mut steps = ObjectReplay::after(before.clone());
            assert_eq!(replay(&mut steps, &log, record, &action), differs);
            assert_eq!(steps.into_object(), before);
        }
    }
    // A mint is the first action, and no other kind is.
    let sequence = minted.first_sequence;
    let mut first = minted.actions[0].clone();
    first.kind = Kind::Emit;
    let done = replay(&mut ObjectReplay::default(), &log, &minted, &first);
    assert_eq!(done, Err(FoldError::Differs { sequence }));
    let sequence = locking.first_sequence;
    let mut second = locking.actions[0].clone();
    second.kind = Kind::Mint;
    let done = replay(
        &mut ObjectReplay::after(Some(made)),
        &log,
        &locking,
        &second,
    );
    assert_eq!(done, Err(FoldError::Differs { sequence }));
}

#[test]
fn an_integrity_that_was_hashed_before_counts_from_its_own_base() {
    let content = Hash([7; 32]);
    let trace = ResourceTrace::NEW.next(&Hash([1; 32]));
    let next = Hash([8; 32]);
    let extended = |link| {
        let input = ActionInput {
            link,
            allowance: None,
            kind: &Kind::Lock,
            target: "",
            payload: "",
            signed: "",
            content: &content,
        };
        input.extend(&trace)
    };
    let previous = trace.integrity;
    assert_eq!(
        extended(Some(IntegrityLink { previous, next })).integrity,
        next
    );
    assert_eq!(extended(None), trace.next(&content));
    let previous = Hash([2; 32]);
    assert_eq!(
        extended(Some(IntegrityLink { previous, next })),
        trace.next(&content)
    );
    assert_eq!(extended(None).version, 2);
}

#[test]
fn a_refusal_has_a_code_and_words() {
    let field = |pointer: &str| FieldError {
        pointer: pointer.to_owned(),
        code: "type".into(),
        message: "must be a JSON object".to_owned(),
    };
    for (refusal, code, words) in [
        (
            Refusal::Invalid(vec![field("")]),
            "VALIDATION_ERROR",
            "the body must be a JSON object",
        ),
        (
            Refusal::Invalid(vec![field("/a")]),
            "VALIDATION_ERROR",
            "/a must be a JSON object",
        ),
        (
            Refusal::Invalid(vec![field("/a"), field("/b")]),
            "VALIDATION_ERROR",
            "2 places in the request are not valid",
        ),
        (
            Refusal::not_found("object", "obj_1"),
            "RESOURCE_NOT_FOUND",
            "there is no object \"obj_1\", or it is not yours to see",
        ),
        (Refusal::Forbidden("no".into()), "FORBIDDEN", "no"),
        (
            Refusal::State("not now".into()),
            "STATE_VIOLATION",
            "not now",
        ),
        (
            Refusal::ObjectTooLarge { bytes: 1_048_577 },
            "OBJECT_TOO_LARGE",
            "the properties would be 1048577 bytes of compact JSON; the limit is 1048576",
        ),
        (
            Refusal::Precondition {
                resource: "template".into(),
                version: 3,
            },
            "PRECONDITION_FAILED",
            "the template is at version 3; read it again before you retry",
        ),
        (Refusal::Conflict("taken".into()), "CONFLICT", "taken"),
        (
            Refusal::EmailTaken,
            "EMAIL_TAKEN",
            "another wallet has this e-mail address; log in, or use another one",
        ),
        (
            Refusal::Unavailable,
            "UNAVAILABLE",
            "what the action needs could not be read now; try again",
        ),
    ] {
        assert_eq!((refusal.code(), &*refusal.message()), (code, words));
        let stored = serde_json::to_string(&refusal).unwrap();
        assert_eq!(serde_json::from_str::<Refusal>(&stored).unwrap(), refusal);
    }
    // Stored before the member `resource` existed.
    let stored: Refusal = serde_json::from_str(r#"{"Precondition":{"version":3}}"#).unwrap();
    assert_eq!(
        stored.message(),
        "the object is at version 3; read it again before you retry"
    );
}

#[test]
fn whose_a_kind_is_is_said_when_it_is_refused() {
    let (mut log, template) =
        house(r#","public_access":true,"actions":[{"kind":"lock","who":"issuer"}]"#);
    let made = mint(&mut log, &template, "{}").unwrap().id.to_string();
    for (kind, words) in [
        (
            "lock",
            "lock is reserved for owners and admins of the template's organization",
        ),
        ("update", "update is reserved for the object's owner"),
        ("x.use", "the template does not allow x.use"),
    ] {
        let kind = Kind::of_text(kind).unwrap();
        let done = log.act(BOB, &kind, &made, "{}");
        assert_eq!(done, Err(Refusal::Forbidden(words.into())));
    }
    assert_eq!(why(log.act(BOB, &Kind::Mint, &template, "{}")), "forbidden");
}
