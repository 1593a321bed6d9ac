//! What a remedy is applied to.

use std::borrow::Cow;

use crate::error::RemedyError;

/// The values of placeholders; unknown ones are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// `{device}`: the disk's kernel name (`sda`).
    pub device: Option<String>,
    /// `{number}`: its `major:minor`.
    pub number: Option<String>,
    /// `{cgroup}`: a cgroup's path below its hierarchy's root, with a leading slash.
    pub cgroup: Option<String>,
    /// `{mount}`: a mount point.
    pub mount: Option<String>,
    /// `{pid}`: a process.
    pub pid: Option<String>,
    /// `{unit}`: a unit of the machine's manager (`app.service`).
    pub unit: Option<String>,
}

/// Placeholders of templates.
pub(crate) const PLACEHOLDERS: [&str; 6] = ["device", "number", "cgroup", "mount", "pid", "unit"];

impl Target {
    fn get(&self, placeholder: &str) -> Option<&str> {
        match placeholder {
            "device" => self.device.as_deref(),
            "number" => self.number.as_deref(),
            "cgroup" => self.cgroup.as_deref().map(|cgroup| cgroup.trim_end_matches('/')),
            "mount" => self.mount.as_deref(),
            "pid" => self.pid.as_deref(),
            "unit" => self.unit.as_deref(),
            _ => None,
        }
    }

    /// Whether all placeholders of a template are known.
    pub fn is_known(&self, template: &str) -> bool {
        placeholders(template).all(|name| self.get(name).is_some())
    }

    /// A template for people, with its placeholders replaced: as words of a shell, since a cgroup or a folder may have
    /// any name. What is unknown is in capitals.
    pub fn words(&self, template: &str) -> String {
        let (mut words, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            words.push_str(before);
            match self.get(name) {
                Some(value) => words.push_str(&quoted(value)),
                None => words.push_str(&name.to_uppercase()),
            }
            rest = after;
        }
        words + rest
    }

    /// The template with its placeholders replaced.
    pub fn fill(&self, template: &str) -> Result<String, RemedyError> {
        let mut filled = template.to_owned();
        for placeholder in PLACEHOLDERS {
            let name = format!("{{{placeholder}}}");
            if !template.contains(&name) {
                continue;
            }
            let value = self.get(placeholder).ok_or_else(|| RemedyError::Unknown {
                template: template.to_owned(),
                placeholder: placeholder.to_owned(),
            })?;
            filled = filled.replace(&name, value);
        }
        Ok(filled)
    }
}

/// A value as a word of a shell, or part of one.
fn quoted(value: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./@:%+=-,".contains(&byte);
    match value.bytes().all(is_plain) {
        true => Cow::Borrowed(value),
        false => Cow::Owned(format!("'{}'", value.replace('\'', "'\\''"))),
    }
}

/// The placeholders that a template names, known ones and others.
pub(crate) fn placeholders(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn placeholders_are_filled_or_named() {
        let target = Target { cgroup: Some("/a/b".into()), number: Some("7:0".into()), ..Target::default() };
        assert_eq!(target.fill("/sys/fs/cgroup{cgroup}/io.max").unwrap(), "/sys/fs/cgroup/a/b/io.max");
        let error = target.fill("/sys/block/{device}/queue/scheduler").unwrap_err().to_string();
        assert_eq!(error, "'/sys/block/{device}/queue/scheduler' needs {device}, which is unknown here");
        let unit = Target { unit: Some("a\\x2db'c.service".into()), ..Target::default() };
        assert_eq!(unit.words("thaw {unit} on {mount} {x"), "thaw 'a\\x2db'\\''c.service' on MOUNT {x");
        let root = Target { cgroup: Some("/".into()), ..Target::default() };
        assert_eq!(root.fill("/c{cgroup}/x").unwrap(), "/c/x");
    }
}
