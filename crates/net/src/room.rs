//! Admission of connections: a total limit, a limit for each address, and a reserve that answers health checks when the
//! rest is taken. When everything is taken, the address with the most connections gives up an idle one to an address
//! that has clearly fewer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_config::{Config, IpNetwork};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::addresses::ClientAddress;
use crate::flood::AddressFrames;
use crate::seats::{ConnectionSeat, SeatTable};

const RESERVE: usize = 64;
/// File numbers above the usual bound that reserve connections may take.
const RESERVE_FILES: u64 = RESERVE as u64;
/// Divisor: one address may take half of the usual connections' files.
const OF_ADDRESS_PART: u64 = 2;
/// Reserve connections of one address.
const RESERVE_OF_ADDRESS: usize = 4;
/// Usual connections by which an address must exceed the one that gets one of them, counting that one.
const MARGIN: usize = 2;
/// Time limit of a reserve connection, since others may need its place for health checks.
pub(crate) const RESERVE_TIMEOUT: Duration = Duration::from_secs(1);

/// Reasons for refusing a connection, as labels of the metric.
const ADDRESS: &str = "address";
const FILES: &str = "files";

/// Admits connections.
pub struct ConnectionRoom {
    /// Connections look for a place one after the other.
    door: Arc<Semaphore>,
    held: Mutex<RoomSeats>,
    /// Signals that a place may have become free.
    changed: Notify,
    numbers: AtomicU64,
    /// Usual connections have files with lower numbers.
    files_below: u64,
    proxies: Vec<IpNetwork>,
}

/// Usual and reserve seats.
struct RoomSeats {
    usual: SeatTable,
    reserve: SeatTable,
}

impl RoomSeats {
    fn of(&mut self, is_reserve: bool) -> &mut SeatTable {
        if is_reserve {
            &mut self.reserve
        } else {
            &mut self.usual
        }
    }
}

/// Permission for one more connection, before its address is known.
pub struct RoomPermit {
    _turn: OwnedSemaphorePermit,
}

/// A connection's place, released on drop.
pub struct ConnectionPlace {
    room: Arc<ConnectionRoom>,
    seat: Option<Arc<ConnectionSeat>>,
    shared: Option<AddressFrames>,
    is_reserve: bool,
}

impl ConnectionRoom {
    /// A connection is usual if its file's number is below `files_below`.
    pub fn new(config: &Config, files_below: u64) -> Arc<Self> {
        // With few files, one address does not get most of them.
        let of_address_max = (config.connections_per_address as u64)
            .min((files_below / OF_ADDRESS_PART).max(1)) as usize;
        Arc::new(Self {
            door: Arc::new(Semaphore::new(1)),
            held: Mutex::new(RoomSeats {
                usual: SeatTable::new(config.connections_max, of_address_max, MARGIN),
                reserve: SeatTable::new(RESERVE, RESERVE_OF_ADDRESS, 0),
            }),
            changed: Notify::new(),
            numbers: AtomicU64::new(0),
            files_below,
            proxies: config.trusted_proxies.clone(),
        })
    }

    /// Waits for room for one more connection. Seats that their holders do not use count as room; the address decides
    /// later who gets one.
    pub async fn free(&self) -> Option<RoomPermit> {
        // The semaphore is never closed.
        let turn = Arc::clone(&self.door).acquire_owned().await.ok()?;
        loop {
            let changed = self.changed.notified();
            if self.has_one() {
                return Some(RoomPermit { _turn: turn });
            }
            changed.await;
        }
    }

    fn has_one(&self) -> bool {
        let mut held = self.held();
        held.usual.has_one() || held.reserve.has_one()
    }

    fn held(&self) -> MutexGuard<'_, RoomSeats> {
        self.held.lock()
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(peer))
    }

    /// Gives a place to the connection from `peer` with this file number, or the reason why not: its address has too
    /// many connections, or too many files are open.
    pub fn place(
        self: &Arc<Self>,
        free: RoomPermit,
        peer: IpAddr,
        file: u64,
    ) -> Result<ConnectionPlace, &'static str> {
        let _until_placed = free;
        let has_file = file < self.files_below;
        if file >= self.files_below.saturating_add(RESERVE_FILES) {
            return Err(FILES);
        }
        let address = (!self.is_proxy(peer)).then(|| ClientAddress::from(peer));
        let mut held = self.held();
        let is_reserve = !(has_file && held.usual.make_room(address));
        let seats = held.of(is_reserve);
        if seats.is_full_for(address) || (is_reserve && !seats.make_room(address)) {
            // Without a file number, it is in the reserve because no file was left.
            return Err(if has_file { ADDRESS } else { FILES });
        }
        let of = address.map(|address| {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            (
                address,
                ConnectionSeat::new(Arc::downgrade(self), number, is_reserve),
            )
        });
        let seat = of.as_ref().map(|(_, seat)| Arc::clone(seat));
        Ok(ConnectionPlace {
            room: Arc::clone(self),
            seat,
            shared: seats.take(of),
            is_reserve,
        })
    }

    /// Notes that a connection may wait for a request.
    pub(crate) fn waits(&self, seat: &ConnectionSeat) {
        self.held().of(seat.is_reserve).waits(seat);
        self.changed.notify_one();
    }

    /// Notes that a connection asked to leave stays.
    pub(crate) fn stays(&self, seat: &ConnectionSeat) {
        self.held().of(seat.is_reserve).stays(seat);
    }
}

