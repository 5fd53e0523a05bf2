//! Uploads are written beside documents and courses.

use std::time::Duration;

use homeroom_store::Lane;
use homeroom_testkit::documents::on_each_store;
use homeroom_testkit::trial::hold;

use crate::support::{interchange, read, student, upload};

#[tokio::test]
async fn an_upload_waits_for_neither_documents_nor_courses() {
    for client in on_each_store().await {
        let text = interchange("Student", &student("1"));
        let held = hold(&client.app.data.store, &[None, Some(Lane::new("course"))]);

        let files = [("text/xml", "Student", &*text)];
        let uploading = upload(&client, &files);
        let operation = tokio::time::timeout(Duration::from_secs(4), uploading).await;

        let operation = operation.unwrap_or_else(|_| panic!("{}: it waits", client.app));
        assert_eq!(read(&client, &operation).await["status"], "Ready", "{}", client.app);
        drop(held);
    }
}
