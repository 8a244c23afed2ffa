//! Records as large as an update in Kedge: an object id and a JSON payload.

/// Number of different objects.
const OBJECTS: usize = 100_000;
/// `obj_` and 26 digits.
const OBJECT_BYTES: usize = 30;
/// Number of different groups that a connection sends in rotation.
pub(crate) const GROUPS: usize = 8;

pub(crate) struct Record {
    pub(crate) object: String,
    pub(crate) payload: String,
}

/// The groups of a connection, created before the measurement.
pub(crate) fn groups(connection: usize, records: usize, bytes: usize) -> Vec<Vec<Record>> {
    (0..GROUPS)
        .map(|group| {
            let first = (connection * GROUPS + group) * records;
            (first..first + records)
                .map(|number| Record {
                    object: format!("obj_{:026}", number % OBJECTS),
                    payload: payload(number, bytes),
                })
                .collect()
        })
        .collect()
}

fn payload(number: usize, bytes: usize) -> String {
    let step = number % 10;
    let text = |note: &str| {
        format!(
            r#"{{"properties":{{"state":"in transit","step":{step},"place":8.5417,"note":"{note}"}}}}"#
        )
    };
    let filled = OBJECT_BYTES + text("").len();
    text(&"n".repeat(bytes.saturating_sub(filled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_their_length() {
        let groups = groups(3, 5, 286);
        assert_eq!(groups.len(), GROUPS);
        for record in groups.iter().flatten() {
            assert_eq!(record.object.len() + record.payload.len(), 286);
            assert!(serde_json::from_str::<serde_json::Value>(&record.payload).is_ok());
        }
        assert_ne!(groups[0][0].object, groups[1][0].object);
    }
}
