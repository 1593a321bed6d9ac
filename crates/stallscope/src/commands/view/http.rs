//! The requests of a browser that reads, and the answers.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// Smaller answers are not compressed.
const COMPRESS_FROM: usize = 4 << 10;

/// A request.
#[derive(Debug)]
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
    /// From the parts that count: the values of two headers, each as often as it was sent. What is not a GET is an
    /// error answer.
    pub fn new(method: &str, target: (&str, &str), hosts: &[String], sites: &[String]) -> Result<Request, Answer> {
        if method != "GET" {
            return Err(Answer::refused(405, "only GET is supported"));
        }
        let host = if let [host] = hosts { Some(host.clone()) } else { None };
        let is_cross_site = sites.iter().any(|site| site == "cross-site" || site == "same-site");
        Ok(Request { path: target.0.to_owned(), host, is_cross_site, query: target.1.to_owned() })
    }

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

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its headers and body, gzip-compressed if large: every browser supports it.
    pub fn into_parts(self) -> (Vec<(&'static str, &'static str)>, Vec<u8>) {
        let packed = (self.body.len() >= COMPRESS_FROM).then(|| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&self.body).and_then(|()| packer.finish()).expect("writing to memory succeeds")
        });
        let mut headers = vec![("Content-Type", self.kind)];
        headers.extend(packed.as_ref().map(|_| ("Content-Encoding", "gzip")));
        headers.extend(HEADERS);
        (headers, packed.unwrap_or(self.body))
    }
}

/// The page may load from this server only; it must not be framed, sniffed or cached.
const HEADERS: [(&str, &str); 7] = [
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action \
         'none'; \
         frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

#[cfg(test)]
mod tests {
    use super::{Request, decoded};

    #[test]
    fn only_get_requests_with_one_host_are_taken() {
        let of = |method, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| host.to_string()).collect();
            Request::new(method, ("/", ""), &hosts, &["same-origin".to_owned()])
        };
        assert_eq!(of("GET", &["127.0.0.1:1"]).unwrap().host.as_deref(), Some("127.0.0.1:1"));
        assert_eq!(of("GET", &["a", "b"]).unwrap().host, None);
        assert_eq!(of("GET", &[]).unwrap().host, None);
        assert!(of("POST", &["a"]).is_err() && of("\u{1}", &["a"]).is_err());
        assert!(Request::new("GET", ("/", ""), &[], &["cross-site".to_owned()]).unwrap().is_cross_site);
    }

    #[test]
    fn queries_are_decoded() {
        assert_eq!(decoded("a%2Fb%20%zz%4"), "a/b %zz%4");
        let request = Request::new("GET", ("/x", "run=3&find=%3Cb%3E"), &[], &[]).unwrap();
        assert_eq!((request.number("run").unwrap(), request.value("find").as_deref()), (3, Some("<b>")));
        assert!(request.number("find").is_err() && request.number("none").is_err());
    }
}
