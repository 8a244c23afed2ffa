//! `kedge import` of CSV: how fields are read, by the template's schema and the options.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kedge_client::types::VariationResource;
use kedge_client::{Account, ListQuery, NewApiKey, NewTemplate, NewVariation, ProofForm};
use kedge_protocol::Id;
use kedge_protocol::resource::{Area, Crud, Permission};
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::import::{Place, properties, ticket};
use crate::support::server::Server;
use crate::support::{connect, register};
use crate::{done, refused};

/// The options that describe the columns.
const SHAPE: [&str; 14] = [
    "--delimiter",
    ";",
    "--key",
    "sku",
    "--map",
    "/address/zip=zip",
    "--map",
    "/address/floor=Etage",
    "--variation",
    "kind",
    "--owner",
    "to",
    "--omit",
    "internal",
];

/// An API key with only the rights that the help names.
async fn api_key(place: &Place) -> PathBuf {
    let may = |resource, create| Permission {
        resource,
        crud: Crud {
            create,
            read: true,
            ..Crud::default()
        },
    };
    let key = NewApiKey {
        name: "importer".to_owned(),
        permissions: vec![
            may(Area::Templates, false),
            may(Area::Events, false),
            may(Area::Actions, true),
        ],
        expires_at: None,
    };
    let made = place.account.create_api_key(&key).await.unwrap();
    let path = place.write("api-key", made.resource.key + "\n");
    readable_by(&path, 0o600);
    path
}

fn readable_by(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A template with a schema and two variations, and another account as owner.
async fn start() -> (Place, Server, Vec<VariationResource>, Account) {
    let schema = json!({
        "properties": {
            "sku": {"type": "string"},
            "price": {"type": "number"},
            "used": {"type": "boolean"},
            "tags": {"type": "array"},
            "address": {"properties": {"zip": {"type": "string"}, "floor": {"type": "integer"}}},
        },
        "required": ["sku"],
    });
    let template = NewTemplate {
        properties: properties(&json!({"price": 1, "hall": "north"})),
        schema: Some(properties(&schema)),
        ..ticket()
    };
    let (place, server) = Place::start(template).await;
    let variations = ["box", "stalls"].map(|name| NewVariation {
        name: name.to_owned(),
        properties: properties(&json!({ "area": name })),
    });
    let made = place.account.create_variations(place.template, &variations);
    let made = made.await.unwrap().resource.items;
    let client = connect(&place.setup.url()).await;
    let bob = register(&client, SigningKey::from_bytes(&[0x22; 32]).unwrap()).await;
    (place, server, made, bob)
}

/// Compressed, with a byte order mark, quotes, and separators and line ends within fields.
fn write_csv(place: &Place, owner: &str, variation: Id) -> PathBuf {
    let text = format!(
        "\u{feff}sku;price;used;tags;zip;Etage;kind;to;internal\r\n\
         a;12.50;yes;[1, 2];00420;3;box;{owner};x\r\n\
         \"b \"\"quoted\"\"; and\nbroken\";;F;;;;;;\r\n\
         c;123456789012345678901234567890;;;;;{variation};;\r\n",
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    place.write("tickets.csv.gz", gzip.finish().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn csv_becomes_what_the_schema_and_the_options_say() {
    let (place, server, variations, bob) = start().await;
    let owner = bob.address();
    let file = write_csv(&place, &owner.to_string(), variations[1].id);
    let listed = place.path("objects.csv");
    let key = api_key(&place).await;
    let mut import = place.command(&file);
    import.args(SHAPE).arg("--objects").arg(&listed);
    let printed = done(import.arg("--api-key-file").arg(&key));
    assert!(printed.contains("minted     3"), "{printed}");

    let objects = place.objects_by("sku").await;
    let first = &objects["a"];
    let expected = json!({
        "price": 12.5, "hall": "north", "area": "box", "sku": "a", "used": true, "tags": [1, 2],
        "address": {"zip": "00420", "floor": 3},
    });
    assert_eq!(Value::Object(first.properties.clone()), expected);
    assert_eq!(first.owner_address, owner);
    assert_eq!(first.variation_id, Some(variations[0].id));
    let second = &objects["b \"quoted\"; and\nbroken"];
    // An empty field leaves the template's default.
    assert_eq!(second.properties["price"], 1);
    assert_eq!(second.properties["used"], false);
    assert_eq!(second.properties.get("tags"), None);
    assert_eq!(second.owner_address, place.account.address());
    assert_eq!(second.variation_id, None);
    assert_eq!(objects["c"].variation_id, Some(variations[1].id));

    let list = std::fs::read_to_string(&listed).unwrap();
    let (id, sequence) = (first.id, first.sequence);
    let expected = format!("line,key,object_id,sequence\n2,a,{id},{sequence}\n");
    assert!(list.starts_with(&expected), "{list}");
    let quoted = "3,\"b \"\"quoted\"\"; and\nbroken\",obj_";
    assert!(list.contains(quoted), "{list}");

    // The log has every digit of the file.
    let history = place
        .account
        .history(objects["c"].id, &ListQuery::default());
    let mint = history.collect(10).await.unwrap().pop().unwrap();
    let proof = place.account.proof(mint.id, ProofForm::Inclusion).await;
    let payload = serde_json::to_string(&proof.unwrap()).unwrap();
    assert!(
        payload.contains("123456789012345678901234567890"),
        "{payload}"
    );
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_fields_types_and_columns_are_what_the_options_say() {
    let (place, server, ..) = start().await;
    let file = place.write("tickets.tsv", "a\t7\t\nb\t\t8\n");
    let options = ["--columns", "sku,seat,price", "--type", "seat=number"];
    for (empty, prices) in [
        ("omit", [json!(1), json!(8)]),
        ("null", [Value::Null, json!(8)]),
    ] {
        let progress = place.path(empty);
        let mut import = place.import(&file, &options);
        import.args(["--empty", empty, "--progress"]).arg(&progress);
        done(&mut import);
        let newest = place
            .objects()
            .await
            .split_off(if empty == "omit" { 0 } else { 2 });
        let price = |object: &kedge_client::types::ObjectResource| {
            object.properties.get("price").cloned().unwrap_or_default()
        };
        assert_eq!(
            newest.iter().map(price).collect::<Vec<_>>(),
            prices,
            "{empty}"
        );
        assert_eq!(newest[0].properties["seat"], 7);
    }
    // An empty text is no number.
    let mut import = place.import(&file, &options);
    let reported = crate::ran(import.args(["--empty", "text"])).2;
    assert!(
        reported.contains("line 1, column price: \"\" is not a number"),
        "{reported}"
    );

    let key = api_key(&place).await;
    let other = [
        "--columns",
        "sku,seat,price",
        "--key",
        "nothing",
        "--api-key-file",
    ];
    let reported = refused(place.command(&file).args(other).arg(&key), 2);
    assert!(reported.contains("no column \"nothing\""), "{reported}");
    readable_by(&key, 0o644);
    let reported = refused(place.command(&file).args(other).arg(&key), 2);
    assert!(reported.contains("can be read by others"), "{reported}");
    let reported = refused(&mut place.command(&file), 2);
    assert!(reported.contains("--api-key-file or --email"), "{reported}");
    server.stop();
}
