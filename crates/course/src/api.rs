//! The API below `/learning/api/v2`, shaped as clients of the Cloud and Engine API v2 know it, and the
//! routes of the player.

mod about;
mod absent;
mod answer;
mod courses;
mod files;
mod imports;
mod learners;
mod listed;
mod origins;
mod post_back;
mod registrations;
mod request;
mod settings;
mod subscriptions;
mod tags;

use homeroom_access::ApiClient;
use homeroom_http::{
    BodyLimits, Credential, Guard, Handler, Problem, Refusals, Response, Route, Served, handler,
};
use http::Method;
use serde_json::Value;

use answer::Api;
pub use origins::Origins;

use crate::commit::COMMIT_BYTES_MAX;
use crate::courses::Courses;
use crate::play::{self, Play};

/// Most bytes of a body that is no file.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Where the API is, and where clients find it whose host ends with a slash.
const PREFIX: &str = "/learning/api/v2/";
const PREFIX_DOUBLED: &str = "/learning/api/v2//";

/// Who may call the API.
const GUARDED: Guard =
    Guard::Key { scope: "learning", by: &[Credential::Basic, Credential::Bearer] };

/// The form of refusals: a problem, whose text is also in `message`.
static REFUSALS: Refusals = Refusals { prefix: "/learning/api/v2", answer: refused };

/// The same for what the player calls.
static REFUSALS_OF_PLAYER: Refusals = Refusals { prefix: "/play", answer: refused };

fn refused(problem: Problem, correlation_id: &str) -> Response {
    let detail = problem.detail.clone().unwrap_or_else(|| problem.kind.detail().to_owned());
    let message = match &problem.errors[..] {
        [] => detail,
        errors => format!("{detail} {}", errors.join(" ")),
    };
    let response = problem.into_response(correlation_id);
    let Some(bytes) = response.body().as_whole() else { return response };
    let Ok(Value::Object(mut body)) = serde_json::from_slice(bytes) else { return response };
    body.insert("message".into(), message.into());
    response.map(|_| Value::Object(body).to_string().into())
}

/// Returns the routes of this part.
pub fn routes(courses: &Courses, origins: &Origins) -> Vec<Route<ApiClient>> {
    let api = &Api { courses: courses.clone(), origins: origins.clone() };
    let mut routes = of_api(api);
    // The official client's own host ends with a slash, to which it adds paths that begin with one.
    let doubled = routes.iter().map(|route| {
        let template = route.template.replacen(PREFIX, PREFIX_DOUBLED, 1);
        Route { template: template.into(), ..route.clone() }
    });
    let doubled: Vec<_> = doubled.collect();
    routes.extend(doubled);
    routes.extend(of_player(courses, origins));
    routes
}

fn guarded(
    method: Method,
    template: &'static str,
    handler: Handler<ApiClient>,
) -> Route<ApiClient> {
    Route::new(method, template, GUARDED, handler)
        .with_body(BodyLimits::of_bytes(BODY_BYTES_MAX))
        .refused_as(&REFUSALS)
}

/// Makes routes of rows: method, template below the prefix, handler.
macro_rules! routes {
    ($api:expr, $($method:ident $template:literal $answer:path;)*) => {
        vec![$(guarded(
            Method::$method,
            concat!("/learning/api/v2", $template),
            handler($api, $answer),
        ),)*]
    };
}

