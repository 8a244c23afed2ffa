//! Mapping of records to objects: the columns of properties, key, owner and variation.

use std::borrow::Cow;

use kedge_rules::json::{JsonMembers, compact, quoted};

use super::args::{ColumnType, EmptyCsvField, ImportArgs, ImportFormat};
use super::csv_types::{convert, names, types_at};
use crate::output::{CliResult, CommandFailure, refuse_usage};

/// A record's fault, and its column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RecordFault {
    pub(super) column: Option<String>,
    pub(super) reason: String,
}

impl RecordFault {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            column: None,
            reason: reason.into(),
        }
    }

    pub(super) fn of(column: &str, reason: impl Into<String>) -> Self {
        Self {
            column: Some(column.to_owned()),
            reason: reason.into(),
        }
    }
}

/// A record's mint request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ImportMint {
    pub(super) key: Option<String>,
    pub(super) owner: Option<String>,
    /// An id or a name.
    pub(super) variation: Option<String>,
    /// As JSON.
    pub(super) properties: String,
}

/// A record's columns with their values as JSON, and the whole record if it is JSON.
pub(super) struct RecordRow<'a> {
    pub(super) members: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub(super) root: Option<&'a str>,
}

pub(super) struct RecordShape {
    at: Option<String>,
    maps: Vec<(Vec<String>, String)>,
    omit: Vec<String>,
    key: Option<String>,
    owner: Option<String>,
    variation: Option<String>,
    types: Vec<(String, ColumnType)>,
    empty: EmptyCsvField,
    allow_extra: bool,
}

/// Types of CSV columns, in order.
pub(super) struct CsvColumns {
    pub(super) names: Vec<String>,
    types: Vec<Vec<ColumnType>>,
    /// Whether each column is a property: an empty field of another column is ignored.
    are_properties: Vec<bool>,
}

