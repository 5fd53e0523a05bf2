//! Who a modelled learner is, and the browser of all of them.

/// The given name of all learners.
pub const GIVEN_NAME: &str = "Lab";

/// Header lines of a post besides those that the engine adds and `Origin`, as Chromium sends them.
pub const HEADERS: &str = "sec-ch-ua-platform: \"Linux\"\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/156.0.0.0 Safari/537.36\r\n\
    sec-ch-ua: \"Not:A-Brand\";v=\"8\", \"Chromium\";v=\"156\"\r\n\
    Content-Type: application/json\r\n\
    sec-ch-ua-mobile: ?0\r\n\
    Accept: */*\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    Sec-Fetch-Mode: cors\r\n\
    Sec-Fetch-Dest: empty\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Accept-Language: en-US\r\n\
    Cache-Control: no-cache\r\n\
    Pragma: no-cache\r\n";

/// Returns the family name of a learner.
pub fn family_name(learner: u32) -> String {
    format!("Learner {learner}")
}
