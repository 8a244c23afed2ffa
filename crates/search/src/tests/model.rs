//! Randomized comparison of searches with the reference evaluator: the same objects, in the same order, page by page.

use std::cmp::Ordering;
use std::fmt::Write as _;

use kedge_protocol::Id;
use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_rules::Caller;
use kedge_storage::StoreSnapshot;

use super::language::{F, Known, PATHS};
use super::store::{NewObject, NewTemplate, TestStore, caller, organization, template};
use super::values::{Rng, V};
use crate::SearchError;
use crate::sort::{self, SortBy};
use crate::{SearchFilter, SearchPageRequest, count, parse, search};

pub(super) const OBJECTS: u64 = 700;
const SEARCHES: u64 = 1_500;
const TEMPLATES: [NewTemplate<'static>; 5] = [
    (1, 1, &["price", "size.w", "name"], false),
    (2, 1, &[], true),
    (3, 1, &["name"], false),
    (4, 2, &["price", "name"], true),
    (5, 2, &["price"], false),
];
/// Wallets 1 and 2 belong to the first organization.
pub(super) const WALLETS: u64 = 4;

fn objects(rng: &mut Rng, store: &mut TestStore) -> Vec<Known> {
    let mut minted = [0; TEMPLATES.len()];
    let known = (0..OBJECTS).map(|_| {
        let paths: Vec<&str> = PATHS.into_iter().filter(|_| !rng.one_in(4)).collect();
        let values: Vec<(&str, V)> = paths
            .into_iter()
            .map(|path| (path, V::random(rng, 2)))
            .collect();
        let mut properties = String::from(r#"{"filler":[1,{"price":7}]"#);
        for (path, value) in &values {
            let json = value.json(rng);
            let member = match path.split_once('.') {
                // A dot within the key.
                Some((outer, inner)) if outer.ends_with('\\') => {
                    format!(r#""{}.{inner}":{json}"#, outer.trim_end_matches('\\'))
                }
                Some((outer, inner)) => format!(r#""{outer}":{{"{inner}":{json}}}"#),
                None => format!(r#""{path}":{json}"#),
            };
            write!(properties, ",{member}").unwrap();
        }
        properties.push('}');
        let template = rng.below(TEMPLATES.len() as u64) as usize;
        minted[template] += 1;
        let object = store.add(NewObject {
            template,
            owner: 1 + rng.below(WALLETS),
            properties,
            status: rng.pick(&[
                ObjectStatus::Active,
                ObjectStatus::Active,
                ObjectStatus::Locked,
                ObjectStatus::Burned,
            ]),
            changed_after: rng.below(3),
        });
        Known { object, values }
    });
    known.collect()
}

fn sees(caller: &Caller, filter: &F, known: &Known) -> bool {
    let object = &known.object;
    let public = TEMPLATES
        .iter()
        .any(|(number, _, _, public)| *public && template(*number) == object.template_id);
    object.organization_id == caller.organization_id
        || object.owner_id == caller.wallet_id
        || filter.names(known) && public
}

/// Whether the server supports sorting by this property.
fn is_served(caller: &Caller, filter: &F, path: &str) -> bool {
    let mut templates = None;
    filter.template(&mut templates);
    let Some([only]) = templates.as_deref() else {
        return false;
    };
    TEMPLATES.iter().any(|(number, of, indexed, public)| {
        template(*number) == *only
            && indexed.contains(&path)
            && (*public || organization(*of) == caller.organization_id)
    })
}

/// All pages of a search.
fn pages(
    snapshot: &StoreSnapshot,
    caller: &Caller,
    filter: &SearchFilter,
    sort: &str,
    limit: usize,
) -> Result<Vec<Object>, SearchError> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let wanted = SearchPageRequest {
            sort: sort::read(Some(sort)).unwrap(),
            limit,
            bytes_max: usize::MAX,
            after,
        };
        let page = search(snapshot, caller, filter, &wanted)?;
        assert!(
            page.objects.len() <= limit && (page.place.is_none() || page.objects.len() == limit)
        );
        found.extend(page.objects);
        match page.place {
            Some(place) => after = Some(place),
            None => return Ok(found),
        }
    }
}

// Holds invariant 44.
#[test]
fn searches_are_what_a_plain_reading_gives() {
    let mut rng = Rng::seeded();
    let mut store = TestStore::new(&TEMPLATES, WALLETS);
    let known = objects(&mut rng, &mut store);
    let minted = TEMPLATES.map(|(number, ..)| {
        let of_template = |known: &&Known| known.object.template_id == template(number);
        (number, known.iter().filter(of_template).count() as u64)
    });
    let snapshot = store.snapshot(&minted);
    let (mut found_some, mut refused) = (0, 0);
    for _ in 0..SEARCHES {
        let caller = rng.pick(&[caller(1, 1), caller(3, 2), caller(4, 3)]);
        let mut model = F::random(&mut rng, 3);
        if rng.one_in(2) {
            let one = F::Ids("template_id", "eq", vec![template(1 + rng.below(5))]);
            model = F::And(vec![one, model]);
        }
        let json = model.json(&mut rng);
        let field = rng.pick(&[
            "created_at",
            "updated_at",
            "properties.price",
            "properties.name",
        ]);
        let descending = rng.one_in(2);
        let order = if descending { "desc" } else { "asc" };
        let sort = format!(r#"[{{"field":"{field}","order":"{order}"}}]"#);
        let context = format!("{json} by {sort} for {caller:?}");

        let filter = parse::filter(&json).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        let mut expected: Vec<&Known> = known
            .iter()
            .filter(|known| model.holds(known) && sees(&caller, &model, known))
            .collect();
        let counted = count(&snapshot, &caller, &filter).unwrap();
        assert_eq!(counted.count, expected.len() as u64, "{context}");

        let limit = 1 + rng.below(40) as usize;
        let found = pages(&snapshot, &caller, &filter, &sort, limit);
        let path = field.strip_prefix("properties.");
        if path.is_some_and(|path| !is_served(&caller, &model, path)) {
            assert!(matches!(found, Err(SearchError::Field(_))), "{context}");
            refused += 1;
            continue;
        }
        expected.sort_by(|one, other| {
            let created = |known: &Known| known.object.trace.created_sequence;
            let order = match (field, path) {
                (_, Some(path)) => V::cmp_places(one.value(path), other.value(path)),
                ("updated_at", _) => one.object.trace.sequence.cmp(&other.object.trace.sequence),
                _ => Ordering::Equal,
            };
            order.then(created(one).cmp(&created(other)))
        });
        if descending {
            expected.reverse();
        }
        let expected: Vec<Id> = expected.iter().map(|known| known.object.id).collect();
        let found: Vec<Id> = found.unwrap().iter().map(|object| object.id).collect();
        assert_eq!(found, expected, "{context}");
        found_some += usize::from(!found.is_empty());
    }
    assert!(found_some > 300 && refused > 50, "{found_some} {refused}");
    assert_eq!(sort::read(None).unwrap().by, SortBy::Created);
}
