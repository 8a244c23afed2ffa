//! Size limits to the byte: one object's properties may be 1,048,576 bytes of compact JSON, whatever made them, and not
//! one more.

use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{OBJECT_PROPERTIES_BYTES_MAX, VARIATIONS_MAX};
use kedge_protocol::resource::{Object, Role, Template};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::FoldState;
use kedge_rules::world::{ActionInput, Caller};
use kedge_rules::{Refusal, object, template};

const MAX: usize = 1_048_576;
const CONTENT: Hash = Hash([0x31; 32]);

fn issuer() -> Caller {
    Caller {
        wallet_id: Id::made_by(Prefix::Wallet, &Hash::ZERO, 0),
        organization_id: Id::made_by(Prefix::Organization, &Hash::ZERO, 0),
        role: Role::Owner,
        address: Address([1; 20]),
    }
}

pub(crate) fn create(properties: &str) -> Result<Template, Refusal> {
    let payload = format!(r#"{{"name":"large","properties":{properties}}}"#);
    let input = ActionInput {
        link: None,
        allowance: None,
        kind: &Kind::TemplateCreate,
        target: "",
        payload: &payload,
        signed: &payload,
        content: &CONTENT,
    };
    template::create(&FoldState::default(), &issuer(), &input)
}

fn mint(template: &Template, properties: &str) -> Result<Object, Refusal> {
    let mut world = FoldState::default();
    world
        .templates
        .insert(template.id, Arc::new(template.clone().into()));
    let payload = format!(r#"{{"properties":{properties}}}"#);
    let input = ActionInput {
        link: None,
        allowance: None,
        kind: &Kind::Mint,
        target: &template.id.to_string(),
        payload: &payload,
        signed: &payload,
        content: &CONTENT,
    };
    object::mint(&world, &issuer(), &input)
}

pub(crate) fn act(
    object: &Object,
    template: &Template,
    kind: &Kind,
    payload: &str,
) -> Result<Object, Refusal> {
    let target = object.id.to_string();
    let input = ActionInput {
        link: None,
        allowance: None,
        kind,
        target: &target,
        payload,
        signed: payload,
        content: &CONTENT,
    };
    object::act(
        &FoldState::default(),
        &issuer(),
        object,
        &template.clone().into(),
        &input,
    )
}

/// An object of one member whose compact text has this many bytes.
fn sized(key: &str, bytes: usize) -> String {
    let frame = format!(r#"{{"{key}":""}}"#).len();
    format!(r#"{{"{key}":"{}"}}"#, "x".repeat(bytes - frame))
}

fn too_large<T: std::fmt::Debug>(made: Result<T, Refusal>, bytes: usize) {
    assert_eq!(made.map(|_| ()), Err(Refusal::ObjectTooLarge { bytes }));
}

#[test]
fn the_bound_is_a_mebibyte() {
    assert_eq!(OBJECT_PROPERTIES_BYTES_MAX, MAX);
}

#[test]
fn minting_to_the_byte() {
    let template = create("{}").unwrap();
    let object = mint(&template, &sized("a", MAX)).unwrap();
    assert_eq!(object.properties.len(), MAX);
    too_large(mint(&template, &sized("a", MAX + 1)), MAX + 1);
    // White space is not counted. Bytes are counted, not characters.
    let spaced = sized("a", MAX).replacen(':', " :\n\t ", 1);
    assert_eq!(mint(&template, &spaced).unwrap().properties.len(), MAX);
    let wide = sized("a", MAX).replacen("xx", "é", 1);
    assert_eq!(wide.len(), MAX);
    assert_eq!(mint(&template, &wide).unwrap().properties.len(), MAX);
    too_large(
        mint(&template, &sized("a", MAX).replacen('x', "é", 1)),
        MAX + 1,
    );
}

#[test]
fn what_a_template_begins_with_counts_too() {
    assert!(create(&sized("t", MAX)).is_ok());
    too_large(create(&sized("t", MAX + 1)), MAX + 1);
    let template = create(&sized("t", 600_000)).unwrap();
    // Two members share the braces, and need a comma: one byte less than two objects.
    let fits = MAX - 600_000 + 1;
    assert_eq!(
        mint(&template, &sized("own", fits))
            .unwrap()
            .properties
            .len(),
        MAX
    );
    too_large(mint(&template, &sized("own", fits + 1)), MAX + 1);
    // Replaced values do not count.
    let replaced = mint(&template, &sized("t", MAX)).unwrap();
    assert_eq!(replaced.properties.len(), MAX);
}

#[test]
fn updates_and_attributes_to_the_byte() {
    let template = create("{}").unwrap();
    let object = mint(&template, &sized("a", 500_000)).unwrap();
    let fits = MAX - 500_000 + 1;
    for (kind, member) in [
        (Kind::Update, "properties"),
        (Kind::SetAttributes, "attributes"),
    ] {
        let payload = |bytes| format!(r#"{{"{member}":{}}}"#, sized("b", bytes));
        let largest = act(&object, &template, &kind, &payload(fits)).unwrap();
        assert_eq!(largest.properties.len(), MAX);
        too_large(act(&object, &template, &kind, &payload(fits + 1)), MAX + 1);
        // An object of the largest size can still change and shrink.
        let changed = format!(r#"{{"{member}":{}}}"#, r#"{"b":"y"}"#);
        let shrunk = act(&largest, &template, &kind, &changed).unwrap();
        assert!(shrunk.properties.len() < MAX);
        assert_eq!(shrunk.trace.version, 3);
        let grown = format!(r#"{{"{member}":{{"c":0}}}}"#);
        too_large(
            act(&largest, &template, &kind, &grown),
            MAX + r#","c":0"#.len(),
        );
    }
    let largest = mint(&template, &sized("a", MAX)).unwrap();
    let removed = act(
        &largest,
        &template,
        &Kind::DeleteAttributes,
        r#"{"attributes":["a"]}"#,
    );
    assert_eq!(removed.unwrap().properties, "{}");
}

#[test]
fn variations_are_1_to_500_and_all_or_none() {
    let template = create("{}").unwrap();
    let add = |variations: &[&str]| {
        let payload = format!(r#"{{"variations":[{}]}}"#, variations.join(","));
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &Kind::TemplateVariations,
            target: &template.id.to_string(),
            payload: &payload,
            signed: &payload,
            content: &CONTENT,
        };
        template::add_variations(&issuer(), &template, &input)
    };
    let good = r#"{"name":"v"}"#;
    let (next, made) = add(&[good; VARIATIONS_MAX]).unwrap();
    assert_eq!((next.variation_count, made.len()), (500, 500));
    assert!(matches!(add(&[]), Err(Refusal::Invalid(_))));
    assert!(matches!(
        add(&[good; VARIATIONS_MAX + 1]),
        Err(Refusal::Invalid(_))
    ));
    let Err(Refusal::Invalid(fields)) = add(&[good, good, r#"{"name":""}"#]) else {
        panic!("one wrong variation spoils all");
    };
    assert_eq!(fields[0].pointer, "/variations/2/name");
    let large = format!(r#"{{"name":"v","properties":{}}}"#, sized("a", MAX + 1));
    too_large(add(&[good, &large]), MAX + 1);
}
