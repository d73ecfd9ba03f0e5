//! `codec` and `view`.

use crate::Component;
use crate::convert::{Convert, records};
use crate::wit::types::Exchange;
use crate::wit::{codec, view};

records! {
    view::ViewOptions => traffic::view::ViewOptions { json, budget, request, response, bodies, request_offset, response_offset }
    traffic::view::View => view::Shown { text, next_request_offset, next_response_offset, cut }
}

impl view::Guest for Component {
    fn render(exchange: Exchange, options: view::ViewOptions) -> view::Shown {
        traffic::view::view(&exchange.convert(), &options.convert()).convert()
    }

    fn visible(text: String) -> String {
        traffic::view::visible(&text)
    }
}

impl codec::Guest for Component {
    fn url_encode(text: String) -> String {
        traffic::codec::url_encode(&text)
    }

    fn url_decode(text: String) -> String {
        traffic::codec::url_decode(&text)
    }

    fn base64_encode(bytes: Vec<u8>) -> String {
        traffic::codec::base64_encode(&bytes)
    }

    fn base64_decode(text: String) -> Result<Vec<u8>, String> {
        traffic::codec::base64_decode(&text)
    }

    fn hash(bytes: Vec<u8>, algorithm: String) -> Result<String, String> {
        traffic::codec::hash(&bytes, &algorithm)
    }

    fn decode_as(text: String, encoding: String) -> Result<Vec<u8>, String> {
        traffic::codec::decode_as(&text, &encoding)
    }

    fn random_string(length: u32, alphabet: String, random: Vec<u8>) -> Result<String, String> {
        traffic::codec::random_string(length, &alphabet, &random)
    }
}
