//! Rules of the test log: the rows of a frame, derived from the frame alone. So rows that a kill lost are restored.

use std::path::Path;

use kedge_log::packed::owned_record;
use kedge_protocol::Prefix;
use kedge_protocol::action::Kind;
use kedge_protocol::log_tree::TreeFrontier;
use kedge_protocol::record::RequestRecord;
use kedge_storage::{
    MissingMark, ObjectIndex, RowPage, SideEntry, Store, StoreOpenError, StoreOpening,
    StoreOptions, StoreReadError, StoreSnapshot, StoredFrame, WriteGroup,
};

use crate::support::{Log, Step, options, put_request};

/// Opens the store in a data directory and applies the frames whose rows are missing.
pub(crate) fn open(data: &Path) -> Result<Store, StoreOpenError> {
    open_with(options(data))
}

pub(crate) fn open_with(options: StoreOptions) -> Result<Store, StoreOpenError> {
    open_where(options, MissingMark::ReadOnly)
}

pub(crate) fn open_where(
    options: StoreOptions,
    missing: MissingMark,
) -> Result<Store, StoreOpenError> {
    let opening = Store::begin(options, missing)?;
    apply_frames(&opening)?;
    opening.finish()
}

/// Applies the missing frames one at a time; returns their numbers.
pub(crate) fn apply_frames(opening: &StoreOpening) -> Result<Vec<u64>, StoreOpenError> {
    apply_some(opening, usize::MAX)
}

/// Like [`apply_frames`], but ends after `count` frames.
pub(crate) fn apply_some(opening: &StoreOpening, count: usize) -> Result<Vec<u64>, StoreOpenError> {
    let mut log: Option<Log> = None;
    let mut applied = Vec::new();
    for frame in opening.frames()?.take(count) {
        let frame = frame?;
        let number = frame.header().number;
        let refused = |what: String| StoreOpenError::Apply {
            frame: number,
            what,
        };
        let before = match log.take() {
            Some(log) => Ok(log),
            None => Log::of(&opening.snapshot()),
        };
        let log = log.insert(before.map_err(|error| refused(error.to_string()))?);
        let rows = log.rows_of(&frame, &opening.side(&frame)?);
        opening.apply(&rows.map_err(refused)?, &frame)?;
        applied.push(number);
    }
    Ok(applied)
}

impl Log {
    /// The log at the time of these rows.
    pub(crate) fn of(snapshot: &StoreSnapshot) -> Result<Self, StoreReadError> {
        let new = Self::default();
        let head = snapshot.head()?;
        let all = RowPage {
            after: None,
            descending: false,
            limit: usize::MAX,
        };
        Ok(Self {
            head,
            tree: TreeFrontier::load(head.batches, snapshot)?,
            objects: snapshot.objects(ObjectIndex::Template(new.template), all)?,
            // No request in it had a nonce this high.
            nonce: 1_000_000 + head.sequence,
            ..new
        })
    }

    /// The rows that follow from a frame.
    fn rows_of(&mut self, frame: &StoredFrame, side: &[SideEntry]) -> Result<WriteGroup, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let mut rows = WriteGroup::of_rows();
        let mut leaves = Vec::new();
        for request in frame.requests().map_err(|error| text(&error))? {
            let record = request.into_record().map_err(|error| text(&error))?;
            let record = owned_record(record);
            let mut contents = Vec::new();
            let mut touched = Vec::new();
            for (i, action) in record.actions.iter().enumerate() {
                let content = record.content(action);
                let step = self.step(&record, i)?;
                let (object, owner_before, _) = self.apply(&step, &record, i, &content);
                contents.push(content);
                touched.push((object, owner_before));
            }
            leaves.extend(put_request(&mut rows, &record, &contents, touched));
        }
        let mut leaves = leaves.as_slice();
        for batch in frame.batches().map_err(|error| text(&error))? {
            let own = leaves.split_off(..batch.header.count as usize);
            let own = own.ok_or("a batch has more actions than the requests")?;
            self.put_batch(&mut rows, &batch, own);
        }
        rows.put_side_entries(side).map_err(|error| text(&error))?;
        Ok(rows)
    }

    /// The step of the `i`-th action of a request.
    fn step(&self, record: &RequestRecord<'_>, i: usize) -> Result<Step, String> {
        let action = &record.actions[i];
        let owner = || -> Option<u64> {
            let (_, rest) = action.payload.split_once("\"o\":")?;
            rest.split_once(',')?.0.parse().ok()
        };
        let owner = owner().ok_or("the payload names no owner")?;
        if action.kind == Kind::Mint {
            return Ok(Step::Mint { owner });
        }
        if action.resource.prefix != Prefix::Object {
            return Err("the action is of no object".to_owned());
        }
        let mut objects = self.objects.iter();
        let object = objects.position(|object| object.id == action.resource);
        let object = object.ok_or("the object is not there")?;
        Ok(match action.kind {
            Kind::Update => Step::Update { object },
            Kind::Transfer => Step::Transfer { object, owner },
            _ => return Err("the log has no such action".to_owned()),
        })
    }
}