/// The keys of a path such as `/a/b`, or the single key of a name.
fn path_of(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        None => vec![field.to_owned()],
        Some(rest) => rest.split('/').map(unescape).collect(),
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

impl RecordShape {
    pub(super) fn new(args: &ImportArgs) -> CliResult<Self> {
        if let Some(at) = &args.properties
            && !at.starts_with('/')
        {
            let why = format!("option --properties: {at:?} must begin with /, such as /data");
            return refuse_usage(why);
        }
        let pairs = args.maps.iter();
        // A row of QLDB's committed view has the document in `data`.
        let document = (args.format == Some(ImportFormat::Qldb)).then(|| "/data".to_owned());
        Ok(Self {
            at: args.properties.clone().or(document),
            allow_extra: args.allow_extra,
            maps: pairs
                .map(|(field, column)| (path_of(field), column.clone()))
                .collect(),
            omit: args.omit.clone(),
            key: args.key.clone(),
            owner: args.owner.clone(),
            variation: args.variation.clone(),
            types: args.types.clone(),
            empty: args.empty,
        })
    }

    /// A fault of the key column.
    pub(super) fn key_fault(&self, reason: String) -> RecordFault {
        RecordFault {
            column: self.key.clone(),
            reason,
        }
    }

    /// Whether a column becomes a property of the same name.
    fn keeps_name(&self, column: &str) -> bool {
        let is = |of: &Option<String>| of.as_deref() == Some(column);
        !(is(&self.owner)
            || is(&self.variation)
            || self.omit.iter().any(|omitted| omitted == column)
            || self.maps.iter().any(|(_, mapped)| mapped == column))
    }

    /// Every column named by an option.
    fn named(&self) -> impl Iterator<Item = &str> {
        let one = [&self.key, &self.owner, &self.variation];
        one.into_iter()
            .flatten()
            .chain(&self.omit)
            .chain(self.maps.iter().map(|(_, column)| column))
            .chain(self.types.iter().map(|(column, _)| column))
            .map(String::as_str)
    }

    /// Checks a CSV file's columns against the options, and determines their types.
    pub(super) fn columns(
        &self,
        names: Vec<String>,
        schema: Option<&serde_json::Value>,
    ) -> CliResult<CsvColumns> {
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                let why = format!("two columns are named {name:?}; --columns can rename them");
                return refuse_usage(why);
            }
        }
        if self.at.is_some() {
            return refuse_usage("option --properties is for NDJSON");
        }
        for named in self.named() {
            if !names.iter().any(|name| name == named) {
                let all = names.join(", ");
                let why = format!("there is no column {named:?}; the columns are {all}");
                return refuse_usage(why);
            }
        }
        let place = |name: &String| {
            let mapped = self.maps.iter().find(|(_, column)| column == name);
            match mapped {
                Some((path, _)) => Some(path.clone()),
                None => self.keeps_name(name).then(|| vec![name.clone()]),
            }
        };
        let places: Vec<Option<Vec<String>>> = names.iter().map(place).collect();
        for (name, place) in names.iter().zip(&places) {
            let is_typed = self.types.iter().any(|(column, _)| column == name);
            if let Some(place) = place.as_ref().filter(|_| !is_typed) {
                self.known(schema, place, name).map_err(|fault| {
                    CommandFailure::usage(format!("column {name:?} {}", fault.reason))
                })?;
            }
        }
        let types = names.iter().zip(&places).map(|(name, place)| {
            let given = self.types.iter().find(|(column, _)| column == name);
            match (given, place) {
                (Some((_, given)), _) => vec![*given],
                (None, Some(path)) => types_at(schema, path),
                (None, None) => vec![ColumnType::Text],
            }
        });
        Ok(CsvColumns {
            types: types.collect(),
            are_properties: places.iter().map(Option::is_some).collect(),
            names,
        })
    }

    /// Rejects a property that the template's schema does not name, if it names any.
    fn known(
        &self,
        schema: Option<&serde_json::Value>,
        place: &[String],
        column: &str,
    ) -> Result<(), RecordFault> {
        if self.allow_extra || schema.is_none_or(|schema| names(schema, place)) {
            return Ok(());
        }
        let place = place.join("/");
        Err(RecordFault::of(
            column,
            format!(
                "becomes the property {place:?}, which the template's schema does not name: --map FIELD={column} renames it, --omit {column} leaves it out, --allow-extra takes it"
            ),
        ))
    }

    pub(super) fn csv_row<'a>(
        &self,
        columns: &'a CsvColumns,
        fields: &[&str],
    ) -> Result<RecordRow<'a>, RecordFault> {
        if fields.len() != columns.names.len() {
            let (has, expected) = (fields.len(), columns.names.len());
            return Err(RecordFault::new(format!(
                "has {has} fields, and there are {expected} columns"
            )));
        }
        let mut members = Vec::with_capacity(fields.len());
        for (place, (name, text)) in columns.names.iter().zip(fields).enumerate() {
            let is_empty = text.is_empty();
            let empty = if columns.are_properties[place] {
                self.empty
            } else {
                EmptyCsvField::Omit
            };
            let value = match empty {
                EmptyCsvField::Omit if is_empty => continue,
                EmptyCsvField::Null if is_empty => "null".to_owned(),
                _ => convert(text, &columns.types[place])
                    .map_err(|reason| RecordFault::of(name, reason))?,
            };
            members.push((Cow::Borrowed(name.as_str()), Cow::Owned(value)));
        }
        Ok(RecordRow {
            members,
            root: None,
        })
    }

    /// The members of an NDJSON record, which is valid JSON.
    pub(super) fn json_row<'a>(&self, root: &'a str) -> Result<RecordRow<'a>, RecordFault> {
        let base = match &self.at {
            None => root,
            Some(at) => find(root, at).ok_or_else(|| RecordFault::of(at, "is not there"))?,
        };
        let Some(JsonMembers(members)) = JsonMembers::of(base) else {
            let reason = if base.starts_with('[') {
                "is a JSON array: NDJSON has one object on each line. Convert it with jq -c '.[]'"
            } else {
                "is not a JSON object"
            };
            return Err(match &self.at {
                None => RecordFault::new(reason),
                Some(at) => RecordFault::of(at, reason),
            });
        };
        let members = members.into_iter();
        Ok(RecordRow {
            members: members
                .map(|(name, value)| (name, Cow::Borrowed(value)))
                .collect(),
            root: Some(root),
        })
    }

    /// Builds a record's mint request.
    pub(super) fn mint(
        &self,
        row: &RecordRow<'_>,
        schema: Option<&serde_json::Value>,
    ) -> Result<ImportMint, RecordFault> {
        let mut properties = PropertyNode::default();
        for (name, value) in &row.members {
            if self.keeps_name(name) {
                let path = [name.clone().into_owned()];
                // CSV columns were checked with the header.
                if row.root.is_some() {
                    self.known(schema, &path, name)?;
                }
                properties.put(&path, value).map_err(|()| twice(name))?;
            }
        }
        for (path, column) in &self.maps {
            if let Some(value) = row.value(column) {
                properties.put(path, value).map_err(|()| twice(column))?;
            }
        }
        let text = |column: &Option<String>| {
            let column = column.as_deref()?;
            plain(row.value(column)?)
        };
        let key = text(&self.key);
        if let (Some(column), None) = (&self.key, &key) {
            return Err(RecordFault::of(
                column,
                "is the key, and is empty or missing",
            ));
        }
        Ok(ImportMint {
            key,
            owner: text(&self.owner),
            variation: text(&self.variation),
            properties: properties.as_json(),
        })
    }

    /// The source column of a property, by a pointer into the payload.
    pub(super) fn column_of(&self, pointer: &str) -> Option<String> {
        match pointer {
            "/to" => return self.owner.clone(),
            "/variation_id" => return self.variation.clone(),
            _ => {}
        }
        let path = path_of(pointer.strip_prefix("/properties")?);
        let mapped = self.maps.iter().find(|(own, _)| path.starts_with(own));
        match mapped {
            Some((_, column)) => Some(column.clone()),
            None => path.into_iter().next().filter(|name| !name.is_empty()),
        }
    }

    /// The column of variations.
    pub(super) fn of_variation(&self) -> &str {
        self.variation.as_deref().unwrap_or_default()
    }

    /// The column of owners.
    pub(super) fn of_owner(&self) -> &str {
        self.owner.as_deref().unwrap_or_default()
    }

    /// The options that affect the resulting objects, to compare runs.
    pub(super) fn options(&self, format: ImportFormat) -> String {
        format!(
            "{format:?} at={:?} maps={:?} omit={:?} key={:?} owner={:?} variation={:?} types={:?} empty={:?}",
            self.at,
            self.maps,
            self.omit,
            self.key,
            self.owner,
            self.variation,
            self.types,
            self.empty
        )
    }
}

