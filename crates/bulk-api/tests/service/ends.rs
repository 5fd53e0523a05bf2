//! Operations that fail, expire, or lose the node that loads them.

use std::time::Duration;

use homeroom_store::ChangedAt;
use homeroom_testkit::documents::on_each_store;

use crate::support::{
    chunk, commit, create, ended, exceptions, file_id, interchange, read, runner, statuses,
    student, upload,
};

const XML: &str = "text/xml";
const HOUR: i64 = 3_600_000_000;

#[tokio::test]
async fn a_file_that_cannot_be_read_hurts_no_other_operation() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let bomb = "<!DOCTYPE a [<!ENTITY b \"b\">]><InterchangeStudent>&b;</InterchangeStudent>";
        let cut = interchange("Student", &student("1"));
        let cut = &cut[..cut.len() - 30];
        let good = interchange("Student", &student("2"));

        let broken = upload(&client, &[(XML, "Student", bomb), (XML, "Student", cut)]).await;
        let fine = upload(&client, &[(XML, "Student", &good)]).await;

        assert_eq!(statuses(&ended(&client, &fine).await), ["Completed"; 2], "{}", client.app);
        let broken = ended(&client, &broken).await;
        assert_eq!(broken["status"], "Error");
        assert_eq!(broken["uploadFiles"][0]["status"], "Error");
        let found = exceptions(&client, &broken, 0, "").await.json();
        assert!(!found.as_array().unwrap().is_empty());
        assert!(!client.ids("/ed-fi/students").await.is_empty());
    }
}

#[tokio::test]
async fn an_upload_cannot_name_files_of_the_server() {
    for client in on_each_store().await {
        let _runner = runner(&client.app);
        let folder = homeroom_testkit::Folder::new();
        let secret = folder.write("Student.xml", interchange("Student", &student("secret")));
        let list = format!(
            "<Interchanges><Interchange><Filename>{}</Filename><Type>Student</Type></Interchange>\
             </Interchanges>",
            secret.display()
        );
        let link = format!("<!DOCTYPE a [<!ENTITY b SYSTEM \"{}\">]>&b;", secret.display());

        let files = [(XML, "Student", &*list), (XML, "Student", &*link)];
        let operation = upload(&client, &files).await;

        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Error"; 3], "{}", client.app);
        assert!(client.ids("/ed-fi/students").await.is_empty());
    }
}

#[tokio::test]
async fn an_operation_whose_node_is_gone_is_loaded_by_another_with_the_same_results() {
    for client in on_each_store().await {
        let records: String = (0..4_000).map(|at| student(&at.to_string())).collect();
        let bad = student(&"x".repeat(40));
        let text = interchange("Student", &(bad + &records));
        let operation = upload(&client, &[(XML, "Student", &text)]).await;

        // Dropped while it works, a runner gives nothing back, like a process that is killed.
        let first = runner(&client.app);
        while read(&client, &operation).await["status"] == "Ready" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(first);
        let _second = runner(&client.app);

        let ended = ended(&client, &operation).await;
        assert_eq!(statuses(&ended), ["Error"; 2]);
        let found = exceptions(&client, &operation, 0, "").await.json();
        assert_eq!(found.as_array().unwrap().len(), 1, "{}: {found}", client.app);
        let total = client.get("/ed-fi/students?limit=0&totalCount=true").await;
        assert_eq!(total.header("total-count"), "4000");
    }
}

#[tokio::test]
async fn an_upload_that_is_not_completed_expires_and_is_removed_later() {
    for client in on_each_store().await {
        let operation = create(&client, &[(XML, "Student", "0123456789")]).await;
        chunk(&client, file_id(&operation, 0), 0, "0123").await;
        let now = ChangedAt::now();
        let later = |hours: i64| ChangedAt(now.0 + hours * HOUR);
        let service = &client.app.bulk;

        assert_eq!(service.sweep(later(23)).await.unwrap(), 0);
        assert_eq!(service.sweep(later(25)).await.unwrap(), 1);

        assert_eq!(statuses(&read(&client, &operation).await), ["Expired"; 2], "{}", client.app);
        assert_eq!(commit(&client, file_id(&operation, 0)).await.status, 202);
        chunk(&client, file_id(&operation, 0), 4, "456789").await.problem(400, "bad-request");
        assert_eq!(service.sweep(later(25 + 29 * 24)).await.unwrap(), 0);
        assert_eq!(service.sweep(later(26 + 30 * 24)).await.unwrap(), 1);
        let path = format!("{}/{}", crate::support::OPERATIONS, operation["id"].as_str().unwrap());
        client.get(&path).await.problem(404, "not-found");
    }
}

#[tokio::test]
async fn an_operation_whose_job_was_cancelled_ends_as_an_error() {
    for client in on_each_store().await {
        let text = interchange("Student", &student("1"));
        let operation = upload(&client, &[(XML, "Student", &text)]).await;
        let sql = homeroom_store::Sql::new("SELECT job FROM bulk_operation", vec![]);
        let rows = client.app.data.store.query(sql).await.unwrap();
        let job = rows[0][0].as_text().unwrap().parse().unwrap();

        let cancel = homeroom_jobs::JobsRequest::Cancel { id: job };
        client.app.bulk.jobs.manage(cancel, ChangedAt::now()).await.unwrap();

        assert_eq!(statuses(&read(&client, &operation).await), ["Error"; 2], "{}", client.app);
        assert!(client.ids("/ed-fi/students").await.is_empty());
    }
}
