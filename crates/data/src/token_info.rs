//! `/oauth/token_info`: describes a token to its holder, with the names of the holder's education
//! organizations.

use homeroom_access::{Call, TokenInfo};
use homeroom_http::{Problem, Response};

use crate::{DataState, organizations};

pub(crate) async fn post(state: DataState, mut call: Call) -> Result<Response, Problem> {
    let info = TokenInfo::asked(&state.access, &mut call).await?;
    let known = organizations::with_ids(&state.api, info.education_organizations()).await?;
    Ok(info.answer(&state.access, &known))
}
