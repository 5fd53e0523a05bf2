//! A network in CIDR notation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses that share their first bits, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

/// The bits before an IPv4 address in its IPv6 form.
const MAPPED_BITS: u8 = 96;

/// Text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network: write it like 10.0.0.0/8, fd00::/8 or 192.0.2.1")]
pub struct NetworkError(pub String);

impl Network {
    /// Makes a network of all addresses whose first `bits` bits are those of `first`.
    ///
    /// A number of bits greater than the length of the address means the whole address. A network of
    /// IPv4 addresses in their IPv6 form, such as `::ffff:10.0.0.0/104`, is the network of IPv4.
    pub const fn new(first: IpAddr, bits: u8) -> Self {
        match (first, first.to_canonical()) {
            (IpAddr::V6(_), inner @ IpAddr::V4(_)) if bits >= MAPPED_BITS => {
                Self { first: inner, bits: bits - MAPPED_BITS }
            }
            _ => Self { first, bits },
        }
    }

    /// Returns whether an address belongs to the network. An IPv4 address never belongs to an IPv6
    /// network; in its IPv6 form, `::ffff:10.0.0.1`, it is the same address.
    ///
    /// Source: RFC 4291 §2.5.5.2.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= u32::from(self.bits.min(32))
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differing = first.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= u32::from(self.bits.min(128))
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (first, bits) = match text.split_once('/') {
            Some((first, bits)) => (first, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = first.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?,
            None => most,
        };
        Ok(Self::new(first, bits))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_network_contains_the_addresses_that_share_its_prefix() {
        for (network, address, is_inside) in [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::1", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "fe00::1", true),
            ("127.0.0.0/8", "::ffff:127.0.0.1", true),
            ("127.0.0.0/8", "::ffff:128.0.0.1", false),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("::ffff:0:0/96", "192.0.2.1", true),
        ] {
            let network: Network = network.parse().unwrap();

            assert_eq!(network.contains(address.parse().unwrap()), is_inside, "{network}");
        }
    }

    #[test]
    fn an_invalid_network_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/-1", "a/8"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError(text.into())));
        }
    }

    proptest! {
        #[test]
        fn a_network_survives_a_round_trip(first: [u8; 16], bits in 0u8..=128) {
            let network = Network::new(IpAddr::from(first), bits);

            prop_assert_eq!(network.to_string().parse(), Ok(network));
            prop_assert!(network.contains(IpAddr::from(first)));
        }

        #[test]
        fn an_ipv4_network_is_the_same_in_its_ipv6_form(first: [u8; 4], bits in 0u8..=32, asked: [u8; 4]) {
            let mapped = Ipv4Addr::from(first).to_ipv6_mapped();
            let asked = Ipv4Addr::from(asked);

            let network = Network::new(IpAddr::from(first), bits);

            prop_assert_eq!(format!("{mapped}/{}", bits + 96).parse(), Ok(network));
            let mapped = IpAddr::from(asked.to_ipv6_mapped());
            prop_assert_eq!(network.contains(asked.into()), network.contains(mapped));
        }
    }
}
