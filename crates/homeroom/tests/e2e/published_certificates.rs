//! Published APIs whose callers show certificates.

use homeroom_testkit::tls::{Authority, Certified};

use crate::support::{Place, Server, Upstream, eventually};

/// A server whose clients may show certificates of an authority.
fn certifying(place: &Place, authority: &Authority) -> Server {
    let own = authority.certify("localhost");
    place.write("api.pem", own.certificate);
    place.write("api.key", own.key);
    place.write("clients.pem", &authority.pem);
    let file = "[server]\nclient_authorities = 'clients.pem'\n\
                [[server.tls]]\ncertificate = 'api.pem'\nkey = 'api.key'\n";
    place.write("homeroom.toml", file);
    Server::start(place)
}

/// Creates a key and registers a certificate with it.
fn key(place: &Place, shown: &Certified, name: &str, arguments: &[&str]) -> String {
    let made = place.json(&[&["keys", "create", "--json"], arguments].concat());
    let key = made["key"].as_str().unwrap().to_owned();
    place.write(name, &shown.certificate);
    place.done(&["keys", "add-certificate", &key, name]);
    key
}

#[test]
fn a_certificate_is_its_keys_subscription_scopes_and_plan() {
    Place::on_each_store(|place| {
        let (authority, upstream) = (Authority::new(), Upstream::echo());
        let server = certifying(place, &authority);
        place.write(
            "apis.toml",
            format!(
                "[[plans]]\nname = 'few'\nrequests_per_second = 0.001\nburst = 2\n\
                 [[apis]]\nname = 'm'\ncontext = 'm'\nversion = 'v1'\nsecurity = 'mtls'\n\
                 scopes = ['m.read']\nupstream = ['{}']\n",
                upstream.url()
            ),
        );
        place.done(&["gateway", "apply", "apis.toml"]);
        let [few, many, other, scopeless, unknown] =
            ["few", "many", "other", "scopeless", "unknown"].map(|name| authority.certify(name));
        let scopes = ["--api-scopes", "m.read"];
        let with = |more: &[&'static str]| [more, &scopes[..]].concat();
        let limited = key(place, &few, "few.pem", &with(&["--apis", "m", "--plan", "few"]));
        key(place, &many, "many.pem", &with(&["--apis", "m"]));
        key(place, &other, "other.pem", &["--claim-set", "FullAccess"]);
        key(place, &scopeless, "scopeless.pem", &["--apis", "m"]);
        let ask = |shown: Option<&Certified>, header: &str| -> (u16, String) {
            let request = format!(
                "GET /apis/m/v1/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{header}\r\n"
            );
            let answer = authority.ask(server.api, shown, &request).unwrap();
            (answer[9..12].parse().unwrap(), answer)
        };

        eventually("all keys and what they may call are known", || {
            ask(Some(&scopeless), "").1.contains("the scope m.read")
        });

        let statuses: Vec<u16> = (0..4).map(|_| ask(Some(&few), "").0).collect();

        assert_eq!(statuses, [200, 200, 429, 429], "by the plan of its key");
        assert_eq!((0..4).map(|_| ask(Some(&many), "").0).collect::<Vec<_>>(), [200; 4]);
        for (what, shown, status) in [
            ("no certificate", None, 401),
            ("one that is registered with no key", Some(&unknown), 401),
            ("one of a key for something else", Some(&other), 403),
            ("one of a key without the scope", Some(&scopeless), 403),
        ] {
            let (found, answer) = ask(shown, "");
            assert_eq!(found, status, "{what}: {answer}");
        }
        assert_eq!(upstream.take().len(), 6, "what is refused is not passed on");
        place.done(&["keys", "revoke", &limited]);
        eventually("its key is revoked", || ask(Some(&few), "").0 == 401);
        assert_eq!(ask(Some(&many), "").0, 200);
    });
}
