//! Resolves the name of the allowed origin and checks its addresses. The check is repeated for each resolution, so a
//! name server cannot redirect requests into the local network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The name resolves only to addresses that are not allowed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{host} resolves to {address}, which is not a public address: refused, as it could be a service of this network"
)]
pub(super) struct Prohibited {
    host: String,
    address: IpAddr,
}

/// Resolves names with the system resolver and removes addresses that are not allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedResolver {
    /// Whether the origin is a loopback address. Then only loopback is allowed; otherwise it is not allowed.
    pub(super) loopback: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let loopback = self.loopback;
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| may_reach(address.ip(), loopback))
                .collect();
            match found.first() {
                Some(first) if allowed.is_empty() => {
                    let address = first.ip();
                    Err(Prohibited { host, address }.into())
                }
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

/// Returns whether connections to an address are allowed.
pub(super) fn may_reach(address: IpAddr, loopback: bool) -> bool {
    match address {
        IpAddr::V4(v4) if loopback => v4.is_loopback(),
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match (embedded_v4(v6), loopback) {
            (Some(v4), _) => may_reach(IpAddr::V4(v4), loopback),
            (None, true) => v6.is_loopback(),
            (None, false) => is_public_v6(v6),
        },
    }
}

/// Returns the IPv4 address in an IPv6 address: mapped, compatible, NAT64 and 6to4.
fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) => Some(v4(g, h)),
        (0, 0, 0, 0, 0, 0) if g != 0 => Some(v4(g, h)),
        (0x64, 0xff9b, ..) => Some(v4(g, h)),
        (0x2002, high, low, ..) => Some(v4(high, low)),
        _ => None,
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let special = v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_documentation()
        || a == 0
        || a >= 240
        // Carrier-grade NAT, protocol assignments, benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

/// Returns whether an address is public: it is in 2000::/3 and not in a range for tunnels or documentation.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    (0x2000..0x4000).contains(&a) && !(a == 0x2001 && (b < 0x200 || b == 0xdb8)) && a != 0x3fff
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_public_origin_reaches_public_addresses_only() {
        for good in [
            "1.1.1.1",
            "151.101.1.91",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(may_reach(good.parse().unwrap(), false), "{good}");
        }
        for bad in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::10.0.0.1",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "100::1",
        ] {
            assert!(!may_reach(bad.parse().unwrap(), false), "{bad}");
        }
    }

    #[test]
    fn a_loopback_origin_reaches_this_machine_only() {
        for good in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert!(may_reach(good.parse().unwrap(), true), "{good}");
        }
        for bad in [
            "1.1.1.1",
            "10.0.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "0.0.0.0",
            "::",
        ] {
            assert!(!may_reach(bad.parse().unwrap(), true), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_into_this_machine_is_refused() {
        let name: Name = "localhost".parse().unwrap();
        let error = CheckedResolver { loopback: false }
            .resolve(name)
            .await
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("not a public address"),
            "{error}"
        );
        let name: Name = "localhost".parse().unwrap();
        assert!(
            CheckedResolver { loopback: true }
                .resolve(name)
                .await
                .unwrap()
                .count()
                > 0
        );
    }
}
