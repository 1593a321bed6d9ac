//! The HTML that carries the document.
//!
//! Names come from the machine and may contain anything. The document travels as base64, which has no special
//! characters in HTML, and the program inserts names as text only. Of a text above it each special character is
//! escaped.

use std::io::Write as _;

use base64::Engine as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// The page's program, as built from `web/`.
pub const SCRIPT: &str = include_str!("../web/dist/page.js");
/// The page's style, as built from `web/`.
pub const STYLE: &str = include_str!("../web/dist/page.css");
/// SHA-256 of the program and the style, as a content security policy needs them.
const HASHES: &str = include_str!("../web/dist/hashes.txt");

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                    <meta name=\"viewport\" content=\"width=device-width, \
                    initial-scale=1\">\n<title>Stallscope</title>\n";
const BODY: &str = "<body>\n";
const APP: &str = "<div id=\"app\"><noscript>This page needs JavaScript to draw charts.</noscript></div>\n";

/// The whole document: the runs' parts, and the comparisons of the first with the others.
pub fn document(runs: Vec<Value>, comparisons: Vec<Value>) -> Value {
    json!({ "version": 1, "runs": runs, "comparisons": comparisons })
}

/// One self-contained file. It makes no requests, and its policy forbids them.
pub fn report(document: &Value) -> String {
    report_below("", document)
}

/// The same below a text.
pub fn report_below(text: &str, document: &Value) -> String {
    let above = if text.is_empty() { String::new() } else { format!("<pre>{}</pre>\n", escaped(text)) };
    let mut hashes = HASHES.split_whitespace();
    let (script, style) = (hashes.next().unwrap_or_default(), hashes.next().unwrap_or_default());
    let data = base64::engine::general_purpose::STANDARD.encode(packed(document));
    format!(
        "{HEAD}<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{script}'; \
         style-src \
         '{style}'; base-uri 'none'; form-action 'none'\">\n<style>{STYLE}</style>\n</head>\n{BODY}{above}{APP}<script \
         type=\"application/octet-stream\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// The page without data, which the server provides.
pub fn shell() -> String {
    format!(
        "{HEAD}<link rel=\"stylesheet\" href=\"page.css\">\n</head>\n{BODY}{APP}<script \
         src=\"page.js\"></script>\n</body>\n</html>\n"
    )
}

/// A text as HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

/// The document as gzip.
fn packed(document: &Value) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(6));
    serde_json::to_writer(&mut packer, document).expect("values can be written into memory");
    packer.flush().expect("memory takes it");
    packer.finish().expect("memory takes it")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{report, report_below};

    #[test]
    fn a_text_above_the_page_is_text() {
        let html = report_below("node <script>alert('1')</script> & \"b\"", &json!({}));
        assert!(html.contains("<pre>node &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;b&quot;</pre>"));
        assert_eq!(
            html.replace(&html[html.find("<pre>").unwrap()..html.find("<div id").unwrap()], ""),
            report(&json!({}))
        );
    }
}
