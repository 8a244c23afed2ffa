//! Destination checks of webhooks. Owners of webhooks choose where this server connects, so internal addresses are
//! refused: at creation if the URL names one, and at every delivery after the name is resolved. The connection goes to
//! the checked address; the name is not resolved twice.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock};

use hyper::Uri;
use hyper::http::uri::PathAndQuery;
use kedge_actors::fair::{FairQueue, share};
use kedge_config::IpNetwork;
use kedge_protocol::Id;

/// Concurrent lookups: a hanging resolver must not occupy every thread.
const LOOKUPS_MAX: usize = 64;
/// Longest host name (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// Networks outside the public internet: IANA's special-purpose registries (RFC 6890), and the addresses where clouds
/// serve credentials.
const SPECIAL: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
];

static SPECIAL_NETWORKS: LazyLock<Vec<IpNetwork>> = LazyLock::new(|| networks(SPECIAL));
/// The public part of IPv6.
static GLOBAL_UNICAST: LazyLock<Vec<IpNetwork>> = LazyLock::new(|| networks(&["2000::/3"]));
/// IPv4 addresses mapped by a translator (RFC 6052).
static TRANSLATED: LazyLock<Vec<IpNetwork>> = LazyLock::new(|| networks(&["64:ff9b::/96"]));

fn networks(texts: &[&str]) -> Vec<IpNetwork> {
    let parse = |text: &&str| text.parse().expect("the tables of networks are valid");
    texts.iter().map(parse).collect()
}

fn holds(networks: &[IpNetwork], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// True for a public address, in any form.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V6(address) if holds(&TRANSLATED, address.into()) => {
            let [.., a, b, c, d] = address.octets();
            is_public(Ipv4Addr::new(a, b, c, d).into())
        }
        address @ IpAddr::V6(_) => {
            holds(&GLOBAL_UNICAST, address) && !holds(&SPECIAL_NETWORKS, address)
        }
        address @ IpAddr::V4(_) => !holds(&SPECIAL_NETWORKS, address),
    }
}

/// Reasons to refuse a URL or a connection. The messages are for the webhook's owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TargetError {
    #[error("must be an https URL with a host name or address")]
    Form,
    #[error("must not lead to a private, local or reserved address")]
    Address,
    #[error("must begin with https://")]
    Plain,
    #[error("the host name could not be looked up")]
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum TargetHost {
    Address(IpAddr),
    Name(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookTarget {
    pub is_https: bool,
    /// Authority for the `TargetHost` field.
    pub authority: String,
    /// Name in the certificate.
    pub name: String,
    pub path: PathAndQuery,
    host: TargetHost,
    port: u16,
}

impl WebhookTarget {
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let uri: Uri = url.parse().map_err(|_| TargetError::Form)?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(TargetError::Form),
        };
        let authority = uri.authority().ok_or(TargetError::Form)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::Form);
        }
        let host = host(authority.host()).ok_or(TargetError::Form)?;
        // Anything after a colon must be a port: hyper ignores one that is empty or too large.
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(0) => return Err(TargetError::Form),
            Some(port) => port,
            None if has_port => return Err(TargetError::Form),
            None if is_https => 443,
            None => 80,
        };
        let name = match &host {
            TargetHost::Address(address) => address.to_string(),
            TargetHost::Name(name) => name.clone(),
        };
        let root = PathAndQuery::from_static("/");
        Ok(Self {
            is_https,
            authority: authority.as_str().to_owned(),
            name,
            path: uri.path_and_query().cloned().unwrap_or(root),
            host,
            port,
        })
    }
}

/// Parses a host. Addresses are recognized in every form that a resolver accepts.
fn host(text: &str) -> Option<TargetHost> {
    if let Some(inside) = text.strip_prefix('[') {
        let address: Ipv6Addr = inside.strip_suffix(']')?.parse().ok()?;
        return Some(TargetHost::Address(address.into()));
    }
    let name = text.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() < 64 && label.bytes().all(plain)
    };
    if name.len() > NAME_BYTES_MAX || !labels.iter().all(is_label) {
        return None;
    }
    // Names under localhost are this machine (RFC 6761, 6.3).
    let last = *labels.last()?;
    if last == "localhost" {
        return Some(TargetHost::Address(Ipv4Addr::LOCALHOST.into()));
    }
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        return number_form(&labels).map(|address| TargetHost::Address(address.into()));
    }
    Some(TargetHost::Name(name.to_owned()))
}

