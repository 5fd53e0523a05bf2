//! `/oauth/token_info`: describes a token to its holder, with the names of the holder's education
//! organizations.

use homeroom_access::{Call, TokenInfo};
use homeroom_http::{Problem, Response};

use crate::{Served, organizations};

pub(crate) async fn post(served: Served, mut call: Call) -> Result<Response, Problem> {
    let info = TokenInfo::asked(&served.access, &mut call).await?;
    let known = organizations::with_ids(&served.api, info.education_organizations()).await?;
    Ok(info.answer(&served.access, &known))
}
