//! The table of address ranges that are not public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;

/// The reason why an address is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// It is the unspecified address, such as `0.0.0.0`.
    Unspecified,
    /// It is this machine.
    Loopback,
    /// It belongs to a private IPv4 network.
    Private,
    /// It is shared by a carrier's customers (RFC 6598).
    Shared,
    /// It belongs to a private IPv6 network.
    UniqueLocal,
    /// It is valid on one link only.
    LinkLocal,
    /// It is that of a cloud provider's metadata service.
    Metadata,
    /// It addresses a group of machines.
    Multicast,
    /// It is reserved for examples in documentation.
    Documentation,
    /// It is reserved for protocols, benchmarks or future use, or it belongs to a tunnel, which hides
    /// its real destination.
    Reserved,
    /// It is public, but in a network that the settings refuse.
    Listed,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8, range: Range) -> (Network, Range) {
    (Network::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits), range)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8, range: Range) -> (Network, Range) {
    (Network::new(IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), bits), range)
}

/// The ranges that are not public; the first match counts.
///
/// Source: the special-purpose address registries of IANA (RFC 6890); the documentation of the cloud
/// providers for their metadata services.
const RANGES: &[(Network, Range)] = &[
    // Amazon, Google, Microsoft and others; Alibaba; Oracle; Microsoft's agent.
    v4(169, 254, 169, 254, 32, Range::Metadata),
    v4(100, 100, 100, 200, 32, Range::Metadata),
    v4(192, 0, 0, 192, 32, Range::Metadata),
    v4(168, 63, 129, 16, 32, Range::Metadata),
    // Amazon, Google, Oracle and Scaleway on IPv6.
    v6(0xfd00, 0x0ec2, 0, 48, Range::Metadata),
    v6(0xfd20, 0x00ce, 0, 48, Range::Metadata),
    v6(0xfd00, 0x00c1, 0, 48, Range::Metadata),
    v6(0xfd00, 0x0042, 0, 48, Range::Metadata),
    v4(0, 0, 0, 0, 8, Range::Unspecified),
    v4(10, 0, 0, 0, 8, Range::Private),
    v4(100, 64, 0, 0, 10, Range::Shared),
    v4(127, 0, 0, 0, 8, Range::Loopback),
    v4(169, 254, 0, 0, 16, Range::LinkLocal),
    v4(172, 16, 0, 0, 12, Range::Private),
    v4(192, 0, 0, 0, 24, Range::Reserved),
    v4(192, 0, 2, 0, 24, Range::Documentation),
    v4(192, 88, 99, 0, 24, Range::Reserved),
    v4(192, 168, 0, 0, 16, Range::Private),
    v4(198, 18, 0, 0, 15, Range::Reserved),
    v4(198, 51, 100, 0, 24, Range::Documentation),
    v4(203, 0, 113, 0, 24, Range::Documentation),
    v4(224, 0, 0, 0, 4, Range::Multicast),
    v4(240, 0, 0, 0, 4, Range::Reserved),
    (Network::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128), Range::Unspecified),
    (Network::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128), Range::Loopback),
    v6(0xfc00, 0, 0, 7, Range::UniqueLocal),
    v6(0xfe80, 0, 0, 10, Range::LinkLocal),
    // Site-local addresses, which unique local ones have replaced.
    v6(0xfec0, 0, 0, 10, Range::UniqueLocal),
    v6(0xff00, 0, 0, 8, Range::Multicast),
    // Protocol assignments; Teredo is among them.
    v6(0x2001, 0, 0, 23, Range::Reserved),
    v6(0x2001, 0x0db8, 0, 32, Range::Documentation),
    // 6to4: packets go to an IPv4 address within.
    v6(0x2002, 0, 0, 16, Range::Reserved),
    v6(0x3fff, 0, 0, 20, Range::Documentation),
];

/// The part of IPv6 that has public addresses.
const GLOBAL_UNICAST: Network =
    Network::new(IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)), 3);

/// The well-known prefix of NAT64: the IPv4 address is in the last 32 bits (RFC 6052 §2.1).
const NAT64: Network = Network::new(IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)), 96);

/// Returns the IPv4 address that an IPv6 address contains, mapped or by NAT64; returns any other
/// address unchanged.
pub fn unwrapped(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(wide) if NAT64.contains(IpAddr::V6(wide)) => {
            let [.., a, b, c, d] = wide.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other,
    }
}

impl Range {
    /// Returns the reason why an address is not public; `None` if it is public.
    ///
    /// An IPv4 address within an IPv6 one, mapped or by NAT64, is judged as the IPv4 address.
    pub fn of(address: IpAddr) -> Option<Self> {
        let address = unwrapped(address);
        let listed = RANGES.iter().find(|(network, _)| network.contains(address));
        let unlisted = address.is_ipv6() && !GLOBAL_UNICAST.contains(address);
        listed.map(|(_, range)| *range).or(unlisted.then_some(Self::Reserved))
    }

