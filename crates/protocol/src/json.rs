//! Strict reading of JSON. Derived readers of structs also accept a JSON array with the members' values in order. That
//! form is never meant, and a signed text should have one meaning: here a struct is a JSON object.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A struct that is read only from a JSON object.
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// For a member that is a struct: `#[serde(deserialize_with = "object")]`.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    JsonObject::deserialize(deserializer).map(|JsonObject(value)| value)
}

/// For a member that is a list of structs.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<JsonObject<T>> = Vec::deserialize(deserializer)?;
    Ok(items.into_iter().map(|JsonObject(value)| value).collect())
}

/// For a member that is a struct or null, and must be present.
pub fn object_or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let read: Option<JsonObject<T>> = Option::deserialize(deserializer)?;
    Ok(read.map(|JsonObject(value)| value))
}

/// For a member that is a struct or absent, with `default`: null is refused.
pub fn object_or_absent<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    object(deserializer).map(Some)
}

/// For any other member that may be absent, with `default`: null is refused.
pub fn value_or_absent<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// For a member that is any JSON object or null, and must be present: no name occurs twice in it, at any depth.
pub fn distinct_or_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    match DistinctValue::deserialize(deserializer)?.0 {
        Value::Null => Ok(None),
        Value::Object(members) => Ok(Some(members)),
        _ => Err(D::Error::custom("expected a JSON object or null")),
    }
}

/// A value in whose objects no name occurs twice.
struct DistinctValue(Value);

impl<'de> Deserialize<'de> for DistinctValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor).map(Self)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(DistinctValue(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, DistinctValue(value))) = members.next_entry::<String, _>()? {
            if map.contains_key(&name) {
                let what = format!("the name {name:?} occurs twice");
                return Err(A::Error::custom(what));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = JsonObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(JsonObject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Inner {
        a: u8,
        b: u8,
    }

    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Outer {
        #[serde(deserialize_with = "object")]
        one: Inner,
        #[serde(deserialize_with = "objects")]
        many: Vec<Inner>,
    }

    #[derive(serde::Deserialize, PartialEq, Debug)]
    struct Optional {
        #[serde(deserialize_with = "object_or_null")]
        nullable: Option<Inner>,
        #[serde(default, deserialize_with = "object_or_absent")]
        absent: Option<Inner>,
        #[serde(default, deserialize_with = "value_or_absent")]
        text: Option<String>,
    }

    #[test]
    fn null_and_absent_are_two_things() {
        let read = |text| serde_json::from_str::<Optional>(text);
        let Optional {
            nullable,
            absent,
            text,
        } = read(r#"{"nullable":null}"#).unwrap();
        assert_eq!((nullable, absent, text), (None, None, None));
        let inner = Some(Inner { a: 1, b: 2 });
        let all = r#"{"nullable":{"a":1,"b":2},"absent":{"a":1,"b":2},"text":"x"}"#;
        let expected = Optional {
            nullable: Some(Inner { a: 1, b: 2 }),
            absent: inner,
            text: Some("x".to_owned()),
        };
        assert_eq!(read(all).unwrap(), expected);
        for wrong in [
            "{}",
            r#"{"nullable":[1,2]}"#,
            r#"{"nullable":null,"absent":null}"#,
            r#"{"nullable":null,"absent":[1,2]}"#,
            r#"{"nullable":null,"text":null}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn structs_are_objects_alone() {
        let read = |text| serde_json::from_str::<JsonObject<Outer>>(text);
        let inner = || Inner { a: 1, b: 2 };
        let JsonObject(outer) = read(r#"{"one":{"a":1,"b":2},"many":[{"b":2,"a":1}]}"#).unwrap();
        let expected = Outer {
            one: inner(),
            many: vec![inner()],
        };
        assert_eq!(outer, expected);
        for wrong in [
            r#"[{"a":1,"b":2},[]]"#,
            r#"{"one":[1,2],"many":[]}"#,
            r#"{"one":{"a":1,"b":2},"many":[[1,2]]}"#,
        ] {
            let error = read(wrong).err().unwrap().to_string();
            assert!(error.contains("expected a JSON object"), "{wrong}: {error}");
        }
    }
}
