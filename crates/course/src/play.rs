//! What the player and its content call, below `/play/{launch}`.

use std::sync::Arc;

use homeroom_access::Call;
use homeroom_http::{Body, Kind, Known, Params, Problem, Response, Timestamp};
use homeroom_store::Uuid;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::api::Origins;
use crate::commit::Commit;
use crate::content::Source;
use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::Launch;
use crate::learner::Learner;
use crate::package::known_type;
use crate::pages::{Page, asset, page};
use crate::registration::Registration;
use crate::run_time::{
    ActivityState, Begin, Entered, Resets, attempt_limit, begin, entered, is_over, learner_name,
    unavailable,
};
use crate::settings::{COMMIT_FREQUENCY, Levels, RESETS, in_force};
use crate::version::Version;

/// Seconds between two commits, where nothing is said.
const COMMIT_SECONDS: u32 = 20;

/// What the handlers of this file share.
#[derive(Debug, Clone)]
pub(crate) struct Play {
    pub(crate) courses: Courses,
    pub(crate) origins: Origins,
}

/// Recognizes a launch by the secret in its path.
pub(crate) async fn recognize(
    courses: Courses,
    params: Params,
    now: Timestamp,
) -> Result<Known<homeroom_access::ApiClient>, Problem> {
    let launch = courses.launch(params.get("launch"), now.0).await?;
    Ok(Known { name: launch.id.clone(), client: None })
}

