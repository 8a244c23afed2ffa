//! Past states of an object (`GET /objects/{id}?at_sequence=`), rebuilt from its own actions with the rules that
//! decided them (`crates/rules/src/replay.rs`), as far back as its history is listed. Milestones
//! (`storage/src/tables/objects.rs`) keep that below 1,000 actions. A template whose objects are all burned can be
//! changed again; the initial values of its earlier objects are then read from the template's own actions.

use std::ops::ControlFlow;
use std::sync::Arc;

use kedge_actors::PublishedState;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::query::RequestParameter;
use kedge_protocol::Code;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::Object;
use kedge_rules::replay::{ObjectReplay, PastAction};
use kedge_rules::{TemplateRules, World, template};
use kedge_storage::{ActionReader, PlacedAction};

pub const AT_SEQUENCE: &[RequestParameter] = &[RequestParameter {
    name: "at_sequence",
    schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 9223372036854775807}"#,
    description: "The object as it was at this sequence of the log, as far back as its listed history reaches.",
}];

/// Bytes of payloads read in one step.
const TURN_BYTES: usize = 4 << 20;
/// Cost of an action in addition to its payload.
const ACTION_BYTES: usize = 1 << 10;
/// Actions on a template that are read to find its objects' initial values.
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

/// A rebuild of a past state, in steps: an object with a long history does not delay other long reads, and an abandoned
/// rebuild stops.
pub(in crate::api) struct ObjectRebuild<W> {
    published: Arc<PublishedState>,
    world: W,
    /// The object's current state.
    object: Object,
    sequence: u64,
    stage: RebuildStage,
    /// The actions to apply, newest first.
    sequences: Vec<u64>,
    replay: ObjectReplay,
}

enum RebuildStage {
    /// Search through at most `left` listed actions back from `here`: the first that is not too new is the last to
    /// apply.
    Last { here: u64, left: u64 },
    /// Collection of sequences back from `here` to a milestone or the mint. Only sequences are kept, so at most one
    /// payload is held at a time.
    Back { here: u64, milestone: Option<u64> },
    /// Search through at most `left` actions of the template back from `here`, for its initial values at the object's
    /// mint.
    Beginning { here: u64, left: usize },
    /// Application of the actions, oldest first.
    Apply,
}

