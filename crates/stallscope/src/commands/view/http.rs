//! The subset of HTTP/1.1 that a browser needs to read: one GET per connection.

use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// Maximum length of a request.
const MAX_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Smaller answers are not compressed.
const COMPRESS_FROM: usize = 4 << 10;

/// A request.
pub struct Request {
    /// Without the query, as sent: it is only compared, never used as a file name.
    pub path: String,
    /// The Host header.
    pub host: Option<String>,
    /// Whether the browser marks it as cross-site.
    pub is_cross_site: bool,
    query: String,
}

impl Request {
    /// A value of the query by name, decoded.
    pub fn value(&self, name: &str) -> Option<String> {
        let values = self.query.split('&').filter_map(|pair| pair.split_once('='));
        values.into_iter().find(|(known, _)| *known == name).map(|(_, value)| decoded(value))
    }

    /// A number of the query by name.
    pub fn number(&self, name: &str) -> Result<u64, Answer> {
        let number = self.value(name).and_then(|text| text.parse().ok());
        number.ok_or_else(|| Answer::refused(400, &format!("'{name}' must be a number")))
    }
}

/// Decodes `%2F` to `/`; invalid UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        match (first, after.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a request; an invalid one, or one that is not a GET, is an error answer.
pub fn read(stream: &mut impl Read) -> Result<Request, Answer> {
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    loop {
        let gone = || Answer::refused(408, "incomplete request");
        let count = stream.read(&mut part).map_err(|_| gone())?;
        bytes.extend_from_slice(&part[..count]);
        if let Some(request) = parsed(&bytes)? {
            return Ok(request);
        }
        if count == 0 {
            return Err(gone());
        }
        if bytes.len() > MAX_BYTES {
            return Err(Answer::refused(431, "the request is too long"));
        }
    }
}

/// `None` if the request is incomplete.
fn parsed(bytes: &[u8]) -> Result<Option<Request>, Answer> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(bytes).map_err(|error| Answer::refused(400, &format!("invalid request: {error}")))?;
    if status.is_partial() {
        return Ok(None);
    }
    if request.method != Some("GET") {
        return Err(Answer::refused(405, "only GET is supported"));
    }
    let header = |name: &str| -> Vec<String> {
        let named = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| String::from_utf8_lossy(header.value).into_owned()).collect()
    };
    let mut hosts = header("host");
    let host = if hosts.len() == 1 { hosts.pop() } else { None };
    let (path, query) =
        request.path.unwrap_or_default().split_once('?').unwrap_or((request.path.unwrap_or_default(), ""));
    let is_cross_site = header("sec-fetch-site").iter().any(|site| site == "cross-site" || site == "same-site");
    Ok(Some(Request { path: path.to_owned(), host, is_cross_site, query: query.to_owned() }))
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl Answer {
    /// A part of the page.
    pub fn page(kind: &'static str, body: String) -> Answer {
        Answer { status: 200, kind, body: body.into_bytes() }
    }

    /// Data.
    pub fn json(value: &Value) -> Answer {
        Answer { status: 200, kind: "application/json", body: value.to_string().into_bytes() }
    }

    /// An error, and why.
    pub fn refused(status: u16, why: &str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: format!("{why}\n").into_bytes() }
    }

    /// The bytes on the wire, gzip-compressed if large: every browser supports it.
    pub fn bytes(&self) -> Vec<u8> {
        let packed = (self.body.len() >= COMPRESS_FROM).then(|| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&self.body).and_then(|()| packer.finish()).expect("writing to memory succeeds")
        });
        let encoding = if packed.is_some() { "Content-Encoding: gzip\r\n" } else { "" };
        let body = packed.as_deref().unwrap_or(&self.body);
        let mut bytes = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{encoding}{HEADERS}\r\n",
            self.status,
            reason(self.status),
            self.kind,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// The page may load from this server only; it must not be framed, sniffed or cached.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                       base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
                       X-Content-Type-Options: nosniff\r\n\
                       X-Frame-Options: DENY\r\n\
                       Referrer-Policy: no-referrer\r\n\
                       Cross-Origin-Resource-Policy: same-origin\r\n\
                       Cross-Origin-Opener-Policy: same-origin\r\n\
                       Cache-Control: no-store\r\n\
                       Connection: close\r\n";

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::{decoded, parsed};

    #[test]
    fn only_whole_get_requests_with_one_host_are_taken() {
        let host = |text: &str| parsed(text.as_bytes()).unwrap().unwrap().host;
        assert_eq!(host("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(host("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), None);
        assert!(parsed(b"GET / HTTP/1.1\r\nHos").unwrap().is_none());
        for refused in ["POST / HTTP/1.1\r\n\r\n", "\u{1}\u{2}", "GET / HTTP/9.9\r\n\r\n"] {
            assert!(parsed(refused.as_bytes()).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        assert_eq!(decoded("a%2Fb%20%zz%4"), "a/b %zz%4");
        let request = parsed(b"GET /x?run=3&find=%3Cb%3E HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!((request.number("run").unwrap(), request.value("find").as_deref()), (3, Some("<b>")));
        assert!(request.number("find").is_err() && request.number("none").is_err());
    }
}