fn html(text: &'static str, status: StatusCode) -> Response {
    let mut response = http::Response::new(Body::from(bytes::Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// What a learner reads whose link is too old.
const TOO_OLD: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
<title>This link has ended</title></head>\n<body>\n<main>\n<h1>This link has ended</h1>\n\
<p>Go back to where you found the course, and start it again from there. What you have done is kept.</p>\n\
<p lang=\"es\">Este enlace ha caducado. Vuelva a la p\u{e1}gina del curso e inicie de nuevo. Lo que ha hecho est\u{e1} guardado.</p>\n\
</main>\n</body>\n</html>\n";

/// Answers with the player.
pub(crate) async fn shell(play: Play, call: Call) -> Result<Response, Problem> {
    let found = play.courses.launch(call.params.get("launch"), call.now.0).await;
    let launch = match found {
        Ok(launch) if launch.is_open(call.now.0) => launch,
        Ok(_) | Err(Error::Unknown(_)) => return Ok(html(TOO_OLD, StatusCode::NOT_FOUND)),
        Err(error) => return Err(error.into()),
    };
    let mut response = html(page(Page::Shell), StatusCode::OK);
    let content = play.origins.content(&call);
    let mut styles = String::from("'self'");
    if let Some(origin) = origin_of(&launch.options.css_url) {
        styles = format!("{styles} {origin}");
    }
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src {styles}; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; frame-src {content}; base-uri 'none'; \
         form-action 'none'"
    );
    secure(&mut response, &policy);
    Ok(response)
}

/// Answers with the page that holds the run-time's API for content.
pub(crate) async fn bridge(play: Play, call: Call) -> Result<Response, Problem> {
    let mut response = html(page(Page::Bridge), StatusCode::OK);
    let policy = format!("frame-ancestors {}; base-uri 'none'", play.origins.main(&call));
    secure(&mut response, &policy);
    Ok(response)
}

fn secure(response: &mut Response, policy: &str) {
    if let Ok(policy) = HeaderValue::from_str(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// Returns scheme and host of a URL, if it has both and nothing that a policy would read otherwise.
fn origin_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    let is_known = matches!(scheme, "https" | "http");
    (is_known && !host.is_empty() && host.chars().all(is_plain))
        .then(|| format!("{scheme}://{host}"))
}

/// Answers with a built file of the player.
pub(crate) async fn built(_play: Play, call: Call) -> Result<Response, Problem> {
    let path = call.params.get("file");
    let (bytes, media) =
        asset(path).ok_or_else(|| Error::Unknown("such file of the player".into()))?;
    let mut response = http::Response::new(Body::from(bytes::Bytes::from_static(bytes)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    // A name with a hash never changes its content.
    let is_hashed = path.split(['.', '-']).any(|part| {
        part.len() >= 8
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && part.chars().any(|c| c.is_ascii_digit())
    });
    let cache = if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// Answers with a file of the course.
pub(crate) async fn content(play: Play, call: Call) -> Result<Response, Problem> {
    let launch = play.courses.launch(call.params.get("launch"), call.now.0).await?;
    let missing = || Error::Unknown("such file in the course".into());
    let found = play.courses.found(&launch, call.params.get("path")).await?;
    let file = found.ok_or_else(missing)?;
    let mut response = play.courses.serve(&call, &file, Source::Memory).await?;
    let headers = response.headers_mut();
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if known_type(&file.path).is_none() {
        // Browsers would save such a file instead of showing it.
        headers.remove(header::CONTENT_TYPE);
    }
    Ok(response)
}

/// Returns whether a page of another origin has sent a request. What a page sends as it goes may come without its
/// origin; then browsers say whether it is of another site.
fn is_foreign(origins: &Origins, call: &Call) -> bool {
    let Some(origin) = call.header("origin") else { return false };
    if origin == "null" {
        return call.header("sec-fetch-site") == Some("cross-site");
    }
    // A proxy may have taken the scheme away.
    let host = |origin: &str| origin.split_once("://").map(|(_, host)| host.to_ascii_lowercase());
    let own = [origins.main(call), origins.content(call), origins.api(call)];
    let called = call.header("host").map(str::to_ascii_lowercase);
    host(origin) != called && own.iter().all(|own| host(own) != host(origin))
}

/// Saves a commit.
pub(crate) async fn results(play: Play, mut call: Call) -> Result<Response, Problem> {
    if is_foreign(&play.origins, &call) {
        return Err(Problem::of(Kind::AccessDenied).detail(
            "Results are taken from the player's own pages, and not from another origin.",
        ));
    }
    let body = call.read_body().await?;
    let commit = Commit::read(&body)?;
    let launch = play.courses.launch(call.params.get("launch"), call.now.0).await?;
    let done = play.courses.commit(&launch, commit, call.now.0).await?;
    let shown = json!({
        "sequence": done.sequence,
        "saved": done.saved,
        "warnings": done.warnings,
        "superseded": done.superseded,
        "recorded": done.is_recorded,
    });
    Ok(no_store(homeroom_http::json_response(StatusCode::OK, shown.to_string())))
}

fn no_store(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers with what the player needs to begin.
pub(crate) async fn boot(play: Play, call: Call) -> Result<Response, Problem> {
    let secret = call.params.get("launch").to_owned();
    let now = call.now.0;
    let launch = play.courses.launch(&secret, now).await?;
    if !launch.is_open(now) {
        let ended = Error::Unknown("launch at this address any more: its link has ended".into());
        return Err(ended.into());
    }
    let version = play.courses.version(&launch.course, launch.version, now).await?;
    let attempt = match &launch.registration {
        None => None,
        Some(id) => {
            let registration = play.courses.registration(id, Some(launch.instance)).await?;
            if registration.incarnation != launch.incarnation {
                return Err(Launch::ended().into());
            }
            let states = play.courses.states(id, launch.instance).await?;
            let learner = play.courses.learner(&registration.learner).await?;
            Some(Attempt { registration, states, learner })
        }
    };
    let mut levels = vec![];
    if let Some(attempt) = &attempt {
        levels.push(("registration", attempt.registration.settings.clone()));
    }
    levels.extend(play.courses.levels_of(&version, now).await?);
    let shown =
        booted(&play.origins, &call, (&secret, &launch), &version, attempt.as_ref(), &levels);
    Ok(no_store(homeroom_http::json_response(StatusCode::OK, shown.to_string())))
}

/// A learner's attempt.
struct Attempt {
    registration: Registration,
    states: std::collections::BTreeMap<String, ActivityState>,
    learner: Option<Learner>,
}

fn booted(
    origins: &Origins,
    call: &Call,
    (secret, launch): (&str, &Launch),
    version: &Arc<Version>,
    attempt: Option<&Attempt>,
    levels: &Levels,
) -> Value {
    let learner = attempt.and_then(|attempt| attempt.learner.clone()).unwrap_or_else(|| Learner {
        id: attempt.map_or("preview".into(), |attempt| attempt.registration.learner.clone()),
        first_name: "Preview".into(),
        ..Learner::default()
    });
    let name = learner_name(&learner.first_name, &learner.last_name);
    let progress = attempt.map(|attempt| attempt.registration.progress.clone()).unwrap_or_default();
    let resets = Resets::of(in_force(levels, RESETS));
    let saved = |id: &str| attempt.and_then(|attempt| attempt.states.get(id));
    let enters = |id: &str, state: &ActivityState| {
        let opened = (call.now.0, progress.resumes() == Some(id));
        entered(version.standard, state, opened, resets)
    };
    // Where no other attempt may begin, the last one can be looked at.
    let limit = attempt_limit(version.standard, &version.tree);
    let is_ended =
        |id: &str| saved(id).is_some_and(|state| is_over(state, enters(id, state), limit));
    let is_used_up = version.tree.launchable().iter().any(|activity| is_ended(&activity.id));
    let is_tracked = launch.is_tracked() && !is_used_up;
    let is_review = launch.options.is_review || (launch.is_tracked() && is_used_up);
    let mode = match (is_review, is_tracked) {
        (true, _) => "review",
        (false, true) => "normal",
        (false, false) => "browse",
    };
    let credit = if mode == "normal" { "credit" } else { "no-credit" };
    let how = Begin { learner: &learner.id, name: &name, mode, credit };
    let sessions = &progress.sessions;
    let mut states = Map::new();
    for activity in version.tree.launchable() {
        let saved = saved(&activity.id);
        let attempts = saved.map_or(0, |state| state.attempts);
        let is_entered_as = saved
            .filter(|_| is_tracked)
            .map_or(Entered::GoesOn, |state| enters(&activity.id, state));
        // The first commit of the page will carry out what is decided here.
        let state = saved.filter(|_| is_entered_as != Entered::Anew);
        let number = if is_entered_as == Entered::GoesOn { attempts.max(1) } else { attempts + 1 };
        let cmi = begin(version.standard, activity, state, how);
        let session = state.and_then(|state| sessions.get(&state.latest));
        let session = session.map(|session| &session.id).filter(|id| !id.is_empty());
        states.insert(
            activity.id.clone(),
            json!({ "attempts": attempts, "attempt": number, "cmi": cmi, "session": session }),
        );
    }
    let closed = attempt.map_or_else(Vec::new, |attempt| {
        unavailable(version.standard, &version.tree, &attempt.states)
    });
    let is_there = |id: &&String| {
        !closed.contains(id) && version.tree.find(id).is_some_and(|one| one.href.is_some())
    };
    let suspended = progress.suspended.clone();
    let start = Some(&launch.options.start).filter(|id| !id.is_empty()).filter(is_there).cloned();
    let start = start.or_else(|| suspended.clone().filter(|id| is_there(&id)));
    let start = start.or_else(|| version.first().map(|first| first.id.clone()));
    let (main, content) = (origins.main(call), origins.content(call));
    let millis = in_force(levels, COMMIT_FREQUENCY).parse::<u32>().ok();
    let seconds = millis.map(|millis| (millis / 1_000).max(1));
    json!({
        "launch": launch.id,
        "registration": attempt.map(|attempt| json!({
            "id": attempt.registration.id, "instance": attempt.registration.instance
        })),
        "course": {
            "id": version.course, "title": version.title, "version": version.version,
            "standard": version.standard.name(),
        },
        "learner": { "id": learner.id, "name": name },
        "mode": mode, "credit": credit, "tracking": is_tracked,
        "culture": launch.options.culture,
        "cssUrl": launch.options.css_url,
        "origins": { "main": main, "content": content },
        "paths": {
            "results": format!("/play/{secret}/results"),
            "bridge": format!("{content}/play/{secret}/bridge"),
            "content": format!("/play/{secret}/content/"),
        },
        "exitUrl": launch.options.exit_address(),
        "exit": launch.options.exit(),
        "session": Uuid::new().to_string(),
        // For a player that sends no session.
        "sequence": progress.sequence_of(&launch.id),
        "settings": {
            "commitSeconds": seconds.unwrap_or(COMMIT_SECONDS),
            "bodyBytesMax": crate::commit::COMMIT_BYTES_MAX,
        },
        "start": start,
        "suspended": suspended,
        "unavailable": closed,
        "tree": version.tree,
        "states": states,
        "sequencing": progress.sequencing,
        "globalObjectives": progress.global_objectives,
        "sharedData": progress.shared_data,
    })
}
