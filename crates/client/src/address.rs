//! Which addresses the client connects to: the defence against server-side request forgery.
//!
//! The policy is asked about the address of the connection itself, after the name was resolved and
//! without resolving it again. So a name that resolves to another address a moment later gains
//! nothing, and a redirect is checked like any other request.

mod network;
mod ranges;

use std::net::IpAddr;

pub use network::{Network, NetworkError};
pub use ranges::Range;

/// Which addresses a client may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Every address: for URLs that only an operator can set, such as those of the lab and of tests.
    Trusted,
    /// Public addresses only, and what the exceptions allow: for URLs that others may set.
    Public(Exceptions),
}

/// Addresses that are allowed although they are not public.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Networks whose addresses are allowed, whatever they are for.
    pub networks: Vec<Network>,
    /// Hosts, as written in the URL, that may have a loopback, private, shared or unique local
    /// address. Metadata services, link-local and multicast addresses stay refused.
    pub hosts: Vec<String>,
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
    /// The range that makes the address unfit.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), Range> {
        let Self::Public(exceptions) = self else { return Ok(()) };
        let address = address.to_canonical();
        let Some(range) = Range::of(address) else { return Ok(()) };
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
    fn a_network_is_an_exception_for_every_host() {
        let networks = vec!["10.1.0.0/16".parse().unwrap(), "169.254.169.254/32".parse().unwrap()];
        let policy = AddressPolicy::Public(Exceptions { networks, hosts: vec![] });

        assert_eq!(check(&policy, "a", "10.1.255.255"), Ok(()));
        assert_eq!(check(&policy, "a", "::ffff:10.1.0.1"), Ok(()));
        assert_eq!(check(&policy, "a", "169.254.169.254"), Ok(()));
        assert_eq!(check(&policy, "a", "10.2.0.0"), Err(Range::Private));
        assert_eq!(check(&policy, "a", "64:ff9b::10.1.0.1"), Err(Range::Private));
    }

    #[test]
    fn a_host_is_an_exception_for_internal_addresses_only() {
        let hosts = vec!["sis.district.test".into()];
        let policy = AddressPolicy::Public(Exceptions { networks: vec![], hosts });

        for address in ["10.1.2.3", "127.0.0.1", "fd12::1", "100.64.0.1", "93.184.216.34"] {
            assert_eq!(check(&policy, "SIS.district.test", address), Ok(()), "{address}");
        }
        for address in ["169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.0", "100.100.100.200"] {
            assert!(check(&policy, "sis.district.test", address).is_err(), "{address}");
        }
        assert_eq!(check(&policy, "other.district.test", "10.1.2.3"), Err(Range::Private));
    }
}