fn of_api(api: &Api) -> Vec<Route<ApiClient>> {
    let mut all = routes! { api,
        GET "/about" about::about;
        GET "/ping" about::ping;
        GET "/appManagement/configuration" settings::get_of_application;
        POST "/appManagement/configuration" settings::post_of_application;
        DELETE "/appManagement/configuration/{setting}" settings::delete_of_application;
        GET "/appManagement/signingSecret" post_back::secret;
        GET "/appManagement/subscriptions" subscriptions::list;
        POST "/appManagement/subscriptions" subscriptions::create;
        GET "/appManagement/subscriptions/{subscription}" subscriptions::get;
        PUT "/appManagement/subscriptions/{subscription}" subscriptions::put;
        DELETE "/appManagement/subscriptions/{subscription}" subscriptions::delete;
        GET "/courses" courses::list;
        PUT "/courses/tags" tags::put_of_courses;
        GET "/courses/{course}" courses::get;
        DELETE "/courses/{course}" courses::delete;
        PUT "/courses/{course}/title" courses::put_title;
        PUT "/courses/{course}/currentVersion" courses::put_current;
        GET "/courses/{course}/answers" courses::answers;
        GET "/courses/{course}/tags" tags::get_of_course;
        PUT "/courses/{course}/tags" tags::put_of_course;
        DELETE "/courses/{course}/tags" tags::delete_of_course;
        GET "/courses/{course}/versions" courses::versions;
        GET "/courses/{course}/versions/{version}" courses::get_version;
        DELETE "/courses/{course}/versions/{version}" courses::delete_version;
        GET "/courses/{course}/zip" files::zip;
        GET "/courses/{course}/versions/{version}/zip" files::zip_of_version;
        GET "/courses/{course}/asset" files::asset;
        GET "/courses/{course}/versions/{version}/asset" files::asset_of_version;
        POST "/courses/{course}/asset" files::fetch;
        POST "/courses/{course}/versions/{version}/asset" files::fetch_of_version;
        DELETE "/courses/{course}/asset" files::delete;
        DELETE "/courses/{course}/versions/{version}/asset" files::delete_of_version;
        GET "/courses/{course}/asset/list" files::list;
        GET "/courses/{course}/versions/{version}/asset/list" files::list_of_version;
        GET "/courses/{course}/configuration" settings::get_of_course;
        POST "/courses/{course}/configuration" settings::post_of_course;
        DELETE "/courses/{course}/configuration/{setting}" settings::delete_of_course;
        GET "/courses/{course}/versions/{version}/configuration" settings::get_of_version;
        POST "/courses/{course}/versions/{version}/configuration" settings::post_of_version;
        DELETE "/courses/{course}/versions/{version}/configuration/{setting}" settings::delete_of_version;
        POST "/courses/{course}/preview" registrations::preview;
        POST "/courses/{course}/versions/{version}/preview" registrations::preview_of_version;
        POST "/courses/importJobs" imports::fetch;
        POST "/courses/importJobs/noUpload" imports::no_upload;
        GET "/courses/importJobs/{job}" imports::status;
        GET "/registrations" registrations::list;
        POST "/registrations" registrations::create;
        PUT "/registrations/tags" tags::put_of_registrations;
        POST "/registrations/postBackTest" post_back::test;
        POST "/registrations/withLaunchLink" registrations::create_with_launch_link;
        GET "/registrations/{registration}" registrations::get;
        DELETE "/registrations/{registration}" registrations::delete;
        POST "/registrations/{registration}/launchLink" registrations::launch_link;
        GET "/registrations/{registration}/launchHistory" registrations::history;
        DELETE "/registrations/{registration}/progress" registrations::reset;
        DELETE "/registrations/{registration}/globalData" registrations::reset_global;
        GET "/registrations/{registration}/instances" registrations::instances;
        POST "/registrations/{registration}/instances" registrations::add_instance;
        GET "/registrations/{registration}/instances/{instance}" registrations::get_instance;
        DELETE "/registrations/{registration}/instances/{instance}" registrations::delete_instance;
        GET "/registrations/{registration}/instances/{instance}/launchHistory" registrations::history_of_instance;
        GET "/registrations/{registration}/instances/{instance}/configuration" settings::get_of_instance;
        POST "/registrations/{registration}/instances/{instance}/configuration" settings::post_of_instance;
        DELETE "/registrations/{registration}/instances/{instance}/configuration/{setting}" settings::delete_of_instance;
        GET "/registrations/{registration}/tags" tags::get_of_registration;
        PUT "/registrations/{registration}/tags" tags::put_of_registration;
        DELETE "/registrations/{registration}/tags" tags::delete_of_registration;
        GET "/registrations/{registration}/configuration" settings::get_of_registration;
        POST "/registrations/{registration}/configuration" settings::post_of_registration;
        DELETE "/registrations/{registration}/configuration/{setting}" settings::delete_of_registration;
        GET "/registrations/{registration}/launches/{launch}/trace" registrations::trace;
        POST "/learner/{learner}/updateInfo" learners::update;
        POST "/learner/{learner}/delete-information" learners::erase;
        PUT "/learner/tags" tags::put_of_learners;
        GET "/learner/{learner}/tags" tags::get_of_learner;
        PUT "/learner/{learner}/tags" tags::put_of_learner;
        DELETE "/learner/{learner}/tags" tags::delete_of_learner;
    };
    let upload = guarded(
        Method::POST,
        "/learning/api/v2/courses/importJobs/upload",
        handler(api, imports::upload),
    );
    let asset = guarded(
        Method::POST,
        "/learning/api/v2/courses/{course}/asset/upload",
        handler(api, files::upload),
    );
    let of_version = guarded(
        Method::POST,
        "/learning/api/v2/courses/{course}/versions/{version}/asset/upload",
        handler(api, files::upload_of_version),
    );
    let bytes = usize::try_from(api.courses.limits.packed_bytes).unwrap_or(usize::MAX);
    let limits = BodyLimits::of_bytes(bytes).within(std::time::Duration::from_hours(6));
    all.extend([upload, asset, of_version].map(|route| route.with_body(limits)));
    all.extend(of_absent(api));
    all
}

/// Returns the routes of what is not offered.
fn of_absent(api: &Api) -> Vec<Route<ApiClient>> {
    let mut all = vec![];
    for (methods, path, about) in absent::ABSENT {
        for name in methods.split(' ') {
            let Ok(method) = name.parse::<Method>() else { continue };
            let template = format!("/learning/api/v2{path}");
            let handler = handler(api, |api, call| absent::answer(*about, api, call));
            let route = Route::new(method, template, GUARDED, handler);
            all.push(route.refused_as(&REFUSALS));
        }
    }
    all
}

fn of_player(courses: &Courses, origins: &Origins) -> Vec<Route<ApiClient>> {
    let play = &Play { courses: courses.clone(), origins: origins.clone() };
    let secret = |method: Method, template: &'static str, handler: Handler<ApiClient>| {
        let courses = courses.clone();
        Route::new(method, template, Guard::Secret, handler)
            .by_secret(move |params, now| play::recognize(courses.clone(), params, now))
    };
    let results = BodyLimits::of_bytes(COMMIT_BYTES_MAX);
    let all = vec![
        Route::new(Method::GET, "/play/assets/{*file}", Guard::Public, handler(play, play::built))
            .served(Served::Both),
        // The page says itself, and in its own words, that a launch has ended.
        Route::new(Method::GET, "/play/{launch}", Guard::Public, handler(play, play::shell)),
        secret(Method::GET, "/play/{launch}/boot", handler(play, play::boot)).served(Served::Both),
        secret(Method::GET, "/play/{launch}/bridge", handler(play, play::bridge))
            .served(Served::Content),
        secret(Method::GET, "/play/{launch}/content/{*path}", handler(play, play::content))
            .served(Served::Content),
        secret(Method::POST, "/play/{launch}/results", handler(play, play::results))
            .served(Served::Both)
            .with_body(results),
    ];
    all.into_iter().map(|route| route.refused_as(&REFUSALS_OF_PLAYER)).collect()
}