/// Parses the forms of inet_aton: one to four numbers, decimal, octal or hexadecimal; the last one fills the rest of
/// the address.
fn number_form(labels: &[&str]) -> Option<Ipv4Addr> {
    let number = |label: &&str| -> Option<u32> {
        if let Some(digits) = label.strip_prefix("0x") {
            return match digits {
                "" => Some(0),
                digits => u32::from_str_radix(digits, 16).ok(),
            };
        }
        match label.strip_prefix('0') {
            Some("") | None => label.parse().ok(),
            Some(digits) => u32::from_str_radix(digits, 8).ok(),
        }
    };
    let numbers: Option<Vec<u32>> = labels.iter().map(number).collect();
    let numbers = numbers?;
    let (last, front) = numbers.split_last()?;
    if front.len() > 3 || front.iter().any(|number| *number > 255) {
        return None;
    }
    let left_bits = 32 - 8 * front.len() as u32;
    if left_bits < 32 && *last >= 1 << left_bits {
        return None;
    }
    let shifted = (0..).zip(front).map(|(at, number)| number << (24 - 8 * at));
    Some(Ipv4Addr::from_bits(shifted.sum::<u32>() | *last))
}

/// Decides which addresses may be connected to.
pub struct AddressGuard {
    allowed: Vec<IpNetwork>,
    lookups: Arc<FairQueue<Id>>,
}

impl AddressGuard {
    /// `allowed` networks are permitted too, encrypted or not. One organization may use `share_percent` of the
    /// concurrent lookups.
    pub fn new(allowed: Vec<IpNetwork>, share_percent: u8) -> Self {
        let each = share(LOOKUPS_MAX, share_percent);
        Self {
            allowed,
            lookups: FairQueue::new(LOOKUPS_MAX, each, usize::MAX),
        }
    }

    fn check(&self, target: &WebhookTarget, address: IpAddr) -> Result<(), TargetError> {
        if holds(&self.allowed, address) {
            Ok(())
        } else if !is_public(address) {
            Err(TargetError::Address)
        } else if !target.is_https {
            Err(TargetError::Plain)
        } else {
            Ok(())
        }
    }

    /// Checks a URL as far as possible without a lookup.
    pub fn check_url(&self, url: &str) -> Result<(), TargetError> {
        let target = WebhookTarget::parse(url)?;
        match target.host {
            TargetHost::Address(address) => self.check(&target, address),
            TargetHost::Name(_) if !target.is_https && self.allowed.is_empty() => {
                Err(TargetError::Plain)
            }
            TargetHost::Name(_) => Ok(()),
        }
    }

    /// Resolves and checks an organization's target. One forbidden address refuses all: such a name is meant to
    /// mislead.
    pub async fn addresses(
        &self,
        organization: Id,
        target: &WebhookTarget,
    ) -> Result<Vec<SocketAddr>, TargetError> {
        let port = target.port;
        let found = match &target.host {
            TargetHost::Address(address) => vec![SocketAddr::new(*address, port)],
            TargetHost::Name(name) => self.look_up(organization, name.clone(), port).await?,
        };
        for address in &found {
            self.check(target, address.ip())?;
        }
        if found.is_empty() {
            return Err(TargetError::Unknown);
        }
        Ok(found)
    }

