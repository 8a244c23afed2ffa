//! JSON Schemas of templates: enforced for all properties and payloads, also in a replay.

use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{Object, ResourceTrace, Role, Template, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::{FoldError, FoldState};
use kedge_rules::world::{ActionInput, Caller};
use kedge_rules::{Refusal, StepAllowance, TemplateRules, object, template};

use crate::world::{Laid, Place, Words, action, request};

const CONTENT: Hash = Hash([0x42; 32]);
const SIGNER: Address = Address([7; 20]);
const SEATS: &str = r#"{"type":"object","required":["hall","seat"],"additionalProperties":false,
    "properties":{"hall":{"enum":["north","south"]},"seat":{"type":"integer","minimum":1},"note":{"type":"string"}}}"#;

fn id(prefix: Prefix) -> Id {
    Id::made_by(prefix, &Hash::ZERO, 0)
}

fn issuer() -> Caller {
    Caller {
        wallet_id: id(Prefix::Wallet),
        organization_id: id(Prefix::Organization),
        role: Role::Owner,
        address: SIGNER,
    }
}

fn wallet_of(caller: Caller) -> Wallet {
    Wallet {
        id: caller.wallet_id,
        organization_id: caller.organization_id,
        role: caller.role,
        nickname: None,
        email: "ann@example.com".to_owned(),
        address: caller.address,
        keys: vec![caller.address],
        trace: ResourceTrace::NEW,
    }
}

fn input<'a>(kind: &'a Kind, target: &'a str, payload: &'a str) -> ActionInput<'a> {
    ActionInput {
        link: None,
        allowance: None,
        kind,
        target,
        payload,
        signed: payload,
        content: &CONTENT,
    }
}

fn create(payload: &str) -> Result<Template, Refusal> {
    let input = input(&Kind::TemplateCreate, "", payload);
    template::create(&FoldState::default(), &issuer(), &input)
}

/// A template of seats: hall by default, and a custom kind that opens a gate.
fn seats() -> Template {
    let payload = format!(
        r#"{{"name":"seats","properties":{{"hall":"north"}},"schema":{SEATS},"actions":[
            {{"kind":"x.open","who":"owner","schema":{{"required":["gate"],"properties":{{"gate":{{"type":"integer"}}}}}}}},
            {{"kind":"x.free","who":"owner"}}]}}"#
    );
    create(&payload).unwrap()
}

pub(crate) fn variation(template: &Template, properties: &str) -> Variation {
    Variation {
        id: Id::made_by(Prefix::Variation, &CONTENT, 0),
        template_id: template.id,
        organization_id: template.organization_id,
        name: "v".to_owned(),
        properties: properties.to_owned(),
        index: 0,
        created_sequence: 1,
        created_at_ms: 1,
    }
}

