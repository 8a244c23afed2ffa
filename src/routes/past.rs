//! An object as it once stood (`GET /objects/{id}?at_sequence=`), rebuilt from its own actions with the rules that
//! decided them (`machine/src/replay.rs`), as far back as its history is listed. Milestones
//! (`storage/src/tables/objects.rs`) keep that below 1,000 actions. A template whose objects are all burned can be
//! changed again; what its objects began with before is then read from the template's own actions.

use kedge_api::Code;
use kedge_http::error::ApiError;
use kedge_machine::replay::{ObjectReplay, PastAction};
use kedge_machine::{World, template};
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::Object;
use kedge_storage::{LogReader, PlacedAction, Snapshot};

use crate::endpoint::Parameter;

/// The parameter of a read.
pub const AT_SEQUENCE: &[Parameter] = &[Parameter {
    name: "at_sequence",
    schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 9223372036854775807}"#,
    description: "The object as it was at this sequence of the log, as far back as its listed history reaches.",
}];

/// Actions on a template that are read to find what its objects began with.
const TEMPLATE_ACTIONS_MAX: usize = 10_000;

fn lost(object: &Object, sequence: u64) -> ApiError {
    ApiError::internal(&format_args!(
        "the action of {} at sequence {sequence} is missing",
        object.id
    ))
}

fn gone(message: String) -> ApiError {
    ApiError::new(Code::Gone, message)
}

/// The past state of `object` (its current state) at `sequence`.
pub(super) fn object_at<W: World>(
    snapshot: &Snapshot,
    world: &W,
    object: Object,
    sequence: u64,
) -> Result<Object, ApiError> {
    let trace = &object.trace;
    if sequence >= trace.sequence {
        return Ok(object);
    }
    if sequence < trace.created_sequence {
        return Err(ApiError {
            message: format!(
                "the object did not exist at sequence {sequence}: it was minted at {}",
                trace.created_sequence
            )
            .into(),
            ..ApiError::not_found("object", object.id.to_string())
        });
    }
    let mut reader = snapshot.log_reader();
    let last = last_action(&mut reader, &object, sequence)?;
    let milestone = snapshot.milestone(object.id, last.action.version)?;
    let begun = milestone
        .as_ref()
        .map_or(0, |milestone| milestone.trace.sequence);
    // Walk back by the sequences alone, so that at most one payload is held at a time.
    let mut sequences = Vec::new();
    let mut here = last.sequence;
    while here > begun {
        sequences.push(here);
        here = action(&mut reader, &object, here)?.action.previous_sequence;
    }
    let beginning = match milestone {
        Some(_) => None,
        None => beginning(&mut reader, world, &object)?,
    };
    let mut replay = ObjectReplay::after(milestone).beginning_with(beginning);
    for &here in sequences.iter().rev() {
        let placed = action(&mut reader, &object, here)?;
        let past = PastAction {
            action: &placed.action,
            content: &placed.content(),
            wallet_id: placed.wallet_id,
            sequence: placed.sequence,
            timestamp_ms: placed.timestamp_ms,
        };
        replay
            .apply(world, &past)
            .map_err(|error| ApiError::internal(&error))?;
    }
    replay
        .into_object()
        .ok_or_else(|| lost(&object, object.trace.created_sequence))
}

/// The template's initial properties when this object was minted, if the template was acted on since: a template whose
/// objects are all burned can be changed.
fn beginning<W: World>(
    reader: &mut LogReader<'_>,
    world: &W,
    object: &Object,
) -> Result<Option<String>, ApiError> {
    let missing = || ApiError::internal(&"an object's template is missing");
    let template = world.template(object.template_id);
    let template = template.ok().flatten().ok_or_else(missing)?;
    let minted = object.trace.created_sequence;
    let mut here = template.trace.sequence;
    if here < minted {
        return Ok(None);
    }
    for _ in 0..TEMPLATE_ACTIONS_MAX {
        let placed = reader.action(here)?;
        let placed = placed.filter(|placed| placed.action.resource == template.id);
        let action = placed.ok_or_else(missing)?.action;
        if here < minted
            && let Some(properties) = template::beginning(&action.kind, &action.payload)
        {
            return Ok(Some(properties));
        }
        here = action.previous_sequence;
    }
    Err(gone(format!(
        "the object's template has had more than {TEMPLATE_ACTIONS_MAX} actions since"
    )))
}

/// The last of the object's listed actions that is not after `sequence`.
fn last_action(
    reader: &mut LogReader<'_>,
    object: &Object,
    sequence: u64,
) -> Result<PlacedAction, ApiError> {
    let mut here = object.trace.sequence;
    for _ in 0..OBJECT_HISTORY_MAX {
        let placed = action(reader, object, here)?;
        if placed.sequence <= sequence {
            return Ok(placed);
        }
        here = placed.action.previous_sequence;
    }
    let first = object.trace.version - OBJECT_HISTORY_MAX + 1;
    Err(gone(format!(
        "the object's history reaches back to its version {first}, which is newer than sequence \
         {sequence}; the last {OBJECT_HISTORY_MAX} actions are kept"
    )))
}

fn action(
    reader: &mut LogReader<'_>,
    object: &Object,
    sequence: u64,
) -> Result<PlacedAction, ApiError> {
    let placed = reader.action_on(object.id, sequence)?;
    placed.ok_or_else(|| lost(object, sequence))
}
