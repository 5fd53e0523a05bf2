//! Which addresses the client connects to: the defence against server-side request forgery.
//!
//! The policy checks the address that the client then connects to; the name is not resolved again in
//! between. A name that resolves to another address a moment later therefore gains nothing. A redirect
//! is checked like any other request.

mod network;
mod ranges;

use std::net::IpAddr;

pub use network::{Network, NetworkError};
pub use ranges::Range;
use ranges::unwrapped;

/// Which addresses a client may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Every address: for URLs that only an operator can set, such as those of the lab and of tests.
    Trusted,
    /// Public addresses only, apart from the exceptions: for URLs that others may set.
    Public(Exceptions),
}

/// Addresses that are allowed although they are not public, or refused although they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Networks whose addresses are allowed, even if they are not public.
    pub networks: Vec<Network>,
    /// Hosts that may have a private, shared or unique local address, in the form of
    /// [`Origin::host`](crate::Origin): `sis.district.test` or `fd00::1`. This machine, metadata
    /// services, link-local and multicast addresses stay refused; they need an exception for a network.
    pub hosts: Vec<String>,
    /// Networks whose addresses are refused, such as an organization's own public ones. This list
    /// takes precedence over the other two.
    pub refused: Vec<Network>,
}

impl Default for AddressPolicy {
    fn default() -> Self {
        Self::Public(Exceptions::default())
    }
}

impl AddressPolicy {
    /// Checks whether a connection for a URL with this host may go to an address.
    ///
    /// # Errors
    ///
    /// The range because of which the address is refused.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), Range> {
        let Self::Public(exceptions) = self else { return Ok(()) };
        let address = address.to_canonical();
        let range = Range::of(address);
        let inner = unwrapped(address);
        if exceptions.refused.iter().any(|own| own.contains(address) || own.contains(inner)) {
            return Err(range.unwrap_or(Range::Listed));
        }
        let Some(range) = range else { return Ok(()) };
        let is_named = || exceptions.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if exceptions.networks.iter().any(|network| network.contains(address))
            || (range.is_internal() && is_named())
        {
            return Ok(());
        }
        Err(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &AddressPolicy, host: &str, address: &str) -> Result<(), Range> {
        policy.check(host, address.parse().unwrap())
    }

    #[test]
    fn the_default_allows_public_addresses_only() {
        let policy = AddressPolicy::default();

        assert_eq!(check(&policy, "a", "93.184.216.34"), Ok(()));
        assert_eq!(check(&policy, "a", "2606:2800:220:1::1"), Ok(()));
        assert_eq!(check(&policy, "a", "10.0.0.1"), Err(Range::Private));
        assert_eq!(check(&AddressPolicy::Trusted, "a", "10.0.0.1"), Ok(()));
    }

    #[test]
    fn an_allowed_network_applies_to_every_host() {
        let networks = vec!["10.1.0.0/16".parse().unwrap(), "169.254.169.254/32".parse().unwrap()];
        let policy = AddressPolicy::Public(Exceptions { networks, ..Exceptions::default() });

        assert_eq!(check(&policy, "a", "10.1.255.255"), Ok(()));
        assert_eq!(check(&policy, "a", "::ffff:10.1.0.1"), Ok(()));
        assert_eq!(check(&policy, "a", "169.254.169.254"), Ok(()));
        assert_eq!(check(&policy, "a", "10.2.0.0"), Err(Range::Private));
        assert_eq!(check(&policy, "a", "64:ff9b::10.1.0.1"), Err(Range::Private));
    }

    #[test]
    fn an_allowed_host_may_have_private_but_no_local_or_metadata_addresses() {
        let hosts = vec!["sis.district.test".into()];
        let policy = AddressPolicy::Public(Exceptions { hosts, ..Exceptions::default() });

        for address in ["10.1.2.3", "fd12::1", "100.64.0.1", "93.184.216.34"] {
            assert_eq!(check(&policy, "SIS.district.test", address), Ok(()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "::1",
            "169.254.169.254",
            "fd00:c1::a9fe:a9fe",
            "fe80::1",
            "224.0.0.1",
            "0.0.0.0",
            "100.100.100.200",
        ] {
            assert!(check(&policy, "sis.district.test", address).is_err(), "{address}");
        }
        assert_eq!(check(&policy, "other.district.test", "10.1.2.3"), Err(Range::Private));
    }

    #[test]
    fn a_refused_network_takes_precedence_over_allowed_networks_and_hosts() {
        let policy = AddressPolicy::Public(Exceptions {
            networks: vec!["10.0.0.0/8".parse().unwrap()],
            hosts: vec!["a".into()],
            refused: vec!["10.9.0.0/16".parse().unwrap(), "93.184.216.0/24".parse().unwrap()],
        });

        assert_eq!(check(&policy, "a", "10.8.0.1"), Ok(()));
        assert_eq!(check(&policy, "a", "10.9.0.1"), Err(Range::Private));
        for address in ["93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34"] {
            assert_eq!(check(&policy, "a", address), Err(Range::Listed), "{address}");
        }
        assert_eq!(check(&policy, "a", "93.184.217.34"), Ok(()));
    }
}
