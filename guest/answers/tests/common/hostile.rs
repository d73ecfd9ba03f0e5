//! Replies that make a careless parser slow or large, of any size; the host's tests read the same ones through the component.

use std::iter;

/// A kind of hostile reply.
pub struct Hostile {
    /// What it consists of.
    pub name: String,
    /// Whether it is read as research.
    pub research: bool,
    /// Whether it is full of whole tags, each of which is kept and handed out as an event.
    pub records: bool,
    /// Whether all of it is in one delta.
    pub one_delta: bool,
    /// The reply.
    pub bytes: Vec<u8>,
}

/// Plain prose in deltas of a kilobyte, against which the others are measured.
pub fn prose(bytes: usize) -> Vec<u8> {
    let text =
        "The tower was built for the World's Fair of 1889 \u{2013} and it stayed. ".repeat(14);
    fill(bytes, |_| chunk(&text))
}

/// The same in one delta.
pub fn prose_in_one(bytes: usize) -> Vec<u8> {
    one(
        &"The tower was built for the World's Fair of 1889 \u{2013} and it stayed. "
            .repeat(bytes / 72),
    )
}

/// Contents that are repeated.
const CONTENTS: &[&str] = &[
    "<",
    "</",
    "<citation>",
    "<citation>{",
    "<answer>",
    r#"<answer>""#,
    r#"<answer>"a" "#,
    r#"<answer>{"answer":"a"}"#,
    r#"<queries>{"a":"<queries>{"a":""#,
    r#"<queries>{"a":""#,
    r#"<queries>{"\"<queries>{""#,
    "<blindspots>[[[[[[[[",
    "<usage>    ",
    "<enum_start>a",
    "<enum_end>  ",
    "<blindspots>[1,",
    r#"<blindspots>["a"]</blindspots>"#,
    "<blindspots>[]</blindspots>",
    r#"<citation>{"url":"http://a","end_index":0}</citation>"#,
    r#"a<citation>{"url":"http://a"}</citation>"#,
    r#"<citation>{"url":"x"}</citation>"#,
    r#"```\na<progress>{"number_of_iterations":1}</progress>"#,
    r#"<answer>{"answer":"a"}</answer>b"#,
    r#"<answer>{"answer":"a","answer":"b"}</answer>"#,
    "<answer>a</answer>",
    r#"<answer>a<citation>{"url":"http://a"}</citation></answer>"#,
    r#"<usage>{"X-Request-Total-Cost":1e-1150}</usage>"#,
    r#"<usage>{"X-Request-Total-Cost":2.2250738585072011e-308}</usage>"#,
    r#"<usage>{"X-Request-Total-Cost":1e300}</usage>"#,
    r#"<progress>{"number_of_iterations":1,"elapsed_seconds":9007199254740993e-320}</progress>"#,
    r#"<analyzing>{"query":""}</analyzing>"#,
    r#"<thinking>{"query":""}</thinking>"#,
    r#"<enum_item>{"name":"a"}</enum_item>"#,
    "\u{e9}",
    "\u{202e}",
    "a\u{200d}",
    "<answe",
];

/// Texts of an answer that are repeated.
const ANSWERS: &[&str] = &[
    "[",
    "](",
    "](http://a",
    "](http://a(",
    "[a](http://a ",
    "[a](<http://a ",
    "[a](http://a)",
    "![",
    "![a](b(",
    "`",
    "`a``b```",
    "http://",
    "http://a(",
    "http://a ",
    "<http://a",
    "```\n",
    "``` `\n",
    "~~~ ",
    "\\\\",
    "\u{202e}",
];

/// What is numbered, so that no two are equal.
const NUMBERED: &[&str] = &[
    r#"a<citation>{"url":"http://%","snippet":"%"}</citation>"#,
    r#"a<citation>{"url":"http://a","snippet":"%","number":%}</citation>"#,
    r#"<queries>{"queries":["%"]}</queries>"#,
    r#"<thinking>{"query":"%","urls_selected":["http://%"]}</thinking>"#,
    r#"<enum_item>{"name":"%","images":["http://%"],"citations":[%]}</enum_item>"#,
    r#"<usage>{"X-Request-Queries":%}</usage>"#,
];

