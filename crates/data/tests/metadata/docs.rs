//! The API reference at `/docs`.

use homeroom_data::metadata::Metadata;

use crate::support::{ask, shipped};

#[tokio::test]
async fn the_reference_has_every_resource_and_loads_nothing_from_elsewhere() {
    let model = shipped();
    let metadata = Metadata::new(model.clone());

    let (status, headers, body) = ask(&metadata, "/docs", &[]).await;

    let page = String::from_utf8(body.to_vec()).unwrap();
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    );
    assert_eq!(
        (status, &headers["content-type"]),
        (200, &"text/html; charset=utf-8".parse().unwrap())
    );
    assert_eq!(headers["x-content-type-options"], "nosniff");
    for resource in &model.resources {
        let tag = format!("data-tag=\"{}\"", resource.endpoint);
        assert!(page.contains(&tag), "{tag}");
    }
    assert!(page.contains("data-tag=\"batch\""));
    assert!(!page.contains("<script>") && !page.contains("<style>"), "nothing is inline");
    for (file, media) in
        [("docs/reference.js", "text/javascript"), ("docs/reference.css", "text/css")]
    {
        assert!(page.contains(&format!("\"{file}\"")));
        let (status, headers, body) = ask(&metadata, &format!("/{file}"), &[]).await;
        assert_eq!(status, 200);
        assert!(headers["content-type"].to_str().unwrap().starts_with(media));
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(!text.contains("http://") && !text.contains("https://"), "{file}");
        assert!(!text.contains("innerHTML"), "{file}");
    }
}
