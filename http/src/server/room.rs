//! Room for connections: a bounded number at one time, a bounded number for each address, and a reserve that gets
//! answers about the server's health when all others are taken.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_config::{Config, Network};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::ClientAddress;

/// Reserve connections.
const RESERVE: usize = 64;
/// Reserve connections that one address may have.
const RESERVE_OF_ADDRESS: usize = 4;

/// Room for connections.
pub(super) struct Room {
    places: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    of_address_max: usize,
    proxies: Vec<Network>,
    /// By address, and whether in the reserve.
    taken: Mutex<HashMap<(ClientAddress, bool), usize>>,
}

/// Room for one connection, before its address is known.
pub(super) struct Free {
    permit: OwnedSemaphorePermit,
    is_reserve: bool,
}

/// A connection's place, until it is dropped.
pub(super) struct Place {
    room: Arc<Room>,
    of: Option<(ClientAddress, bool)>,
    is_reserve: bool,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// The configured room.
    pub(super) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(config.connections_max)),
            reserve: Arc::new(Semaphore::new(RESERVE)),
            of_address_max: config.connections_per_address,
            proxies: config.trusted_proxies.clone(),
            taken: Mutex::default(),
        })
    }

    /// Waits for room for one more connection.
    pub(super) async fn free(&self) -> Option<Free> {
        let place = Arc::clone(&self.places).acquire_owned();
        let reserve = Arc::clone(&self.reserve).acquire_owned();
        let (permit, is_reserve) = tokio::select! {
            biased;
            permit = place => (permit, false),
            permit = reserve => (permit, true),
        };
        // Neither semaphore is ever closed.
        permit.ok().map(|permit| Free { permit, is_reserve })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<(ClientAddress, bool), usize>> {
        self.taken.lock()
    }

    /// The place of a connection from `peer`; none if its address has too many.
    pub(super) fn place(self: &Arc<Self>, free: Free, peer: IpAddr) -> Option<Place> {
        let Free {
            mut permit,
            mut is_reserve,
        } = free;
        // There may be room by now, because it can take long until a caller connects.
        if is_reserve && let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            (permit, is_reserve) = (place, false);
        }
        let is_proxy = self.proxies.iter().any(|network| network.contains(peer));
        let of = (!is_proxy).then(|| (ClientAddress::from(peer), is_reserve));
        if let Some(of) = of {
            let most = if is_reserve {
                RESERVE_OF_ADDRESS
            } else {
                self.of_address_max
            };
            let mut taken = self.taken();
            let count = taken.entry(of).or_default();
            if *count >= most {
                return None;
            }
            *count += 1;
        }
        Some(Place {
            room: Arc::clone(self),
            of,
            is_reserve,
            _permit: permit,
        })
    }
}

impl Place {
    /// Whether it is in the reserve.
    pub(super) fn is_reserve(&self) -> bool {
        self.is_reserve
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(of) = self.of else {
            return;
        };
        if let Entry::Occupied(mut count) = self.room.taken().entry(of) {
            if *count.get() > 1 {
                *count.get_mut() -= 1;
            } else {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Arc<Room> {
        Room::new(&Config {
            connections_max: 3,
            connections_per_address: 2,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..Config::default()
        })
    }

    async fn enter(room: &Arc<Room>, peer: [u8; 4]) -> Option<Place> {
        let free = room.free().await.unwrap();
        room.place(free, IpAddr::from(peer))
    }

    #[tokio::test]
    async fn an_address_has_its_share_and_the_reserve_is_kept() {
        let room = room();
        let first = enter(&room, [192, 0, 2, 1]).await.unwrap();
        let second = enter(&room, [192, 0, 2, 1]).await.unwrap();
        assert!(enter(&room, [192, 0, 2, 1]).await.is_none());
        let _third = enter(&room, [192, 0, 2, 2]).await.unwrap();
        // All places are taken, so later connections use the reserve.
        let mut reserve = Vec::new();
        for _ in 0..RESERVE_OF_ADDRESS {
            let place = enter(&room, [192, 0, 2, 1]).await.unwrap();
            assert!(place.is_reserve());
            reserve.push(place);
        }
        assert!(enter(&room, [192, 0, 2, 1]).await.is_none());
        assert!(enter(&room, [192, 0, 2, 3]).await.unwrap().is_reserve());
        drop(first);
        let again = enter(&room, [192, 0, 2, 1]).await.unwrap();
        assert!(!again.is_reserve());
        drop(reserve);
        assert_eq!(room.taken().len(), 2);
        // A wait that began while all were taken gives its caller the place that is free by now.
        let waited = room.free().await.unwrap();
        assert!(waited.is_reserve);
        drop(second);
        let address = IpAddr::from([192, 0, 2, 9]);
        assert!(!room.place(waited, address).unwrap().is_reserve());
    }

    #[tokio::test]
    async fn a_proxy_may_have_as_many_as_there_are() {
        let room = room();
        let mut places = Vec::new();
        for _ in 0..3 {
            places.push(enter(&room, [10, 0, 0, 1]).await.unwrap());
        }
        assert!(places.iter().all(|place| !place.is_reserve()));
    }
}
