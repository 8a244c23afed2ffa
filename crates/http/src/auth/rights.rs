//! Rights of API keys: an area and one of four kinds of access.

use std::fmt;

use kedge_protocol::event::EventType;
use kedge_protocol::resource::{Area, Permission};

// A set of rights has a bit for each.
const _: () = assert!(4 * Area::ALL.len() <= u64::BITS as usize);

const ACCESSES: [CrudAccess; 4] = [
    CrudAccess::Create,
    CrudAccess::Read,
    CrudAccess::Update,
    CrudAccess::Delete,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrudAccess {
    Create,
    Read,
    Update,
    Delete,
}

/// A right that an endpoint requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointRight {
    pub area: Area,
    pub access: CrudAccess,
}

impl EndpointRight {
    pub const fn new(area: Area, access: CrudAccess) -> Self {
        Self { area, access }
    }

    fn bit(self) -> u64 {
        1 << (4 * self.area as u32 + self.access as u32)
    }
}

/// The right to read the content of actions in any answer.
pub const READS_ACTIONS: EndpointRight = EndpointRight::new(Area::Actions, CrudAccess::Read);

/// The right to read events of a type, for a key that may not read all actions; `None` if they are public.
pub fn reads_event(event_type: EventType) -> Option<EndpointRight> {
    let area = match event_type {
        EventType::ObjectCreated
        | EventType::ObjectUpdated
        | EventType::ObjectTransferred
        | EventType::ObjectLocked
        | EventType::ObjectUnlocked
        | EventType::ObjectBurned => Area::Objects,
        EventType::TemplateCreated | EventType::VariationCreated => Area::Templates,
        EventType::WalletRegistered => Area::Wallets,
        EventType::FileCreated => Area::Files,
        EventType::ActionExecuted | EventType::ActionFailed => Area::Actions,
        EventType::BatchSealed | EventType::BatchAnchored | EventType::AnchorConfirmed => {
            return None;
        }
    };
    Some(EndpointRight::new(area, CrudAccess::Read))
}

/// Permission syntax: `objects.read`.
impl fmt::Display for EndpointRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            CrudAccess::Create => "create",
            CrudAccess::Read => "read",
            CrudAccess::Update => "update",
            CrudAccess::Delete => "delete",
        };
        write!(f, "{}.{access}", self.area.text())
    }
}

/// Set of an API key's rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rights(u64);

impl Rights {
    /// The rights granted by permissions.
    pub fn of(permissions: &[Permission]) -> Self {
        let granted = permissions.iter().flat_map(|permission| {
            let crud = permission.crud;
            [
                (crud.create, CrudAccess::Create),
                (crud.read, CrudAccess::Read),
                (crud.update, CrudAccess::Update),
                (crud.delete, CrudAccess::Delete),
            ]
            .into_iter()
            .filter(|(granted, _)| *granted)
            .map(|(_, access)| EndpointRight {
                area: permission.resource,
                access,
            })
        });
        Self(granted.fold(0, |set, right| set | right.bit()))
    }

    /// The rights in this set but not in `other`.
    pub fn without(self, other: Self) -> impl Iterator<Item = EndpointRight> {
        let rights = Area::ALL
            .iter()
            .flat_map(|&area| ACCESSES.map(|access| EndpointRight { area, access }));
        rights.filter(move |right| self.allow(*right) && !other.allow(*right))
    }

    /// True if events of this type may be seen, by the right to read all actions or the event's area.
    pub fn see(self, event_type: EventType) -> bool {
        let right = reads_event(event_type);
        self.allow(READS_ACTIONS) || right.is_none_or(|right| self.allow(right))
    }

    pub fn allow(self, right: EndpointRight) -> bool {
        self.0 & right.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::resource::Crud;

    use super::*;

    #[test]
    fn a_permission_grants_its_rights_and_no_other() {
        for (area, access) in Area::ALL
            .iter()
            .flat_map(|&area| ACCESSES.map(|access| (area, access)))
        {
            let rights = Rights::of(&[Permission {
                resource: area,
                crud: Crud {
                    create: access == CrudAccess::Create,
                    read: access == CrudAccess::Read,
                    update: access == CrudAccess::Update,
                    delete: access == CrudAccess::Delete,
                },
            }]);
            for &other in Area::ALL {
                for what in ACCESSES {
                    let right = EndpointRight {
                        area: other,
                        access: what,
                    };
                    let granted = (other, what) == (area, access);
                    assert_eq!(rights.allow(right), granted, "{right}");
                }
            }
            let right = EndpointRight { area, access };
            assert_eq!(
                rights.without(Rights::default()).collect::<Vec<_>>(),
                [right]
            );
            assert_eq!(rights.without(rights).next(), None);
        }
    }

    #[test]
    fn rights_are_named_as_permissions_name_them() {
        for &area in Area::ALL {
            let right = EndpointRight {
                area,
                access: CrudAccess::Read,
            };
            let name = serde_json::to_value(area).unwrap();
            assert_eq!(
                format!("{}.read", name.as_str().unwrap()),
                right.to_string()
            );
        }
    }
}