/// Payloads with something many times: before, what is repeated, after.
const PAYLOADS: &[(&str, &str, &str)] = &[
    ("<blindspots>[1", ",1", "]</blindspots>"),
    (r#"<queries>{"queries":["""#, r#","""#, "]}</queries>"),
    (
        r#"<usage>{"a":1"#,
        r#","X-Request-Total-Cost":1e-1150"#,
        "}</usage>",
    ),
    (
        r#"<usage>{"a":1"#,
        r#","X-Request-Total-Cost":2.2250738585072011e-308"#,
        "}</usage>",
    ),
    (
        r#"<thinking>{"query":"","urls_selected":["""#,
        r#","http://a""#,
        "]}</thinking>",
    ),
    (
        r#"<enum_item>{"name":"a","citations":[0"#,
        ",[]",
        "]}</enum_item>",
    ),
    (
        r#"<answer>{"a":0"#,
        r#","a":0"#,
        r#","answer":"b"}</answer>"#,
    ),
    (r#"<usage>{"X-Request-Total-Cost":0."#, "1", "}</usage>"),
    (r#"<blindspots>[["#, " ", "]]</blindspots>"),
];

/// Raw streams that are repeated.
const FRAMING: &[&str] = &[
    "\n",
    "\r",
    ":\n",
    "data:\n",
    "data:\n\n",
    "data: x\n\n",
    "data: {}\n\n",
    "data: {}\n",
    "data: [DONE]x\n\n",
    "data: [[[[[[[[\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"<\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":1}}\n\n",
    "data: {\"\\u0063hoices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
];

/// Every kind of hostile reply, each of about so many bytes.
pub fn all(bytes: usize) -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: String, research: bool, bytes: Vec<u8>| {
        // Few line ends: one delta, or one line.
        let one_delta = bytes.iter().filter(|&&byte| byte == b'\n').count() < 10;
        all.push(Hostile {
            records: name.contains("</"),
            name,
            research,
            one_delta,
            bytes,
        });
    };
    for research in [false, true] {
        for content in CONTENTS {
            let times = bytes / content.len();
            add(
                format!("{content} in one delta"),
                research,
                one(&content.repeat(times)),
            );
            add(
                format!("{content} in a delta each"),
                research,
                fill(bytes, |_| chunk(content)),
            );
        }
        for content in NUMBERED {
            let item = |number: usize| content.replace('%', &number.to_string());
            let items = String::from_utf8(fill(bytes, item)).unwrap_or_default();
            add(format!("{content} in one delta"), research, one(&items));
            add(
                format!("{content} in a delta each"),
                research,
                fill(bytes, |number| chunk(&item(number))),
            );
        }
        for (before, repeated, after) in PAYLOADS {
            let payload = format!("{before}{}{after}", repeated.repeat(bytes / repeated.len()));
            add(
                format!("{before}{repeated}… in one delta"),
                research,
                one(&payload),
            );
        }
    }
    for escape in [r"\ud83d", r"\n", r"\u0000", r"\u0041"] {
        add(
            format!("{escape} in one delta"),
            false,
            end(raw_chunk(&escape.repeat(bytes / escape.len()))),
        );
        add(
            format!("{escape} in a delta each"),
            true,
            fill(bytes, |_| raw_chunk(escape)),
        );
    }
    for answer in ANSWERS {
        let text = answer.repeat(bytes / answer.len());
        add(
            format!("answer of {answer}"),
            true,
            one(&format!("<answer>{text}</answer>")),
        );
        add(
            format!("object of {answer}"),
            true,
            one(&format!(
                r#"<answer>{{"answer":"{}"}}</answer>"#,
                escaped(&text)
            )),
        );
        add(format!("prose of {answer}"), false, one(&text));
    }
    for framing in FRAMING {
        add(
            format!("{framing:?}"),
            false,
            framing.repeat(bytes / framing.len()).into_bytes(),
        );
    }
    for (name, before, repeated) in [
        ("one long line", "x", "x"),
        ("deep chunk", "data: ", "["),
        ("deep objects", "data: ", "{\"a\":"),
        ("blocking, deep", "{\"a\":", "["),
        ("blocking, many values", "{\"a\":[1", ",1"),
        ("blocking, many members", "{\"a\":1", ",\"a\":1"),
        (
            "blocking, text",
            "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"",
            "word ",
        ),
    ] {
        let stream = format!("{before}{}", repeated.repeat(bytes / repeated.len()));
        add(name.to_owned(), false, stream.into_bytes());
    }
    all
}

/// Parts up to so many bytes.
fn fill(bytes: usize, part: impl Fn(usize) -> String) -> Vec<u8> {
    let mut stream = String::with_capacity(bytes + 4096);
    for number in iter::successors(Some(0), |number| Some(number + 1)) {
        if stream.len() >= bytes {
            break;
        }
        stream += &part(number);
    }
    stream.into_bytes()
}

/// A text as the inside of a JSON string.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}

/// A chunk with this content.
fn chunk(content: &str) -> String {
    raw_chunk(&escaped(content))
}

/// A chunk with this content, written as it stands in its JSON string.
fn raw_chunk(content: &str) -> String {
    format!(
        "data: {{\"model\":\"brave-pro\",\"system_fingerprint\":\"\",\"choices\":[{{\"delta\":{{\"role\":\"assistant\",\"content\":\"{content}\"}},\"finish_reason\":null}}],\"created\":1793452800,\"id\":\"f9b6e571-43cc-4268\",\"object\":\"chat.completion.chunk\",\"usage\":null}}\n\n"
    )
}

/// One chunk with all of it, and the end of the stream.
fn one(content: &str) -> Vec<u8> {
    end(chunk(content))
}

fn end(stream: String) -> Vec<u8> {
    (stream + "data: [DONE]\n\n").into_bytes()
}
