//! The routes of the bulk services.

use homeroom_access::{ApiClient, Scope};
use homeroom_http::{BodyLimits, Guard, Handler, Route, handler};
use http::Method;

use crate::limits::{CHUNK, CREATE};
use crate::service::BulkService;
use crate::{chunk, commit, create, openapi, read};

/// Most bytes of the body of a commit, which is passed over.
const COMMIT_BYTES_MAX: usize = 16 << 10;

/// Returns the routes of the bulk services.
pub fn routes(service: &BulkService) -> Vec<Route<ApiClient>> {
    const OPERATIONS: &str = "/api/v2.0/{schoolYear}/bulkOperations";
    const OPERATION: &str = "/api/v2.0/{schoolYear}/bulkOperations/{id}";
    const EXCEPTIONS: &str = "/api/v2.0/{schoolYear}/bulkOperations/{id}/exceptions/{uploadId}";
    const UPLOAD: &str = "/api/v2.0/{schoolYear}/uploads/{uploadId}";
    const UPLOAD_CHUNK: &str = "/api/v2.0/{schoolYear}/uploads/{uploadId}/chunk";
    const COMMIT: &str = "/api/v2.0/{schoolYear}/uploads/{uploadId}/commit";
    let route = |method: Method, template: &'static str, handler: Handler<ApiClient>| {
        Route::new(method, template, Guard::Token { scope: Scope::Data.name() }, handler)
            .logging(&["schoolYear"])
    };
    let commits = BodyLimits::of_bytes(COMMIT_BYTES_MAX);
    vec![
        route(Method::POST, OPERATIONS, handler(service, create::post)).with_body(CREATE),
        route(Method::GET, OPERATIONS, handler(service, read::list)),
        route(Method::GET, OPERATION, handler(service, read::get)),
        route(Method::GET, EXCEPTIONS, handler(service, read::exceptions)),
        route(Method::GET, UPLOAD, handler(service, chunk::get)),
        route(Method::POST, UPLOAD_CHUNK, handler(service, chunk::post)).with_body(CHUNK),
        route(Method::POST, COMMIT, handler(service, commit::post)).with_body(commits),
        openapi::route(),
    ]
}
