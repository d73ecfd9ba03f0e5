//! Cross-origin resource sharing.

use super::Sink;
use super::page::Page;
use crate::message::url;
use crate::types::Part;

pub(super) fn check(page: &Page<'_>, sink: &mut Sink) {
    let mut allowed = page.response.all("access-control-allow-origin");
    let (Some(allow), None) = (allowed.next(), allowed.next()) else {
        return;
    };
    let credentials = page.response.header("access-control-allow-credentials") == Some("true");
    if allow == "null" {
        if credentials {
            sink.add(
                "cors-null",
                Part::ResponseHead,
                "",
                "the origin null is allowed with credentials",
            );
        }
        return;
    }
    let Some(origin) = page.request.header("origin") else {
        return;
    };
    let foreign = url::origin(origin).is_some_and(|origin| origin != page.origin);
    if allow != origin || !foreign {
        return;
    }
    if credentials {
        sink.add(
            "cors-reflected",
            Part::ResponseHead,
            "",
            "the Origin of the request is allowed with credentials",
        );
        return;
    }
    let directives = page.cache_control();
    let cacheable = page.is_2xx()
        && !directives
            .iter()
            .any(|directive| directive == "no-store" || directive == "private");
    let varies = page
        .response
        .all("vary")
        .flat_map(|value| value.split(','))
        .any(|name| name.trim() == "*" || name.trim().eq_ignore_ascii_case("origin"));
    if cacheable && !varies {
        sink.add(
            "cors-vary",
            Part::ResponseHead,
            "",
            "the response allows the Origin of the request and Vary does not name it",
        );
    }
}