pub(crate) fn mint(
    template: &Template,
    of: Option<&Variation>,
    own: &str,
) -> Result<Object, Refusal> {
    let mut world = FoldState::default();
    let rules = TemplateRules::from(template.clone());
    world.templates.insert(template.id, Arc::new(rules));
    let named = of.map_or(String::new(), |variation| {
        world
            .variations
            .insert(variation.id, Arc::new(variation.clone()));
        format!(r#""variation_id":"{}","#, variation.id)
    });
    let payload = format!(r#"{{{named}"properties":{own}}}"#);
    let target = template.id.to_string();
    object::mint(&world, &issuer(), &input(&Kind::Mint, &target, &payload))
}

fn act(object: &Object, kind: &Kind, payload: &str) -> Result<Object, Refusal> {
    let target = object.id.to_string();
    let input = input(kind, &target, payload);
    object::act(
        &FoldState::default(),
        &issuer(),
        object,
        &seats().into(),
        &input,
    )
}

#[track_caller]
fn wrong<T: std::fmt::Debug>(done: Result<T, Refusal>, places: &[(&str, &str)]) {
    let Err(Refusal::Invalid(fields)) = done else {
        panic!("{places:?} expected, not {done:?}")
    };
    let found: Vec<(&str, &str)> = fields
        .iter()
        .map(|field| (field.pointer.as_str(), &*field.code))
        .collect();
    assert_eq!(found, places);
}

#[test]
fn what_a_mint_makes_together_fulfils_the_schema() {
    let template = seats();
    // Neither the defaults nor a variation would conform alone: only the merged properties must.
    wrong(
        mint(&template, None, "{}"),
        &[("/properties/seat", "required")],
    );
    let made = mint(&template, None, r#"{"seat":1.0}"#).unwrap();
    assert_eq!(made.properties, r#"{"hall":"north","seat":1.0}"#);
    let front = variation(&template, r#"{"seat":1}"#);
    assert!(mint(&template, Some(&front), "{}").is_ok());
    wrong(
        mint(
            &template,
            Some(&front),
            r#"{"seat":null,"hall":"west","row":2}"#,
        ),
        &[
            ("/properties/hall", "range"),
            ("/properties/row", "unknown"),
            ("/properties/seat", "required"),
        ],
    );
    let back = variation(&template, r#"{"seat":0}"#);
    wrong(
        mint(&template, Some(&back), "{}"),
        &[("/properties/seat", "range")],
    );
    assert!(mint(&template, Some(&back), r#"{"seat":9}"#).is_ok());
}

// Holds invariant 32.
#[test]
fn what_a_change_leaves_fulfils_the_schema() {
    let seat = mint(&seats(), None, r#"{"seat":1,"note":"n"}"#).unwrap();
    for (kind, payload, places) in [
        (
            Kind::Update,
            r#"{"properties":{"seat":"1"}}"#,
            &[("/properties/seat", "type")],
        ),
        (
            Kind::Update,
            r#"{"properties":{"hall":null}}"#,
            &[("/properties/hall", "required")],
        ),
        (
            Kind::SetAttributes,
            r#"{"attributes":{"note":null}}"#,
            &[("/properties/note", "type")],
        ),
        (
            Kind::DeleteAttributes,
            r#"{"attributes":["seat"]}"#,
            &[("/properties/seat", "required")],
        ),
    ] {
        wrong(act(&seat, &kind, payload), places);
    }
    for (kind, payload) in [
        (Kind::Update, r#"{"properties":{"note":null,"seat":2}}"#),
        (Kind::SetAttributes, r#"{"attributes":{"hall":"south"}}"#),
        (Kind::DeleteAttributes, r#"{"attributes":["note"]}"#),
        (Kind::Lock, "{}"),
        (Kind::Emit, r#"{"seat":"anything"}"#),
    ] {
        assert!(act(&seat, &kind, payload).is_ok(), "{kind:?}");
    }
}

#[test]
fn payloads_of_a_templates_own_kinds_fulfil_theirs() {
    let seat = mint(&seats(), None, r#"{"seat":1}"#).unwrap();
    let custom = |name: &str| Kind::of_text(name).unwrap();
    assert!(act(&seat, &custom("x.open"), r#"{"gate":4}"#).is_ok());
    wrong(
        act(&seat, &custom("x.open"), "{}"),
        &[("/gate", "required")],
    );
    wrong(
        act(&seat, &custom("x.open"), r#"{"gate":"4"}"#),
        &[("/gate", "type")],
    );
    assert!(act(&seat, &custom("x.free"), "[1]").is_ok());
}

#[test]
fn a_schema_is_checked_when_it_is_given() {
    let schema = r#"{"properties":{"a":{"type":"strnig"}}}"#;
    wrong(
        create(&format!(r#"{{"name":"t","schema":{schema}}}"#)),
        &[("/schema/properties/a/type", "schema")],
    );
    let rules = format!(
        r#"[{{"kind":"mint","who":"owner"}},{{"kind":"x.a","who":"owner","schema":{schema}}}]"#
    );
    wrong(
        create(&format!(r#"{{"name":"t","actions":{rules}}}"#)),
        &[("/actions/1/schema/properties/a/type", "schema")],
    );
    let remote = r#"{"properties":{"a":{"$ref":"https://example.com/s.json"}}}"#;
    let change = |payload: &str| {
        let (before, target) = (seats(), seats().id.to_string());
        let input = input(&Kind::TemplateUpdate, &target, payload);
        template::update(&FoldState::default(), &issuer(), &before, &input)
    };
    wrong(
        change(&format!(r#"{{"schema":{remote}}}"#)),
        &[("/schema/properties/a/$ref", "format")],
    );
    wrong(
        change(r#"{"schema":{"x-index":true}}"#),
        &[("/schema/x-index", "range")],
    );
    let marked = r#"{"properties":{"a":{"x-index":true}}}"#;
    let changed = change(&format!(r#"{{"schema":{marked},"actions":[]}}"#)).unwrap();
    assert_eq!(changed.schema.as_deref(), Some(marked));
    assert_eq!((changed.actions.len(), changed.trace.version), (0, 2));
    let long = format!(
        r#"{{"name":"t","schema":{{"title":"{}"}}}}"#,
        "x".repeat(64 * 1024)
    );
    wrong(create(&long), &[("/schema", "range")]);
}

#[test]
fn members_without_their_names_are_refused() {
    wrong(create(r#"["t"]"#), &[("", "type")]);
    wrong(
        create(r#"{"name":"t","actions":[["x.a","owner",null]]}"#),
        &[("/actions/0", "type")],
    );
    let template = seats();
    let target = template.id.to_string();
    let add = input(
        &Kind::TemplateVariations,
        &target,
        r#"{"variations":[["v",{}]]}"#,
    );
    wrong(
        template::add_variations(&issuer(), &template, &add),
        &[("/variations/0", "type")],
    );
}

// Holds invariant 32.
/// The fold enforces the same schemas: it accepts a log that conforms to them, and rejects one that does not.
#[test]
fn a_replay_enforces_schemas() {
    let template = seats();
    let wallet = wallet_of(issuer());
    let state = || {
        let mut state = FoldState::default();
        state.wallets.insert(wallet.id, wallet.clone());
        let rules = TemplateRules::from(template.clone());
        state.templates.insert(template.id, Arc::new(rules));
        state
    };
    let words = |kind, target: Id, payload: &str| Words {
        kind,
        target: target.to_string(),
        payload: payload.to_owned(),
    };
    let minted = |payload| {
        let mut record = request(SIGNER, Some(&wallet), 1, 1);
        let words = words(Kind::Mint, template.id, payload);
        let content = record.content(&action(&words, 0, Place::none()));
        let place = Place {
            resource: Id::made_by(Prefix::Object, &content, 0),
            ..Place::none()
        };
        record.actions.push(action(&words, 0, place));
        record
    };
    let refused = |applied| {
        matches!(
            applied,
            Err(FoldError::Refused {
                refusal: Refusal::Invalid(_),
                ..
            })
        )
    };

    let good = minted(r#"{"properties":{"seat":3}}"#);
    let (mut first, mut second) = (state(), state());
    first.apply(&good).unwrap();
    second.apply(&good).unwrap();
    assert_eq!(Laid::open(&first), Laid::open(&second));
    assert!(refused(
        state().apply(&minted(r#"{"properties":{"seat":0}}"#))
    ));

    let object = first.objects.values().next().unwrap().clone();
    let updated = |payload| {
        let mut record = request(SIGNER, Some(&wallet), 2, 2);
        let place = Place {
            resource: object.id,
            version: 2,
            previous_integrity: object.trace.integrity,
            previous_sequence: object.trace.sequence,
        };
        let words = words(Kind::Update, object.id, payload);
        record.actions.push(action(&words, 0, place));
        record
    };
    assert!(refused(
        first.apply(&updated(r#"{"properties":{"seat":"x"}}"#))
    ));
    first
        .apply(&updated(r#"{"properties":{"seat":4}}"#))
        .unwrap();
    assert_eq!(
        first.objects[&object.id].properties,
        r#"{"hall":"north","seat":4}"#
    );
}

/// A template of texts that match a pattern with thousands of positions for every byte.
fn tedious() -> Template {
    let schema = r#"{"properties":{"text":{"pattern":"^[01]*1[01]{2000}2$"}}}"#;
    create(&format!(r#"{{"name":"tedious","schema":{schema}}}"#)).unwrap()
}

// Holds invariant 33.
#[test]
fn what_takes_too_long_to_check_is_refused() {
    let template = tedious();
    let text = |bytes: usize| format!(r#"{{"text":"{}"}}"#, "01".repeat(bytes / 2));
    wrong(
        mint(&template, None, &text(900_000)),
        &[("/properties", "schema")],
    );
    // A short text is checked: it does not match.
    wrong(
        mint(&template, None, &text(4_000)),
        &[("/properties", "schema")],
    );
    mint(&template, None, r#"{"note":"no text"}"#).unwrap();
    let values: Vec<[usize; 1]> = (0..3_000).map(|value| [value]).collect();
    let schema = serde_json::json!({ "items": { "enum": values } });
    let template = create(&format!(
        r#"{{"name":"values","schema":{{"properties":{{"all":{schema}}}}}}}"#
    ));
    let all = |count: usize| format!(r#"{{"all":[{}]}}"#, vec!["[2999]"; count].join(","));
    let template = template.unwrap();
    mint(&template, None, &all(2_000)).unwrap();
    wrong(
        mint(&template, None, &all(100_000)),
        &[("/properties", "schema")],
    );
}

// Holds invariant 210.
#[test]
fn what_one_request_leaves_is_bounded() {
    let tedious = tedious();
    let target = tedious.id.to_string();
    let plain = Template {
        id: tedious.id,
        ..create(r#"{"name":"plain"}"#).unwrap()
    };
    let done = |template: &Template, bytes: usize, allowance: Option<&StepAllowance>| {
        let mut world = FoldState::default();
        let rules = TemplateRules::from(template.clone());
        world.templates.insert(template.id, Arc::new(rules));
        let payload = format!(r#"{{"properties":{{"note":"{}"}}}}"#, "x".repeat(bytes));
        let input = ActionInput {
            allowance,
            ..input(&Kind::Mint, &target, &payload)
        };
        let mint = || object::mint(&world, &issuer(), &input);
        let done = (0..200).take_while(|_| mint().is_ok()).count();
        assert!(done == 200 || matches!(mint(), Err(Refusal::State(_))));
        done
    };
    let slow = done(&tedious, 7_000, Some(&StepAllowance::default()));
    assert!((2..20).contains(&slow), "{slow}");
    let large = done(&plain, 1_000_000, Some(&StepAllowance::default()));
    assert_eq!(large, 67);
    // A replay has no limit: it would refuse what was accepted.
    assert_eq!(done(&tedious, 7_000, None), 200);
}

#[test]
fn one_request_prepares_few_schemas_that_take_long_to_compile() {
    let patterns = |n: usize| {
        let each = (0..60).map(|i| format!(r#""p{i}":{{"pattern":"^[a-zX]{{1,250}}{n}$"}}"#));
        let each: Vec<String> = each.collect();
        format!(r#"{{"properties":{{{}}}}}"#, each.join(","))
    };
    let template = |n: usize, schema: &str| Template {
        id: Id::made_by(Prefix::Template, &CONTENT, u32::try_from(n).unwrap()),
        ..create(&format!(r#"{{"name":"many","schema":{schema}}}"#)).unwrap()
    };
    let done = |templates: &[Template], allowance: Option<&StepAllowance>| {
        let mut world = FoldState::default();
        for template in templates {
            let rules = TemplateRules::from(template.clone());
            world.templates.insert(template.id, Arc::new(rules));
        }
        let mints = templates.iter().cycle().take(100);
        let mut mints = mints.map(|template| {
            let target = template.id.to_string();
            let input = ActionInput {
                allowance,
                ..input(&Kind::Mint, &target, r#"{"properties":{}}"#)
            };
            object::mint(&world, &issuer(), &input).is_ok()
        });
        mints.by_ref().take_while(|is_done| *is_done).count()
    };
    let heavy: Vec<Template> = (0..12).map(|n| template(n, &patterns(n))).collect();
    let light: Vec<Template> = (0..12)
        .map(|n| template(n, r#"{"properties":{"a":{"pattern":"^[a-z]{1,20}$"}}}"#))
        .collect();
    // Each takes about an eighth of a request's limit, however often the request uses it.
    assert_eq!(done(&heavy[..1], Some(&StepAllowance::default())), 100);
    let few = done(&heavy, Some(&StepAllowance::default()));
    assert!((4..10).contains(&few), "{few}");
    assert_eq!(done(&light, Some(&StepAllowance::default())), 100);
    assert_eq!(done(&heavy, None), 100);
}

// Holds invariant 33.
#[test]
fn schemas_of_a_templates_own_kinds_have_so_many_patterns_together() {
    let made = |kinds: usize| {
        let patterns: Vec<String> = (0..10)
            .map(|n| format!(r#""p{n}":{{"pattern":"^a{n}$"}}"#))
            .collect();
        let schema = format!(r#"{{"properties":{{{}}}}}"#, patterns.join(","));
        let rule = |kind| format!(r#"{{"kind":"x.k{kind}","who":"owner","schema":{schema}}}"#);
        let rules: Vec<String> = (0..kinds).map(rule).collect();
        create(&format!(
            r#"{{"name":"kinds","schema":{schema},"actions":[{}]}}"#,
            rules.join(",")
        ))
    };
    made(6).unwrap();
    wrong(made(7), &[("/actions/6/schema", "range")]);
}

// Holds invariant 33.
/// Compiling delays other requests on the actor's thread, including updates of templates. A log's schemas were compiled
/// once already, and must stay valid.
#[test]
fn a_request_compiles_so_much_of_patterns_and_a_log_has_no_such_bound() {
    let create = |pattern: &str, times: usize, allowance: Option<&StepAllowance>| {
        let one = |n| format!(r#""p{n}":{{"pattern":"{pattern}"}}"#);
        let patterns: Vec<String> = (0..times).map(one).collect();
        let schema = format!(r#"{{"properties":{{{}}}}}"#, patterns.join(","));
        let payload = format!(
            r#"{{"name":"heavy","schema":{schema},"actions":[{{"kind":"x.k","who":"owner","schema":{schema}}}]}}"#
        );
        let input = ActionInput {
            allowance,
            ..input(&Kind::TemplateCreate, "", &payload)
        };
        template::create(&FoldState::default(), &issuer(), &input)
    };
    let allowance = StepAllowance::default();
    for (pattern, accepted, refused) in [
        ("[a-z]{1,256}", 64, None),
        ("[a-z]{1,512}", 32, Some(33)),
        (".{1,32}", 51, Some(52)),
        (r"\\p{Lu}{8}", 2, Some(3)),
        ("a{99999999999999999999}", 0, Some(1)),
    ] {
        create(pattern, accepted, Some(&allowance)).unwrap();
        let Some(refused) = refused else { continue };
        let both = [("/schema", "range"), ("/actions/0/schema", "range")];
        wrong(create(pattern, refused, Some(&allowance)), &both);
        // This one is too large by the rules.
        if pattern.len() < 20 {
            create(pattern, refused, None).unwrap();
        }
    }
}
