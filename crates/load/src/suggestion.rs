//! The most likely meaning of a mistyped name.

/// The most likely candidate for a mistyped name.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(synonym) = synonym(name).and_then(|synonym| candidates.iter().find(|&&c| c == synonym)) {
        return Some(synonym);
    }
    let scored = candidates.into_iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// Names that other tools use.
fn synonym(name: &str) -> Option<&'static str> {
    Some(match name {
        "thread" | "threads" | "numjobs" | "number" | "files" => "count",
        "subthreads" | "parallel" => "fork",
        "bs" | "blocksize" | "block_size" | "chunk" => "block",
        "filesize" | "file_size" | "bytes" => "size",
        "time" | "runtime" | "length" | "seconds" => "duration",
        "memory" | "hold" | "resident" => "holds",
        "iops" | "frequency" => "rate",
        "file" | "set" | "on" => "from",
        "type" | "op" | "action" => "do",
        "description" | "summary" => "about",
        "dirs" | "paths" | "dir" => "directories",
        "ram" | "mem" => "memory",
        "cores" | "ncpus" | "nproc" => "cpus",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_and_other_tools_names_are_suggested() {
        assert_eq!(nearest("cuont", ["count", "name"]), Some("count"));
        assert_eq!(nearest("threads", ["count", "name"]), Some("count"));
        assert_eq!(nearest("zzz", ["count", "name"]), None);
    }
}