fn twice(column: &str) -> RecordFault {
    RecordFault::of(column, "becomes a property that another column already is")
}

impl RecordRow<'_> {
    /// The value of a column, by name or by a path in the record.
    fn value(&self, column: &str) -> Option<&str> {
        if let Some(root) = self.root.filter(|_| column.starts_with('/')) {
            return find(root, column);
        }
        let mut members = self.members.iter();
        let found = members.find(|(name, _)| name == column);
        found.map(|(_, value)| value.as_ref())
    }
}

/// The value at a pointer (RFC 6901) through objects.
fn find<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    let mut value = text;
    for key in path_of(pointer) {
        let JsonMembers(members) = JsonMembers::of(value)?;
        value = members.into_iter().find(|(name, _)| *name == key)?.1;
    }
    Some(value)
}

/// A value as plain text: a string's characters, or the JSON of other types. `None` for null and empty texts.
fn plain(value: &str) -> Option<String> {
    let text = if value.trim_start().starts_with('"') {
        serde_json::from_str(value).ok()?
    } else {
        compact(value).into_owned()
    };
    (!text.is_empty() && text != "null").then_some(text)
}

/// An object under construction.
#[derive(Default)]
struct PropertyNode(Vec<(String, PropertyPart)>);

enum PropertyPart {
    Value(String),
    Node(PropertyNode),
}

impl PropertyNode {
    /// Sets the value of a free path.
    fn put(&mut self, path: &[String], value: &str) -> Result<(), ()> {
        let (name, rest) = path.split_first().ok_or(())?;
        let place = self.0.iter().position(|(own, _)| own == name);
        match (place, rest) {
            (None, []) => {
                self.0.push((
                    name.clone(),
                    PropertyPart::Value(compact(value).into_owned()),
                ));
                Ok(())
            }
            (None, rest) => {
                let mut node = Self::default();
                node.put(rest, value)?;
                self.0.push((name.clone(), PropertyPart::Node(node)));
                Ok(())
            }
            (Some(place), [_, ..]) => match &mut self.0[place].1 {
                PropertyPart::Node(node) => node.put(rest, value),
                PropertyPart::Value(_) => Err(()),
            },
            (Some(_), []) => Err(()),
        }
    }

    fn as_json(&self) -> String {
        let member = |(name, part): &(String, PropertyPart)| {
            let value = match part {
                PropertyPart::Value(value) => value.clone(),
                PropertyPart::Node(node) => node.as_json(),
            };
            format!("{}:{value}", quoted(name))
        };
        let members: Vec<String> = self.0.iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    }
}
