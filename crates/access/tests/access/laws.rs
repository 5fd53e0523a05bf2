//! Laws that hold for whatever a caller sends.

use std::sync::{Arc, OnceLock};

use crate::support::{NOW, access, create, new_key, recognize, token};
use homeroom_access::Access;
use proptest::prelude::*;

/// Returns a server and a token that it issued.
fn issued() -> &'static (Arc<Access>, String) {
    static ISSUED: OnceLock<(Arc<Access>, String)> = OnceLock::new();
    ISSUED.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let made = runtime.block_on(async {
            let access = access().await;
            let credentials = create(&access, new_key("FullAccess")).await;
            let token = token(&access, &credentials, NOW).await;
            (access, token)
        });
        // The store's threads outlive the runtime; nothing more is asked of the store.
        runtime.shutdown_background();
        made
    })
}

#[test]
fn a_token_altered_in_any_one_byte_is_refused() {
    let (access, token) = issued();
    assert!(recognize(access, token, "data", NOW).is_ok());

    for at in 0..token.len() {
        for other in (b'!'..=b'~').step_by(7).chain([b'A', b'B', b'.', b'-', b'_', b'=']) {
            let mut altered = token.clone().into_bytes();
            if altered[at] == other {
                continue;
            }
            altered[at] = other;
            let altered = String::from_utf8(altered).unwrap();

            assert!(recognize(access, &altered, "data", NOW).is_err(), "{at}: {altered}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_truncated_extended_or_reversed_token_is_refused(
        cut in 0_usize..300,
        extra in "[A-Za-z0-9_.=-]{0,8}",
    ) {
        let (access, token) = issued();
        let cut = cut.min(token.len());
        let altered = format!("{}{extra}{}", &token[..cut], &token[cut..]);
        let turned = format!("{}{}", &token[cut..], &token[..cut]);
        for other in [&altered, &turned, &token[..cut].to_owned()] {
            if other != token {
                prop_assert!(recognize(access, other, "data", NOW).is_err());
            }
        }
    }

    #[test]
    fn no_authorization_header_makes_the_server_fail(header in "\\PC{0,200}") {
        let (access, _) = issued();
        let problem = access.recognize(Some(&header), "data", NOW).unwrap_err();
        prop_assert_eq!(problem.kind.status(), 401);
    }
}
