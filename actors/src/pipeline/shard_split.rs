//! Division of a request's actions among the shards.

use kedge_protocol::action::Kind;
use kedge_protocol::{Id, Prefix};
use kedge_rules::World;

use crate::api::Submission;

/// Assignment of a request's actions to shards. Empty if they concern no object: then an organization decides.
#[derive(Default)]
pub(crate) struct ShardSplit {
    /// Shards with actions: index in the list of shards, then indices in the request.
    pub(crate) of_shards: Vec<(usize, Vec<u16>)>,
    /// Target object of each action; `None` where the target is no object's identifier.
    objects: Vec<Option<Id>>,
}

impl ShardSplit {
    /// Divides a request's actions. Mints from one bounded template go to one shard, in request order, so that the
    /// first ones get the supply.
    pub(crate) fn of<W: World>(submission: &Submission, shards: usize, world: &W) -> Self {
        let mut indices: Vec<Vec<u16>> = vec![Vec::new(); shards];
        let mut objects = Vec::with_capacity(submission.actions.len());
        for (index, action) in submission.actions.iter().enumerate() {
            if !action.kind.is_bus() {
                return Self::default();
            }
            let target = submission.text(&action.target);
            // An action without a valid target is refused by the shard that gets it.
            let (shard, object) = if action.kind == Kind::Mint {
                match Id::parse_as(Prefix::Template, target) {
                    Ok(id) if is_bounded(world, id) => (shard_of(&id, shards), None),
                    _ => (index % shards, None),
                }
            } else {
                let object = Id::parse_as(Prefix::Object, target).ok();
                (object.map_or(0, |id| shard_of(&id, shards)), object)
            };
            indices[shard].push(index as u16);
            objects.push(object);
        }
        let of_shards = indices.into_iter().enumerate();
        Self {
            of_shards: of_shards
                .filter(|(_, indices)| !indices.is_empty())
                .collect(),
            objects,
        }
    }

    /// The object that an action of the request targets.
    pub(crate) fn object(&self, index: u16) -> Option<Id> {
        self.objects.get(usize::from(index)).copied().flatten()
    }

    /// The objects that the actions target.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Id> {
        self.objects.iter().copied().flatten()
    }
}

/// The shard of an object.
fn shard_of(id: &Id, shards: usize) -> usize {
    let mut first = [0; 8];
    first.copy_from_slice(&id.bytes[8..]);
    (u64::from_le_bytes(first) % shards as u64) as usize
}

/// True for a template with a bounded supply; one that cannot be read is refused when it is decided.
fn is_bounded<W: World>(world: &W, template: Id) -> bool {
    matches!(world.template(template), Ok(Some(template)) if template.max_supply.is_some())
}