    /// Returns whether an organization's internal servers have such addresses.
    pub fn is_internal(self) -> bool {
        match self {
            Self::Private | Self::Shared | Self::UniqueLocal => true,
            Self::Unspecified
            | Self::Loopback
            | Self::LinkLocal
            | Self::Metadata
            | Self::Multicast
            | Self::Documentation
            | Self::Reserved
            | Self::Listed => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "an address of this machine",
            Self::Private | Self::UniqueLocal => "an address of a private network",
            Self::Shared => "an address of a carrier's shared network",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the metadata service of a cloud provider",
            Self::Multicast => "a multicast address",
            Self::Documentation => "an address for use in documents",
            Self::Reserved => "a reserved address",
            Self::Listed => "an address of a network that the settings refuse",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_range_includes_its_first_and_last_address() {
        for (text, range) in [
            ("0.0.0.0", Some(Range::Unspecified)),
            ("0.255.255.255", Some(Range::Unspecified)),
            ("1.0.0.0", None),
            ("9.255.255.255", None),
            ("10.0.0.0", Some(Range::Private)),
            ("10.255.255.255", Some(Range::Private)),
            ("11.0.0.0", None),
            ("100.63.255.255", None),
            ("100.64.0.0", Some(Range::Shared)),
            ("100.100.100.200", Some(Range::Metadata)),
            ("100.127.255.255", Some(Range::Shared)),
            ("100.128.0.0", None),
            ("127.0.0.1", Some(Range::Loopback)),
            ("127.255.255.255", Some(Range::Loopback)),
            ("168.63.129.16", Some(Range::Metadata)),
            ("169.254.0.1", Some(Range::LinkLocal)),
            ("169.254.169.254", Some(Range::Metadata)),
            ("169.253.255.255", None),
            ("169.255.0.0", None),
            ("168.63.129.15", None),
            ("168.63.129.17", None),
            ("172.15.255.255", None),
            ("172.16.0.0", Some(Range::Private)),
            ("172.31.255.255", Some(Range::Private)),
            ("172.32.0.0", None),
            ("192.0.0.1", Some(Range::Reserved)),
            ("192.0.0.192", Some(Range::Metadata)),
            ("192.0.1.0", None),
            ("192.0.2.1", Some(Range::Documentation)),
            ("192.0.3.0", None),
            ("192.167.255.255", None),
            ("192.169.0.0", None),
            ("198.20.0.0", None),
            ("198.51.101.0", None),
            ("203.0.112.255", None),
            ("203.0.114.0", None),
            ("192.88.99.1", Some(Range::Reserved)),
            ("192.168.0.1", Some(Range::Private)),
            ("198.17.255.255", None),
            ("198.18.0.0", Some(Range::Reserved)),
            ("198.19.255.255", Some(Range::Reserved)),
            ("198.51.100.7", Some(Range::Documentation)),
            ("203.0.113.7", Some(Range::Documentation)),
            ("223.255.255.255", None),
            ("224.0.0.0", Some(Range::Multicast)),
            ("239.255.255.255", Some(Range::Multicast)),
            ("240.0.0.0", Some(Range::Reserved)),
            ("255.255.255.255", Some(Range::Reserved)),
            ("::", Some(Range::Unspecified)),
            ("::1", Some(Range::Loopback)),
            ("::2", Some(Range::Reserved)),
            ("::10.0.0.1", Some(Range::Reserved)),
            ("::ffff:127.0.0.1", Some(Range::Loopback)),
            ("::ffff:169.254.169.254", Some(Range::Metadata)),
            ("::ffff:8.8.8.8", None),
            ("64:ff9b::10.0.0.1", Some(Range::Private)),
            ("64:ff9b::127.0.0.1", Some(Range::Loopback)),
            ("64:ff9b::8.8.8.8", None),
            ("64:ff9b:1::8.8.8.8", Some(Range::Reserved)),
            ("100::1", Some(Range::Reserved)),
            ("2000::1", None),
            ("2001::1", Some(Range::Reserved)),
            ("2001:1ff:ffff::1", Some(Range::Reserved)),
            ("2001:200::1", None),
            ("2001:db8::1", Some(Range::Documentation)),
            ("2002:7f00:1::", Some(Range::Reserved)),
            ("2606:4700::1111", None),
            ("3fff:fff::1", Some(Range::Documentation)),
            ("5f00::1", Some(Range::Reserved)),
            ("fc00::1", Some(Range::UniqueLocal)),
            ("fdff::1", Some(Range::UniqueLocal)),
            ("fd00:ec2::254", Some(Range::Metadata)),
            ("fd00:ec1:ffff::", Some(Range::UniqueLocal)),
            ("fd00:ec2:1::", Some(Range::UniqueLocal)),
            ("fd20:ce::254", Some(Range::Metadata)),
            ("fd00:c1::a9fe:a9fe", Some(Range::Metadata)),
            ("fd00:42::42", Some(Range::Metadata)),
            ("fd00:43::42", Some(Range::UniqueLocal)),
            ("fbff:ffff::", Some(Range::Reserved)),
            ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Range::UniqueLocal)),
            ("fe00::1", Some(Range::Reserved)),
            ("fe80::1", Some(Range::LinkLocal)),
            ("febf::1", Some(Range::LinkLocal)),
            ("fec0::1", Some(Range::UniqueLocal)),
            ("ff02::1", Some(Range::Multicast)),
        ] {
            assert_eq!(Range::of(text.parse().unwrap()), range, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_embedded_ipv4_address_is_never_more_public_than_itself(bits: u32) {
            let plain = Ipv4Addr::from(bits);
            let [a, b] = [(bits >> 16) as u16, (bits & 0xffff) as u16];
            let forms = [
                IpAddr::V6(plain.to_ipv6_mapped()),
                IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b)),
            ];

            for form in forms {
                prop_assert_eq!(Range::of(form), Range::of(IpAddr::V4(plain)));
            }
            let hidden = [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, a, b),
                Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, a, b, 0, 0, 0, 1),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, a, b),
            ];
            for form in hidden {
                prop_assert!(Range::of(IpAddr::V6(form)).is_some());
            }
        }

        #[test]
        fn every_special_address_of_the_standard_library_is_in_a_range(bits: u32) {
            let address = Ipv4Addr::from(bits);
            let is_special = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation()
                || address.is_unspecified();

            prop_assert!(!is_special || Range::of(IpAddr::V4(address)).is_some());
        }
    }
}
