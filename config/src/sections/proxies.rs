//! Addresses of proxies: one address, or a network of them.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An IP address with the length of its network prefix; a single address has all its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// As 128 bits, IPv4 as its IPv6-mapped form, so that both kinds of socket compare alike.
    bits: u128,
    prefix: u32,
}

/// A text is no address and no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no IP address and no network such as 10.0.0.0/8")]
pub struct NoNetwork;

impl Network {
    /// Whether the address belongs to it.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let differ = mapped(address) ^ self.bits;
        differ.leading_zeros() >= self.prefix
    }
}

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u32>().map_err(|_| NoNetwork)?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NoNetwork)?;
        // An IPv4 network lies behind the 96 bits that mark a mapped address.
        let (width, before) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let prefix = prefix.unwrap_or(width);
        if prefix > width {
            return Err(NoNetwork);
        }
        Ok(Self { bits: mapped(address), prefix: prefix + before })
    }
}

fn mapped(address: IpAddr) -> u128 {
    let v6: Ipv6Addr = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    v6.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_their_addresses() {
        for (network, address, inside) in [
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::", true),
            ("::/0", "10.0.0.1", true),
        ] {
            let parsed: Network = network.parse().expect(network);
            assert_eq!(parsed.contains(address.parse().expect(address)), inside, "{network} {address}");
        }
        for bad in ["", "proxy", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/", "::/129"] {
            assert_eq!(bad.parse::<Network>(), Err(NoNetwork), "{bad}");
        }
    }
}
