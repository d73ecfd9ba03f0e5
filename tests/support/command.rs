//! Command components for `glovebox run` with behaviour that a real command does not have, built from text modules.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The part of WASI that the guests import.
const WIT: &str = r#"
package test:guest;

world guest {
  import wasi:io/poll@0.2.0;
  import wasi:io/streams@0.2.0;
  import wasi:cli/stdout@0.2.0;
  import wasi:cli/stderr@0.2.0;
  import wasi:http/types@0.2.0;
  import wasi:http/outgoing-handler@0.2.0;
  export wasi:cli/run@0.2.0;
}

package wasi:io@0.2.0 {
  interface error { resource error; }
  interface poll { resource pollable { block: func(); } }
  interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream {
      blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
    }
  }
}

package wasi:cli@0.2.0 {
  interface run { run: func() -> result; }
  interface stdout {
    use wasi:io/streams@0.2.0.{output-stream};
    get-stdout: func() -> output-stream;
  }
  interface stderr {
    use wasi:io/streams@0.2.0.{output-stream};
    get-stderr: func() -> output-stream;
  }
}

package wasi:http@0.2.0 {
  interface types {
    use wasi:io/poll@0.2.0.{pollable};
    use wasi:io/streams@0.2.0.{output-stream};
    variant method { get, head, post, put, delete, connect, options, trace, patch, other(string) }
    variant scheme { HTTP, HTTPS, other(string) }
    record DNS-error-payload { rcode: option<string>, info-code: option<u16> }
    record TLS-alert-received-payload { alert-id: option<u8>, alert-message: option<string> }
    record field-size-payload { field-name: option<string>, field-size: option<u32> }
    variant error-code {
      DNS-timeout, DNS-error(DNS-error-payload), destination-not-found, destination-unavailable,
      destination-IP-prohibited, destination-IP-unroutable, connection-refused, connection-terminated,
      connection-timeout, connection-read-timeout, connection-write-timeout, connection-limit-reached,
      TLS-protocol-error, TLS-certificate-error, TLS-alert-received(TLS-alert-received-payload),
      HTTP-request-denied, HTTP-request-length-required, HTTP-request-body-size(option<u64>),
      HTTP-request-method-invalid, HTTP-request-URI-invalid, HTTP-request-URI-too-long,
      HTTP-request-header-section-size(option<u32>), HTTP-request-header-size(option<field-size-payload>),
      HTTP-request-trailer-section-size(option<u32>), HTTP-request-trailer-size(field-size-payload),
      HTTP-response-incomplete, HTTP-response-header-section-size(option<u32>),
      HTTP-response-header-size(field-size-payload), HTTP-response-body-size(option<u64>),
      HTTP-response-trailer-section-size(option<u32>), HTTP-response-trailer-size(field-size-payload),
      HTTP-response-transfer-coding(option<string>), HTTP-response-content-coding(option<string>),
      HTTP-response-timeout, HTTP-upgrade-failed, HTTP-protocol-error, loop-detected, configuration-error,
      internal-error(option<string>)
    }
    resource fields { constructor(); }
    resource outgoing-body { write: func() -> result<output-stream>; }
    resource outgoing-request {
      constructor(headers: fields);
      body: func() -> result<outgoing-body>;
      set-method: func(method: method) -> result;
      set-scheme: func(scheme: option<scheme>) -> result;
      set-authority: func(authority: option<string>) -> result;
      set-path-with-query: func(path: option<string>) -> result;
    }
    resource request-options;
    resource future-incoming-response { subscribe: func() -> pollable; }
  }
  interface outgoing-handler {
    use types.{outgoing-request, request-options, future-incoming-response, error-code};
    handle: func(request: outgoing-request, options: option<request-options>)
      -> result<future-incoming-response, error-code>;
  }
}
"#;

