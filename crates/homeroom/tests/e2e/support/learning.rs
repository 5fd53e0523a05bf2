//! A client of the API of courses.

use serde_json::{Value, json};

use super::{Answer, Client, Place, Server, eventually};

/// Where that API is.
pub const API: &str = "/learning/api/v2";

/// A client with key and secret of the scope `learning`.
pub struct Learning {
    /// The connection.
    pub client: Client,
    basic: String,
}

impl Learning {
    /// Creates a key of that scope and a client with it.
    pub fn of(place: &Place, server: &Server) -> Self {
        let key = place.json(&["keys", "create", "--scope", "learning", "--json"]);
        let (name, secret) = (key["key"].as_str().unwrap(), key["secret"].as_str().unwrap());
        let basic = format!("Basic {}", base64(&format!("{name}:{secret}")));
        Self { client: server.client(), basic }
    }

    /// Sends a request with JSON.
    pub fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let headers =
            [("authorization", self.basic.as_str()), ("content-type", "application/json")];
        let body = body.map(|body| body.to_string().into_bytes());
        self.client.send(method, &format!("{API}{path}"), &headers, body.as_deref()).unwrap()
    }

    /// Sends a request with a body of another type than JSON.
    pub fn send_as(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> Answer {
        let headers = [("authorization", self.basic.as_str()), ("content-type", media)];
        self.client.send(method, &format!("{API}{path}"), &headers, Some(body)).unwrap()
    }

    /// Reads something that is there.
    pub fn get(&mut self, path: &str) -> Value {
        let answer = self.send("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Sends a POST with JSON.
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body))
    }

    /// Uploads a package and returns how its job has ended.
    pub fn import(&mut self, course: &str, package: &[u8]) -> Value {
        let answer = self.upload(course, package);
        assert_eq!(answer.status, 200, "{answer:?}");
        let job = answer.json()["result"].as_str().unwrap().to_owned();
        self.ended(&job)
    }

    /// Waits until an import has ended.
    pub fn ended(&mut self, job: &str) -> Value {
        let mut ended = Value::Null;
        eventually("the import ends", || {
            ended = self.get(&format!("/courses/importJobs/{job}"));
            ended["status"] != "RUNNING"
        });
        ended
    }

    /// Uploads a package.
    pub fn upload(&mut self, course: &str, package: &[u8]) -> Answer {
        let mut body = b"--b0\r\nContent-Disposition: form-data; name=\"file\"; \
            filename=\"p.zip\"\r\nContent-Type: application/zip\r\n\r\n"
            .to_vec();
        body.extend_from_slice(package);
        body.extend_from_slice(b"\r\n--b0--\r\n");
        let headers = [
            ("authorization", self.basic.as_str()),
            ("content-type", "multipart/form-data; boundary=b0"),
        ];
        let path =
            format!("{API}/courses/importJobs/upload?courseId={course}&mayCreateNewVersion=true");
        self.client.send("POST", &path, &headers, Some(&body)).unwrap()
    }

    /// Registers the learner `l-1` for a course.
    pub fn register(&mut self, registration: &str, course: &str) {
        let answer = self.post("/registrations", &registered(registration, course));
        assert_eq!(answer.status, 204, "{answer:?}");
    }

    /// Launches a registration and returns the path of the launch.
    pub fn launch(&mut self, registration: &str) -> String {
        let asked = json!({ "redirectOnExitUrl": "https://lms.example.org/done", "expiry": 7_200 });
        let answer = self.post(&format!("/registrations/{registration}/launchLink"), &asked);
        assert_eq!(answer.status, 200, "{answer:?}");
        let link = answer.json()["launchLink"].as_str().unwrap().to_owned();
        link[link.find("/play/").unwrap()..].to_owned()
    }

    /// Commits without any header that a beacon could not send.
    pub fn commit(&mut self, launch: &str, commit: &Value) -> Answer {
        let headers = [("content-type", "text/plain;charset=UTF-8")];
        let body = commit.to_string().into_bytes();
        self.client.send("POST", &format!("{launch}/results"), &headers, Some(&body)).unwrap()
    }

    /// Reads what the player begins with.
    pub fn boot(&mut self, launch: &str) -> Value {
        let answer = self.client.get(&format!("{launch}/boot"));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

/// Returns the registration of the learner `l-1` for a course.
pub fn registered(registration: &str, course: &str) -> Value {
    json!({
        "courseId": course,
        "registrationId": registration,
        "learner": { "id": "l-1", "firstName": "Ann", "lastName": "Lee" },
    })
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut all = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for at in 0..4 {
            let is_there = at <= three.len();
            let letter = LETTERS[usize::try_from(bits >> (18 - 6 * at) & 63).unwrap()];
            all.push(if is_there { char::from(letter) } else { '=' });
        }
    }
    all
}
