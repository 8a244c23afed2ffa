//! Room for connections: a bounded number at one time, a bounded number for each address, and a reserve that gets
//! answers about the server's health when all others are taken.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_config::{Config, Network};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::addresses::ClientAddress;
use crate::flood::Shared;

/// Reserve connections.
const RESERVE: usize = 64;
/// Files above the bound of usual connections that reserve connections may take.
const RESERVE_FILES: u64 = RESERVE as u64;
/// One address may take this part of the files for usual connections: a half.
const OF_ADDRESS_PART: u64 = 2;
/// Reserve connections that one address may have.
const RESERVE_OF_ADDRESS: usize = 4;

/// Why a connection gets no place, as the metric names it.
const ADDRESS: &str = "address";
const FILES: &str = "files";

/// Room for connections.
pub struct Room {
    places: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    of_address_max: usize,
    /// Usual connections have files with lower numbers.
    files_below: u64,
    proxies: Vec<Network>,
    /// By address, and whether in the reserve.
    taken: Mutex<HashMap<(ClientAddress, bool), Taken>>,
}

/// The connections of one address.
#[derive(Default)]
struct Taken {
    count: usize,
    /// What they share.
    frames: Shared,
}

/// Room for one connection, before its address is known.
pub struct Free {
    permit: OwnedSemaphorePermit,
    is_reserve: bool,
}

/// A connection's place, until it is dropped.
pub struct Place {
    room: Arc<Room>,
    of: Option<(ClientAddress, bool)>,
    frames: Option<Shared>,
    is_reserve: bool,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// The configured room. A connection has a usual place if its file has a number below `files_below`.
    pub fn new(config: &Config, files_below: u64) -> Arc<Self> {
        Arc::new(Self {
            files_below,
            places: Arc::new(Semaphore::new(config.connections_max)),
            reserve: Arc::new(Semaphore::new(RESERVE)),
            // Where few files are allowed, one address does not get most of them.
            of_address_max: (config.connections_per_address as u64)
                .min((files_below / OF_ADDRESS_PART).max(1)) as usize,
            proxies: config.trusted_proxies.clone(),
            taken: Mutex::default(),
        })
    }

    /// Waits for room for one more connection.
    pub async fn free(&self) -> Option<Free> {
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

    fn taken(&self) -> MutexGuard<'_, HashMap<(ClientAddress, bool), Taken>> {
        self.taken.lock()
    }

    /// Whether a trusted proxy has this address.
    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(peer))
    }

    /// The place of a connection from `peer`, whose file has this number, or why it gets none: its address has too many,
    /// or too many files are open.
    pub fn place(
        self: &Arc<Self>,
        free: Free,
        peer: IpAddr,
        file: u64,
    ) -> Result<Place, &'static str> {
        let Free {
            mut permit,
            mut is_reserve,
        } = free;
        let has_file = file < self.files_below;
        // There may be room by now, because it can take long until a caller connects.
        if is_reserve
            && has_file
            && let Ok(place) = Arc::clone(&self.places).try_acquire_owned()
        {
            (permit, is_reserve) = (place, false);
        }
        if !has_file {
            let reserve = Arc::clone(&self.reserve).try_acquire_owned();
            let is_near = file < self.files_below.saturating_add(RESERVE_FILES);
            match (is_reserve, reserve) {
                _ if !is_near => return Err(FILES),
                (true, _) => {}
                (false, Ok(reserve)) => (permit, is_reserve) = (reserve, true),
                (false, Err(_)) => return Err(FILES),
            }
        }
        let of = (!self.is_proxy(peer)).then(|| (ClientAddress::from(peer), is_reserve));
        let mut frames = None;
        if let Some(of) = of {
            let most = if is_reserve {
                RESERVE_OF_ADDRESS
            } else {
                self.of_address_max
            };
            let mut taken = self.taken();
            let taken = taken.entry(of).or_default();
            if taken.count >= most {
                // Without a file it is in the reserve only because none is left for a usual connection.
                return Err(if has_file { ADDRESS } else { FILES });
            }
            taken.count += 1;
            frames = Some(taken.frames.clone());
        }
        Ok(Place {
            room: Arc::clone(self),
            of,
            frames,
            is_reserve,
            _permit: permit,
        })
    }
}

impl Place {
    /// Whether it is in the reserve.
    pub fn is_reserve(&self) -> bool {
        self.is_reserve
    }

    /// Whether a trusted proxy has it.
    pub fn is_of_proxy(&self) -> bool {
        self.of.is_none()
    }

    /// What the connections of its address share; a proxy's share nothing.
    pub fn frames(&self) -> Option<Shared> {
        self.frames.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(of) = self.of else {
            return;
        };
        if let Entry::Occupied(mut taken) = self.room.taken().entry(of) {
            if taken.get().count > 1 {
                taken.get_mut().count -= 1;
            } else {
                taken.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Arc<Room> {
        let config = Config {
            connections_max: 3,
            connections_per_address: 2,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..Config::default()
        };
        Room::new(&config, 100)
    }

    async fn enter(room: &Arc<Room>, peer: [u8; 4]) -> Option<Place> {
        enter_with(room, peer, 9).await.ok()
    }

    async fn enter_with(room: &Arc<Room>, peer: [u8; 4], file: u64) -> Result<Place, &'static str> {
        let free = room.free().await.unwrap();
        room.place(free, IpAddr::from(peer), file)
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
        assert!(!room.place(waited, address, 9).unwrap().is_reserve());
    }

    #[tokio::test]
    async fn where_few_files_are_left_health_is_answered_and_then_nothing() {
        let room = room();
        assert!(
            !enter_with(&room, [192, 0, 2, 1], 99)
                .await
                .unwrap()
                .is_reserve()
        );
        for _ in 0..2 * RESERVE {
            let place = enter_with(&room, [192, 0, 2, 1], 100).await.unwrap();
            assert!(place.is_reserve());
        }
        let mut held = Vec::new();
        for _ in 0..RESERVE_OF_ADDRESS {
            held.push(enter_with(&room, [192, 0, 2, 1], 100).await.unwrap());
        }
        let refused = enter_with(&room, [192, 0, 2, 1], 100).await;
        assert_eq!(refused.err(), Some(FILES));
        drop(held);
        let refused = enter_with(&room, [192, 0, 2, 1], 100 + RESERVE_FILES).await;
        assert_eq!(refused.err(), Some(FILES));
        assert_eq!(room.reserve.available_permits(), RESERVE);
        assert_eq!(room.places.available_permits(), 3);
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
