//! Networks in CIDR notation (RFC 4632, RFC 4291 2.3): `10.0.0.0/8`, `2001:db8::/32`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpNetwork(IpNet);

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "must be a network such as 10.0.0.0/8 or 2001:db8::/32, or one address, with no bits set after the prefix"
)]
pub struct NetworkError;

impl IpNetwork {
    /// True for an address in the network. An IPv4 address may also be IPv4-mapped.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for IpNetwork {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let network = match text.split_once('/') {
            // The standard library parses the address: it refuses leading zeros, which other programs take for octal.
            Some((address, prefix)) => IpNet::new(
                address.parse().map_err(|_| NetworkError)?,
                prefix.parse().map_err(|_| NetworkError)?,
            )
            .map_err(|_| NetworkError)?,
            None => text.parse::<IpAddr>().map_err(|_| NetworkError)?.into(),
        };
        if network != network.trunc() {
            return Err(NetworkError);
        }
        Ok(Self(network))
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for IpNetwork {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_begins_with_its_prefix() {
        let cases = [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "a00::", false),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "255.1.2.3", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("::1", "::1", true),
        ];
        for (network, address, expected) in cases {
            let network: IpNetwork = network.parse().unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                expected,
                "{network} {address}"
            );
            assert_eq!(network.to_string().parse(), Ok(network));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "010.0.0.0/8",
            "10.0.0.0/-1",
            "::/129",
            "a/8",
            "10.0.0.0/",
        ] {
            assert_eq!(bad.parse::<IpNetwork>(), Err(NetworkError), "{bad}");
        }
    }
}