    async fn look_up(
        &self,
        organization: Id,
        name: String,
        port: u16,
    ) -> Result<Vec<SocketAddr>, TargetError> {
        let turn = self.lookups.take(organization).await;
        let turn = turn.map_err(|_| TargetError::Unknown)?;
        let lookup = tokio::task::spawn_blocking(move || {
            // Held until the resolver is done, even if the caller has gone.
            let _turn = turn;
            (name.as_str(), port)
                .to_socket_addrs()
                .map(Iterator::collect)
        });
        match lookup.await {
            Ok(Ok(found)) => Ok(found),
            _ => Err(TargetError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORGANIZATION: Id = Id {
        prefix: kedge_protocol::Prefix::Organization,
        bytes: [1; 16],
    };

    fn guard(allowed: &[&str]) -> AddressGuard {
        AddressGuard::new(networks(allowed), 25)
    }

    // Holds invariant 41.
    #[test]
    fn addresses_inside_are_refused_in_every_form() {
        let guard = guard(&[]);
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.1.",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "0",
            "0.0.0.0",
            "0x",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.0.1",
            "0xa9fea9fe",
            "2852039166",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:a9fe:a9fe]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2002:a00:1::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[3fff::1]",
            "[100::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
        ] {
            for scheme in ["https", "http"] {
                let url = format!("{scheme}://{host}/hook");
                assert_eq!(guard.check_url(&url), Err(TargetError::Address), "{url}");
            }
        }
    }

    #[test]
    fn what_is_no_host_is_no_url() {
        let guard = guard(&[]);
        for url in [
            "",
            "example.com",
            "ftp://example.com/",
            "https://",
            "https:///path",
            "https://user@example.com/",
            "https://user:pass@example.com/",
            "https://exa mple.com/",
            "https://example..com/",
            "https://.example.com/",
            "https://%31%32%37.0.0.1/",
            "https://1.2.3.256/",
            "https://1.2.3.4.5/",
            "https://256.1/",
            "https://09.1.1.1/",
            "https://0xzz/",
            "https://4294967296/",
            "https://[::1%25eth0]/",
            "https://[::1/",
            "https://example.com:0/",
            "https://example.com:99999/",
            "https://example.com:/",
            "https://\\example.com/",
        ] {
            assert_eq!(guard.check_url(url), Err(TargetError::Form), "{url}");
        }
    }

    #[test]
    fn the_public_internet_is_reached_encrypted() {
        let guard = guard(&[]);
        for url in [
            "https://example.com/hook?a=1",
            "https://EXAMPLE.com.:8443",
            "https://93.184.215.14/",
            "https://172.15.255.255/",
            "https://172.32.0.0/",
            "https://100.63.255.255/",
            "https://100.128.0.0/",
            "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
            "https://[64:ff9b::5db8:d70e]/",
            "https://[::ffff:93.184.215.14]/",
        ] {
            assert_eq!(guard.check_url(url), Ok(()), "{url}");
            let plain = url.replace("https://", "http://");
            assert_eq!(guard.check_url(&plain), Err(TargetError::Plain), "{plain}");
        }
    }

    #[tokio::test]
    async fn an_allowed_network_is_reached_and_no_other() {
        let guard = guard(&["10.1.0.0/16", "::1/128"]);
        for url in ["http://10.1.2.3/", "https://10.1.2.3/", "http://[::1]:80/"] {
            assert_eq!(guard.check_url(url), Ok(()), "{url}");
        }
        for url in ["http://10.2.0.1/", "http://127.0.0.1/"] {
            assert_eq!(guard.check_url(url), Err(TargetError::Address), "{url}");
        }
        // A name may lead into the allowed network; only the delivery shows that.
        assert_eq!(guard.check_url("http://inside.example/"), Ok(()));
        let target = WebhookTarget::parse("http://10.1.2.3:8080/a?b").unwrap();
        let found = guard.addresses(ORGANIZATION, &target).await.unwrap();
        assert_eq!(found, ["10.1.2.3:8080".parse().unwrap()]);
        assert_eq!(
            (target.authority.as_str(), target.path.as_str()),
            ("10.1.2.3:8080", "/a?b")
        );
    }

    // Holds invariant 41.
    #[tokio::test]
    async fn a_name_is_checked_by_what_it_leads_to() {
        // The only name that every machine's resolver resolves to an internal address.
        let target = WebhookTarget {
            host: TargetHost::Name("localhost".to_owned()),
            ..WebhookTarget::parse("https://example.com/").unwrap()
        };
        let refused = guard(&[]).addresses(ORGANIZATION, &target).await;
        assert_eq!(refused, Err(TargetError::Address));
        let inside = guard(&["127.0.0.0/8", "::1/128"]);
        assert!(inside.addresses(ORGANIZATION, &target).await.is_ok());
    }
}
