//! Hosts and addresses of networks.

use core::net::IpAddr;

use crate::file_name::file_name;
use crate::names::Names;
use crate::path::path;

/// The replacement of a host's name or address.
pub(crate) fn host(names: &mut Names, text: &str) -> String {
    let plain = text.trim_matches(['[', ']']);
    let is_local = ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"].contains(&plain);
    match plain.parse::<IpAddr>() {
        _ if is_local => text.to_owned(),
        Ok(_) => {
            let after = names.address(plain);
            let after = if text.starts_with('[') { format!("[{after}]") } else { after };
            names.change(text, after)
        }
        Err(_) => {
            // Each part of a name, so that hosts of one domain still have it in common.
            let after: Vec<String> = text.split('.').map(|part| file_name(names, part)).collect();
            names.change(text, after.join("."))
        }
    }
}

/// That of what a network's file system is mounted from: `server:/exports/home`, `//server/share`,
/// `alice@server:/home`.
pub(crate) fn remote(names: &mut Names, source: &str) -> Option<String> {
    if let Some(rest) = source.strip_prefix("//") {
        let (server, share) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(format!("//{}/{}", host(names, server), path(names, share)));
    }
    let (server, folder) =
        source.rsplit_once(":/").filter(|(server, _)| !server.is_empty() && !server.starts_with('/'))?;
    let folder = path(names, &format!("/{folder}"));
    Some(match server.split_once('@') {
        Some((user, server)) => format!("{}@{}:{folder}", file_name(names, user), host(names, server)),
        None => format!("{}:{folder}", host(names, server)),
    })
}

#[cfg(test)]
mod tests {
    use super::{host, remote};
    use crate::names::{Comms, Names};

    #[test]
    fn hosts_keep_their_domain_in_common() {
        let mut names = Names::new(Comms::Known, Vec::new());
        assert_eq!(host(&mut names, "db1.acme.com"), "n1-1.n2.n3");
        assert_eq!(host(&mut names, "db2.acme.com"), "n1-2.n2.n3");
        assert_eq!([host(&mut names, "10.1.2.3"), host(&mut names, "[fe80::1]")], ["2001:db8::1", "[2001:db8::2]"]);
        assert_eq!(host(&mut names, "127.0.0.1"), "127.0.0.1");
        assert_eq!(remote(&mut names, "db1.acme.com:/srv/acme").as_deref(), Some("n1-1.n2.n3:/srv/n2"));
        assert_eq!(remote(&mut names, "//nas/acme").as_deref(), Some("//n4/n2"));
        assert_eq!(remote(&mut names, "acme@nas:/").as_deref(), Some("n2@n4:/"));
        assert_eq!(remote(&mut names, "/dev/sda1"), None);
    }
}