/// The imports of a guest.
const IMPORTS: &str = r#"
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-request" (func $request (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-method"
    (func $set-method (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-scheme"
    (func $set-scheme (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-authority"
    (func $set-authority (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query"
    (func $set-path (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.body" (func $body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $body-stream (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]future-incoming-response.subscribe"
    (func $subscribe (param i32) (result i32)))
  (import "wasi:http/outgoing-handler@0.2.0" "handle" (func $handle (param i32 i32 i32 i32)))
  (memory (export "memory") 4)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 131072))
"#;

/// Builds a guest that writes each text with one call to standard output (1) or standard error (2). 3 traps.
pub fn printing(folder: &Path, texts: &[(u8, &str)]) -> String {
    let mut data = String::new();
    let mut writes = String::new();
    let mut at = 1024;
    for (stream, text) in texts {
        if *stream == 3 {
            writes.push_str("unreachable\n");
            continue;
        }
        let stream = if *stream == 1 { "stdout" } else { "stderr" };
        data.push_str(&format!("(data (i32.const {at}) \"{}\")\n", escaped(text)));
        writes.push_str(&format!(
            "(call $write (call ${stream}) (i32.const {at}) (i32.const {}) (i32.const 0))\n",
            text.len()
        ));
        at += text.len();
    }
    built(
        folder,
        &format!(
            "(module {IMPORTS} {data}
               (func (export \"wasi:cli/run@0.2.0#run\") (result i32) {writes} (i32.const 0)))"
        ),
    )
}

/// The requests of a guest.
pub struct QuestionOptions<'a> {
    /// The index of the method in `wasi:http`: 0 is GET, 2 POST, 5 CONNECT, 7 TRACE.
    pub method: u8,
    /// The authority of the URL.
    pub authority: &'a str,
    /// The number of requests.
    pub requests: u32,
    /// The size of each body in KiB. The body is never finished. 0 for no body.
    pub body_kib: u32,
}

/// Builds a guest that sends requests and writes their bodies. Without bodies it waits for the first reply of each
/// request.
pub fn asking(folder: &Path, asking: &QuestionOptions) -> String {
    let QuestionOptions {
        method,
        authority,
        requests,
        body_kib,
    } = asking;
    let length = authority.len();
    let authority = escaped(authority);
    // One call writes at most 4 KiB.
    let pieces = body_kib / 4;
    built(
        folder,
        &format!(
            r#"(module {IMPORTS}
  (data (i32.const 1000) "/")
  (data (i32.const 1024) "{authority}")
  (func (export "wasi:cli/run@0.2.0#run") (result i32)
    (local $request i32) (local $body i32) (local $stream i32) (local $count i32) (local $piece i32)
    (loop $each
      (local.set $request (call $request (call $fields)))
      (drop (call $set-method (local.get $request) (i32.const {method}) (i32.const 0) (i32.const 0)))
      (drop (call $set-scheme (local.get $request) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
      (drop (call $set-authority (local.get $request) (i32.const 1) (i32.const 1024) (i32.const {length})))
      (drop (call $set-path (local.get $request) (i32.const 1) (i32.const 1000) (i32.const 1)))
      (if (i32.gt_u (i32.const {pieces}) (i32.const 0)) (then
        (call $body (local.get $request) (i32.const 0))
        (local.set $body (i32.load (i32.const 4)))
        (call $body-stream (local.get $body) (i32.const 0))
        (local.set $stream (i32.load (i32.const 4)))))
      (call $handle (local.get $request) (i32.const 0) (i32.const 0) (i32.const 0))
      (if (i32.gt_u (i32.const {pieces}) (i32.const 0)) (then
        (local.set $piece (i32.const 0))
        (loop $more
          (call $write (local.get $stream) (i32.const 65536) (i32.const 4096) (i32.const 512))
          (local.set $piece (i32.add (local.get $piece) (i32.const 1)))
          (br_if $more (i32.and
            (i32.eqz (i32.load8_u (i32.const 512)))
            (i32.lt_u (local.get $piece) (i32.const {pieces}))))))
      (else (if (i32.eqz (i32.load8_u (i32.const 0))) (then
        (call $block (call $subscribe (i32.load (i32.const 8))))))))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br_if $each (i32.lt_u (local.get $count) (i32.const {requests}))))
    (i32.const 0)))"#
        ),
    )
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}

fn built(folder: &Path, module: &str) -> String {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("guest.wit", WIT).unwrap();
    let world = resolve.select_world(&[package], Some("guest")).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    let component = ComponentEncoder::default()
        .module(&module)
        .unwrap()
        .encode()
        .unwrap();
    let path = folder.join("guest.wasm");
    std::fs::write(&path, component).unwrap();
    path.display().to_string()
}