impl ConnectionPlace {
    pub fn is_reserve(&self) -> bool {
        self.is_reserve
    }

    /// Whether the peer is a trusted proxy.
    pub fn is_of_proxy(&self) -> bool {
        self.seat.is_none()
    }

    /// State shared with the address's other connections; `None` for proxies.
    pub fn frames(&self) -> Option<AddressFrames> {
        self.shared.clone()
    }

    /// Resolves when a connection still in its TLS handshake should end: another one needs its place, or its time in
    /// the reserve is over.
    pub async fn gives_way(&self) {
        let asked = async {
            let Some(seat) = &self.seat else {
                return std::future::pending().await;
            };
            seat.waits_again();
            seat.asked().await;
        };
        if self.is_reserve {
            let _either = tokio::time::timeout(RESERVE_TIMEOUT, asked).await;
        } else {
            asked.await;
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let number = self.seat.as_ref().map(|seat| seat.number);
        self.room.held().of(self.is_reserve).leave(number);
        self.room.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{AnswerKind, ConnectionEnd, ConnectionState, IdleLimits, OpenRequest};
    use crate::flood::ConnectionFrames;
    use crate::heads::HeadTimer;

    const HOUR: Duration = Duration::from_hours(1);
    const PATIENCE: IdleLimits = IdleLimits {
        stalled: HOUR,
        idle: HOUR,
    };

    fn room_for(connections_max: usize, connections_per_address: usize) -> Arc<ConnectionRoom> {
        let config = Config {
            connections_max,
            connections_per_address,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..Config::default()
        };
        ConnectionRoom::new(&config, 100)
    }

    fn room() -> Arc<ConnectionRoom> {
        room_for(3, 2)
    }

    async fn enter(room: &Arc<ConnectionRoom>, peer: [u8; 4]) -> Option<ConnectionPlace> {
        enter_with(room, peer, 9).await.ok()
    }

    async fn enter_with(
        room: &Arc<ConnectionRoom>,
        peer: [u8; 4],
        file: u64,
    ) -> Result<ConnectionPlace, &'static str> {
        let free = room.free().await.unwrap();
        room.place(free, IpAddr::from(peer), file)
    }

    fn taken(room: &Arc<ConnectionRoom>) -> (usize, usize) {
        let held = room.held();
        (held.usual.taken(), held.reserve.taken())
    }

    struct Connection {
        place: ConnectionPlace,
        line: Arc<ConnectionState>,
        _heads: HeadTimer,
    }

    impl Connection {
        async fn open(room: &Arc<ConnectionRoom>, host: u8) -> Self {
            let place = enter(room, [192, 0, 2, host]).await.unwrap();
            let line = ConnectionState::new(IpAddr::from([192, 0, 2, host]), place.is_reserve());
            let frames = ConnectionFrames::new(place.frames());
            let heads = HeadTimer::new(Arc::clone(&line), frames, HOUR, 0);
            Self {
                place,
                line,
                _heads: heads,
            }
        }

        fn answer(&self, using: OpenRequest) {
            drop(using);
            self.line.flushed();
        }

        async fn must_end(&self) -> bool {
            let over = self.line.over(PATIENCE);
            let end = tokio::time::timeout(Duration::from_millis(20), over).await;
            end.is_ok_and(|end| end == ConnectionEnd::Idle)
        }
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn an_address_has_its_share_and_the_reserve_is_kept() {
        let room = room();
        let first = enter(&room, [192, 0, 2, 1]).await.unwrap();
        let second = enter(&room, [192, 0, 2, 1]).await.unwrap();
        assert!(enter(&room, [192, 0, 2, 1]).await.is_none());
        let third = enter(&room, [192, 0, 2, 2]).await.unwrap();
        // Everything is taken, so later connections use the reserve.
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
        assert_eq!(taken(&room), (3, 0));
        // A wait that began when everything was taken gets the place that is free by now.
        let waited = room.free().await.unwrap();
        drop(second);
        let address = IpAddr::from([192, 0, 2, 9]);
        assert!(!room.place(waited, address, 9).unwrap().is_reserve());
        drop((again, third));
        let held = room.held();
        assert!(held.usual.is_empty() && held.reserve.is_empty());
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn the_address_that_has_most_gives_up_what_it_has_not_used_longest() {
        let room = room_for(5, 4);
        let mut of_one = Vec::new();
        for _ in 0..4 {
            of_one.push(Connection::open(&room, 1).await);
        }
        let other = Connection::open(&room, 2).await;
        // The first is at work and the second has just answered, so the third has waited longest.
        let working = of_one[0].line.begin();
        let answered = of_one[1].line.begin();
        tokio::time::sleep(Duration::from_millis(2)).await;
        of_one[1].answer(answered);
        let newcomer = Connection::open(&room, 3).await;
        assert!(!newcomer.place.is_reserve());
        assert_eq!(taken(&room).0, 5);
        for (connection, ends) in of_one.iter().zip([false, false, true, false]) {
            assert_eq!(connection.must_end().await, ends);
        }
        assert!(!other.must_end().await);
        // Three are one more than two, which is not enough; for an address without any they are.
        assert!(Connection::open(&room, 3).await.place.is_reserve());
        let next = Connection::open(&room, 4).await;
        assert!(!next.place.is_reserve() && of_one[3].must_end().await);
        assert!(Connection::open(&room, 5).await.place.is_reserve());
        of_one[0].answer(working);
        drop((of_one, other, newcomer, next));
        let held = room.held();
        assert!(held.usual.is_empty() && held.reserve.is_empty());
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn whoever_is_at_work_gives_up_nothing_until_it_waits() {
        let room = room_for(4, 4);
        let mut open = Vec::new();
        for _ in 0..4 {
            open.push(Connection::open(&room, 1).await);
        }
        let mut working: Vec<OpenRequest> = open.iter().map(|one| one.line.begin()).collect();
        assert!(Connection::open(&room, 2).await.place.is_reserve());
        // Its answer is handed over but not written; then written but not read.
        let unread = open[3].line.give(AnswerKind::Stream);
        drop(working.pop());
        assert!(Connection::open(&room, 2).await.place.is_reserve());
        open[3].line.flushed();
        assert!(Connection::open(&room, 2).await.place.is_reserve());
        drop(unread);
        assert!(!Connection::open(&room, 2).await.place.is_reserve());
        assert!(open[3].must_end().await);
        assert!(!open[2].must_end().await);
        // A request of the same moment is answered, and its connection counts until then.
        let late = open[3].line.begin();
        open[3].line.end_soon();
        assert_eq!(taken(&room).0, 4);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert!(!open[3].must_end().await);
        open[3].answer(late);
        let over = open[3].line.over(PATIENCE);
        let end = tokio::time::timeout(Duration::from_secs(5), over).await;
        assert_eq!(end.unwrap(), ConnectionEnd::Idle);
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn a_full_reserve_gives_way_to_whoever_comes() {
        let room = room_for(1, 1);
        let _only = Connection::open(&room, 200).await;
        let mut silent = Vec::new();
        for host in 1..=RESERVE / RESERVE_OF_ADDRESS {
            for _ in 0..RESERVE_OF_ADDRESS {
                silent.push(Connection::open(&room, host as u8).await);
            }
        }
        assert_eq!(taken(&room).1, RESERVE);
        let probe = Connection::open(&room, 100).await;
        assert!(probe.place.is_reserve() && silent[0].must_end().await);
        assert!(!silent[1].must_end().await);
        // Connections with requests stay, and new ones wait for them.
        let working: Vec<OpenRequest> = silent.iter().map(|one| one.line.begin()).collect();
        let using = probe.line.begin();
        let waiting = tokio::time::timeout(Duration::from_millis(50), room.free()).await;
        assert!(waiting.is_err());
        let (waited, ()) = tokio::join!(room.free(), async { probe.answer(using) });
        assert!(waited.is_some());
        drop(working);
    }

    #[tokio::test]
    async fn whoever_shakes_hands_gives_way_too() {
        let room = room_for(3, 3);
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(enter(&room, [192, 0, 2, 1]).await.unwrap());
        }
        let first = open.remove(0);
        let (gives_way, newcomer) = tokio::join!(
            tokio::time::timeout(Duration::from_secs(5), first.gives_way()),
            Connection::open(&room, 2)
        );
        gives_way.unwrap();
        assert!(!newcomer.place.is_reserve());
        let reserve = enter(&room, [192, 0, 2, 3]).await.unwrap();
        assert!(reserve.is_reserve());
        let ended = tokio::time::timeout(2 * RESERVE_TIMEOUT, reserve.gives_way()).await;
        ended.expect("it has a second");
    }

    // Holds invariant 119.
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
        assert_eq!(taken(&room), (0, 0));
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn a_proxy_may_have_as_many_as_there_are() {
        let room = room();
        let mut places = Vec::new();
        for _ in 0..3 {
            places.push(enter(&room, [10, 0, 0, 1]).await.unwrap());
        }
        assert!(places.iter().all(|place| !place.is_reserve()));
        assert!(enter(&room, [192, 0, 2, 1]).await.unwrap().is_reserve());
    }
}
