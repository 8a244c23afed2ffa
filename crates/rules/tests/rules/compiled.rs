//! Templates with compiled schemas: sharing between versions, indexed places, and checked payloads.

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{ActionRule, ResourceTrace, Template, Who};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_rules::{ActionInput, Refusal, TemplateRules};

const MARKED: &str = r#"{"properties":{"a":{"x-index":true}}}"#;

fn template(schema: Option<&str>, rules: &[(&str, Option<&str>)]) -> Template {
    let rule = |(kind, schema): &(&str, Option<&str>)| ActionRule {
        kind: Kind::of_text(kind).unwrap(),
        who: Who::Owner,
        schema: schema.map(str::to_owned),
    };
    Template {
        id: Id::made_by(Prefix::Template, &Hash::ZERO, 0),
        organization_id: Id::made_by(Prefix::Organization, &Hash::ZERO, 0),
        name: "name".to_owned(),
        description: "about it".to_owned(),
        properties: r#"{"a":1}"#.to_owned(),
        schema: schema.map(str::to_owned),
        max_supply: None,
        actions: rules.iter().map(rule).collect(),
        public_access: false,
        variation_count: 0,
        trace: ResourceTrace::NEW,
    }
}

#[test]
fn versions_with_the_same_schemas_share_them() {
    let rules = [("x.a", Some("{}")), ("x.b", None)];
    let first = TemplateRules::from(template(Some(MARKED), &rules));
    let renamed = Template {
        name: "other".to_owned(),
        ..template(Some(MARKED), &rules)
    };
    let next = TemplateRules::sharing(renamed.clone(), &first);
    assert!(next.shares_with(&first) && first.shares_with(&next));
    assert_eq!((next.template(), next.name.as_str()), (&renamed, "other"));
    assert!(next != first && next == TemplateRules::from(renamed));
    for other in [
        template(Some("{}"), &rules),
        template(None, &rules),
        template(Some(MARKED), &rules[..1]),
        template(Some(MARKED), &[("x.a", None), ("x.b", None)]),
        template(None, &[]),
    ] {
        let next = TemplateRules::sharing(other.clone(), &first);
        assert!(!next.shares_with(&first), "{other:?}");
        assert_eq!(next.template(), &other);
        assert_eq!(format!("{next:?}"), format!("{other:?}"));
    }
    let again = TemplateRules::from(template(Some(MARKED), &rules));
    assert!(again == first && !again.shares_with(&first));
}

#[test]
fn what_a_template_takes_is_its_texts_and_its_schemas() {
    // Name, description and properties.
    let texts = 4 + 8 + 7;
    let bytes = |of: Template| TemplateRules::from(of).bytes_compiled();
    assert_eq!(bytes(template(None, &[("x.a", None)])), texts);
    let schema = r#"{"pattern":"abc"}"#;
    let compiled = kedge_rules::schema::bytes_compiled(schema);
    assert!(compiled > 1_000);
    assert_eq!(bytes(template(Some(schema), &[])), texts + compiled);
    let rules = [("x.a", Some(schema)), ("x.b", None), ("x.c", Some(schema))];
    assert_eq!(bytes(template(Some(schema), &rules)), texts + 3 * compiled);
}

#[test]
fn places_are_indexed_if_a_schema_marks_them() {
    let indexed = |schema| {
        let rules = TemplateRules::from(template(schema, &[]));
        rules.indexed().map(|paths| paths.values(r#"{"a":true}"#))
    };
    assert_eq!(indexed(Some(MARKED)), Some(vec![vec![0x21]]));
    for none in [
        None,
        Some("{}"),
        Some(r#"{"properties":{"a":{"x-index":false}}}"#),
    ] {
        assert_eq!(indexed(none), None);
    }
}

#[test]
fn a_payload_is_checked_by_the_schema_of_its_own_kind() {
    let number = r#"{"required":["number"]}"#;
    let word = r#"{"required":["word"]}"#;
    let rules = [
        ("x.free", None),
        ("x.number", Some(number)),
        ("x.word", Some(word)),
        ("x.wrong", Some("{")),
    ];
    let rules = TemplateRules::from(template(Some("{"), &rules));
    let check = |kind: &str, payload: &str| {
        let kind = Kind::of_text(kind).unwrap();
        let input = ActionInput {
            link: None,
            allowance: None,
            kind: &kind,
            target: "",
            payload,
            signed: payload,
            content: &Hash::ZERO,
        };
        (
            rules.check_payload(&input),
            rules.check_properties("{}", &input),
        )
    };
    let pointer = |done| match done {
        Err(Refusal::Invalid(fields)) => fields[0].pointer.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(check("x.free", "{}").0, Ok(()));
    assert_eq!(check("x.none", "{}").0, Ok(()));
    assert_eq!(check("x.number", r#"{"number":1}"#).0, Ok(()));
    assert_eq!(check("x.word", r#"{"word":1}"#).0, Ok(()));
    assert_eq!(pointer(check("x.number", r#"{"word":1}"#).0), "/number");
    assert_eq!(pointer(check("x.word", r#"{"number":1}"#).0), "/word");
    // The rules accept no template with an unreadable schema; one that has it takes no steps.
    let unreadable =
        Refusal::State("the template's schema cannot be read; make another template".into());
    assert_eq!(check("x.wrong", "{}").0, Err(unreadable.clone()));
    assert_eq!(check("x.free", "{}").1, Err(unreadable));
}