impl<W: World> ObjectRebuild<W> {
    /// The state of `object` at `sequence`, if it is known without reading.
    pub(in crate::api) fn begin(
        published: Arc<PublishedState>,
        world: W,
        object: Object,
        sequence: u64,
    ) -> ApiResult<ControlFlow<Object, Self>> {
        let trace = &object.trace;
        if sequence >= trace.sequence {
            return Ok(ControlFlow::Break(object));
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
        Ok(ControlFlow::Continue(Self {
            published,
            world,
            sequence,
            stage: RebuildStage::Last {
                here: trace.sequence,
                left: OBJECT_HISTORY_MAX,
            },
            sequences: Vec::new(),
            replay: ObjectReplay::default(),
            object,
        }))
    }

    /// Performs one step. Returns the state once it is complete.
    pub(in crate::api) fn turn(mut self) -> ApiResult<ControlFlow<Object, Self>> {
        let published = Arc::clone(&self.published);
        let mut reader = published.snapshot.log_reader();
        let mut bytes = 0;
        while bytes < TURN_BYTES {
            let read = match self.stage {
                RebuildStage::Last { here, left } => self.look_for_last(&mut reader, here, left)?,
                RebuildStage::Back { here, milestone } => {
                    self.walk_back(&mut reader, here, milestone)?
                }
                RebuildStage::Beginning { here, left } => {
                    self.look_for_beginning(&mut reader, here, left)?
                }
                RebuildStage::Apply => match self.sequences.pop() {
                    Some(here) => self.apply(&mut reader, here)?,
                    None => return self.end().map(ControlFlow::Break),
                },
            };
            bytes += read + ACTION_BYTES;
        }
        Ok(ControlFlow::Continue(self))
    }

    fn look_for_last(
        &mut self,
        reader: &mut ActionReader<'_>,
        here: u64,
        left: u64,
    ) -> ApiResult<usize> {
        let (object, sequence) = (&self.object, self.sequence);
        if left == 0 {
            let first = object.trace.version - OBJECT_HISTORY_MAX + 1;
            return Err(gone(format!(
                "the object's history reaches back to its version {first}, which is newer than sequence \
                 {sequence}; the last {OBJECT_HISTORY_MAX} actions are kept"
            )));
        }
        let placed = action(reader, object, here)?;
        self.stage = if placed.sequence > sequence {
            RebuildStage::Last {
                here: placed.action.previous_sequence,
                left: left - 1,
            }
        } else {
            let snapshot = &self.published.snapshot;
            let milestone = snapshot.milestone(object.id, placed.action.version)?;
            let begun = milestone.as_ref().map(|milestone| milestone.trace.sequence);
            self.replay = ObjectReplay::after(milestone);
            RebuildStage::Back {
                here: placed.sequence,
                milestone: begun,
            }
        };
        Ok(placed.action.payload.len())
    }

    fn walk_back(
        &mut self,
        reader: &mut ActionReader<'_>,
        here: u64,
        milestone: Option<u64>,
    ) -> ApiResult<usize> {
        if here > milestone.unwrap_or(0) {
            self.sequences.push(here);
            let placed = action(reader, &self.object, here)?;
            self.stage = RebuildStage::Back {
                here: placed.action.previous_sequence,
                milestone,
            };
            return Ok(placed.action.payload.len());
        }
        self.stage = RebuildStage::Apply;
        if milestone.is_none() {
            let newest = self.template()?.trace.sequence;
            // Only a template whose objects are all burned can be changed.
            if newest >= self.object.trace.created_sequence {
                self.stage = RebuildStage::Beginning {
                    here: newest,
                    left: TEMPLATE_ACTIONS_MAX,
                };
            }
        }
        Ok(0)
    }

    fn look_for_beginning(
        &mut self,
        reader: &mut ActionReader<'_>,
        here: u64,
        left: usize,
    ) -> ApiResult<usize> {
        if left == 0 {
            return Err(gone(format!(
                "the object's template has had more than {TEMPLATE_ACTIONS_MAX} actions since"
            )));
        }
        let placed = reader.action(here)?;
        let placed = placed.filter(|placed| placed.action.resource == self.object.template_id);
        let action = placed.ok_or_else(no_template)?.action;
        let begins = (here < self.object.trace.created_sequence)
            .then(|| template::beginning(&action.kind, &action.payload))
            .flatten();
        self.stage = match begins {
            Some(properties) => {
                let replay = std::mem::take(&mut self.replay);
                self.replay = replay.beginning_with(Some(properties));
                RebuildStage::Apply
            }
            None => RebuildStage::Beginning {
                here: action.previous_sequence,
                left: left - 1,
            },
        };
        Ok(action.payload.len())
    }

    fn apply(&mut self, reader: &mut ActionReader<'_>, here: u64) -> ApiResult<usize> {
        let placed = action(reader, &self.object, here)?;
        let past = PastAction {
            action: &placed.action,
            content: &placed.content(),
            wallet_id: placed.wallet_id,
            sequence: placed.sequence,
            timestamp_ms: placed.timestamp_ms,
        };
        let applied = self.replay.apply(&self.world, &past);
        applied.map_err(|error| ApiError::internal(&error))?;
        Ok(placed.action.payload.len())
    }

    fn end(self) -> ApiResult<Object> {
        let rebuilt = self.replay.into_object();
        rebuilt.ok_or_else(|| lost(&self.object, self.object.trace.created_sequence))
    }

    fn template(&self) -> ApiResult<Arc<TemplateRules>> {
        let template = self.world.template(self.object.template_id);
        template.ok().flatten().ok_or_else(no_template)
    }
}

fn no_template() -> ApiError {
    ApiError::internal(&"an object's template is missing")
}

fn action(
    reader: &mut ActionReader<'_>,
    object: &Object,
    sequence: u64,
) -> ApiResult<PlacedAction> {
    let placed = reader.action_on(object.id, sequence)?;
    placed.ok_or_else(|| lost(object, sequence))
}
