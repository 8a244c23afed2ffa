//! Client addresses: taken from the connection or a trusted proxy, each with a count of its requests that name no
//! organization.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::HeaderName;
use kedge_config::IpNetwork;
use quick_cache::sync::Cache;

use crate::window::{WindowCount, WindowCounter};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Bits of an IPv6 address that identify a subscriber (RFC 6177), who chooses the rest.
const IPV6_SUBSCRIBER_BITS: u32 = 64;

/// Address that requests are attributed to: an IPv4 address, or an IPv6 network of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let mask = u128::MAX << IPV6_SUBSCRIBER_BITS;
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Counts an address's requests and those given back.
#[derive(Default, Debug)]
pub struct AddressRequests {
    taken: WindowCounter,
    given_back: WindowCounter,
}

impl AddressRequests {
    /// Counts one request; false if `limit` leaves no room.
    pub fn take(&self, window: u32, limit: u32) -> bool {
        self.taken.take(window, limit)
    }

    /// Gives one request back that was taken in a window, at most `limit` in the window of now.
    pub fn give_back_known(&self, taken: u32, now: u32, limit: u32) {
        if self.given_back.take(now, limit) {
            self.taken.give_back(taken);
        }
    }

    pub fn count(&self, window: u32) -> WindowCount {
        self.taken.count(window)
    }
}

/// Resolves and counts client addresses.
pub struct AddressCounter {
    trusted: Vec<IpNetwork>,
    counters: Cache<ClientAddress, Arc<AddressRequests>>,
}

impl AddressCounter {
    /// `trusted` are the proxies; `addresses_max` bounds the cached addresses, approximately.
    pub fn new(trusted: Vec<IpNetwork>, addresses_max: usize) -> Self {
        Self {
            trusted,
            counters: Cache::new(addresses_max),
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// The peer, or behind a trusted proxy the last address of `X-Forwarded-For` that is not such a proxy. Callers can
    /// forge the entries before it.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let mut client = peer;
        if self.trusted.is_empty() || !self.trusts(peer) {
            return client.into();
        }
        let fields = headers.get_all(FORWARDED_FOR).iter().rev();
        let hops = fields.flat_map(|field| field.as_bytes().rsplit(|byte| *byte == b','));
        for hop in hops {
            let Some(address) = address_of(hop) else {
                break;
            };
            client = address;
            if !self.trusts(address) {
                break;
            }
        }
        client.into()
    }

    pub fn counter(&self, address: ClientAddress) -> Arc<AddressRequests> {
        let made = self.counters.get_or_insert_with(&address, || {
            Ok::<_, std::convert::Infallible>(Arc::default())
        });
        made.unwrap_or_else(|never| match never {})
    }

    /// The address's counter, if the address sent a request before.
    pub fn known(&self, address: ClientAddress) -> Option<Arc<AddressRequests>> {
        self.counters.get(&address)
    }
}

/// Parses one entry of `X-Forwarded-For`; some proxies add a port.
fn address_of(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let bare = bare.unwrap_or(text).parse().ok();
    bare.or_else(|| {
        text.parse()
            .ok()
            .map(|socket: std::net::SocketAddr| socket.ip())
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client_of(trusted: &[&str], peer: &str, forwarded: &[&str]) -> ClientAddress {
        let trusted = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for field in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(field).unwrap());
        }
        AddressCounter::new(trusted, 10).client(address(peer), &headers)
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let cases: [(&[&str], &str, &[&str], &str); 9] = [
            (&[], "127.0.0.1", &["203.0.113.7"], "127.0.0.1"),
            (&["10.0.0.0/8"], "127.0.0.1", &["203.0.113.7"], "127.0.0.1"),
            (&["127.0.0.1"], "127.0.0.1", &["203.0.113.7"], "203.0.113.7"),
            // The caller wrote the first address, the proxies the others.
            (
                &["127.0.0.1", "10.0.0.0/8"],
                "127.0.0.1",
                &["198.51.100.1, 203.0.113.7,10.1.2.3"],
                "203.0.113.7",
            ),
            (
                &["127.0.0.1", "10.0.0.0/8"],
                "127.0.0.1",
                &["198.51.100.1, 203.0.113.7", "10.1.2.3"],
                "203.0.113.7",
            ),
            (
                &["127.0.0.0/8"],
                "::ffff:127.0.0.1",
                &["203.0.113.7:4711"],
                "203.0.113.7",
            ),
            (
                &["127.0.0.1"],
                "127.0.0.1",
                &["203.0.113.7, unknown"],
                "127.0.0.1",
            ),
            (&["127.0.0.1"], "127.0.0.1", &[], "127.0.0.1"),
            (
                &["127.0.0.1"],
                "127.0.0.1",
                &["[2001:db8::1]:443"],
                "2001:db8::1",
            ),
        ];
        for (trusted, peer, forwarded, expected) in cases {
            let found = client_of(trusted, peer, forwarded);
            assert_eq!(
                found,
                address(expected).into(),
                "{trusted:?} {peer} {forwarded:?}"
            );
        }
    }

    #[test]
    fn a_subscriber_is_one_address() {
        let client = |text| ClientAddress::from(address(text));
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[test]
    fn addresses_have_a_counter_each() {
        let addresses = AddressCounter::new(Vec::new(), 10);
        let (one, other) = (address("192.0.2.1").into(), address("192.0.2.2").into());
        assert!(addresses.known(one).is_none());
        assert!(addresses.counter(one).take(1, 1));
        assert!(!addresses.counter(one).take(1, 1));
        assert!(addresses.counter(other).take(1, 1));
        assert_eq!(addresses.known(one).unwrap().count(1).used, 1);
    }
}
