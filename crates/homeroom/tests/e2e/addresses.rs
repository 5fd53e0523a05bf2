//! Callers of published APIs are known by their address, whichever version of IP a listener is for.

use std::net::SocketAddr;

use crate::support::{Client, Place, Server, Upstream};

fn publish(place: &Place, upstream: &Upstream) {
    let api = |name: &str, rule: &str| {
        format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{}']\n{rule}\n",
            upstream.url()
        )
    };
    let file = [
        api("open", ""),
        api("denied", "deny = ['127.0.0.0/8']"),
        api("denied-mapped", "deny = ['::ffff:127.0.0.0/104']"),
        api("elsewhere", "allow = ['10.0.0.0/8']"),
        api("here", "allow = ['127.0.0.0/8']"),
        api("limited", "limits = {by = 'address', quota = '1/month'}"),
    ];
    place.write("apis.toml", file.concat());
    place.done(&["gateway", "apply", "apis.toml"]);
}

fn statuses(client: &mut Client, headers: &[(&str, &str)]) -> Vec<u16> {
    let names = ["denied", "denied-mapped", "elsewhere", "here"];
    let status = |name: &&str| {
        client.send("GET", &format!("/apis/{name}/v1/x"), headers, None).unwrap().status
    };
    names.iter().map(status).collect()
}

#[test]
fn a_caller_of_ipv4_is_known_by_its_address_on_a_listener_for_both_versions() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let mut command =
        place.command(&["serve", "--listen", "[::]:0", "--admin-listen", "127.0.0.1:0"]);
    let server = Server::of(command.env("HOMEROOM_LOG__REQUESTS", "all"));
    publish(&place, &upstream);
    let mut client = Client::new(SocketAddr::from(([127, 0, 0, 1], server.api.port())));

    assert_eq!(statuses(&mut client, &[]), [403, 403, 403, 200]);
    upstream.take();
    assert_eq!(client.get("/apis/open/v1/x").status, 200);
    let seen = upstream.take();
    assert_eq!(seen[0].values("x-forwarded-for"), ["127.0.0.1"]);
    assert!(seen[0].values("forwarded")[0].starts_with("for=127.0.0.1;"), "{}", seen[0].head);
    assert!(!server.log().contains("::ffff:"), "{}", server.log());
}

#[test]
fn an_address_that_a_trusted_proxy_gives_is_the_same_however_it_is_written() {
    let (place, upstream) = (Place::new(), Upstream::echo());
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__TRUST_FORWARDED", "true")]);
    publish(&place, &upstream);
    let mut client = server.client();

    for address in ["127.0.0.9", "::ffff:127.0.0.9", "[::ffff:127.0.0.9]:80", "::FFFF:7f00:9"] {
        let headers = [("x-forwarded-for", address)];
        assert_eq!(statuses(&mut client, &headers), [403, 403, 403, 200], "{address}");
    }
    let limited: Vec<u16> = ["192.0.2.1", "::ffff:192.0.2.1"]
        .iter()
        .map(|address| {
            let headers = [("x-forwarded-for", *address)];
            client.send("GET", "/apis/limited/v1/x", &headers, None).unwrap().status
        })
        .collect();
    assert_eq!(limited, [200, 429]);
}
