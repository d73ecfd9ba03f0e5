//! Media types.

/// Returns the type without parameters, in lower case.
pub(crate) fn essence(media_type: &str) -> String {
    media_type
        .split([';', ','])
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Returns the value of a parameter, without quotes.
pub(crate) fn parameter(media_type: &str, name: &str) -> Option<String> {
    media_type.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Whether bodies of the type are no text.
pub(crate) fn is_binary(media_type: &str) -> bool {
    let essence = essence(media_type);
    if essence.ends_with("+xml") || essence.ends_with("+json") {
        return false;
    }
    ["image/", "audio/", "video/", "font/"]
        .iter()
        .any(|prefix| essence.starts_with(prefix))
        || matches!(
            essence.as_str(),
            "application/octet-stream"
                | "application/pdf"
                | "application/zip"
                | "application/gzip"
                | "application/wasm"
                | "application/grpc"
                | "application/protobuf"
                | "application/x-protobuf"
                | "application/java-archive"
                | "application/x-tar"
                | "application/x-bzip2"
                | "application/x-7z-compressed"
                | "application/x-java-serialized-object"
        )
        || essence.starts_with("application/vnd.openxmlformats")
        || essence.starts_with("application/vnd.ms-")
}

/// Whether the type is JSON.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(
        essence.as_str(),
        "application/json"
            | "text/json"
            | "application/graphql-response"
            | "application/csp-report"
    ) || essence.ends_with("+json")
}

/// Whether the type is XML; HTML is not.
pub(crate) fn is_xml(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(essence.as_str(), "application/xml" | "text/xml")
        || (essence.ends_with("+xml") && essence != "application/xhtml+xml")
}

/// Whether the type is HTML.
pub(crate) fn is_html(media_type: &str) -> bool {
    matches!(
        essence(media_type).as_str(),
        "text/html" | "application/xhtml+xml"
    )
}

/// Whether the type is a script.
pub(crate) fn is_script(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.ends_with("/javascript")
        || essence.ends_with("/ecmascript")
        || essence.ends_with("/x-javascript")
}

/// Whether the type is an HTML form's.
pub(crate) fn is_form(media_type: &str) -> bool {
    essence(media_type) == "application/x-www-form-urlencoded"
}
