//! Names of programs and threads, who started them, and what they say of themselves.

use crate::file_name::file_name;
use crate::known::{TITLE_WORDS, has};
use crate::names::{Kept, Names};

/// The replacement of a thread's name.
pub(crate) fn program(names: &mut Names, comm: &str) -> String {
    if names.is_known_program(comm) { names.keep(Kept::Program, comm) } else { file_name(names, comm) }
}

/// That of a program or script with its process: `rotate.sh/812`.
pub(crate) fn process(names: &mut Names, text: &str) -> String {
    let after = match text.rsplit_once('/') {
        Some((comm, pid)) => format!("{}/{pid}", program(names, comm)),
        None => program(names, text),
    };
    names.change(text, after)
}

/// That of a role or a title, word by word: `postgres: bob shop [local] idle in transaction`.
pub(crate) fn title(names: &mut Names, text: &str) -> String {
    let after: Vec<String> = text.split(' ').map(|word| said(names, word)).collect();
    names.change(text, after.join(" "))
}

fn said(names: &mut Names, word: &str) -> String {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || has(TITLE_WORDS, word) || names.is_known_program(word.trim_end_matches(':')) {
        return word.to_owned();
    }
    // `10.0.0.1(5678)`: a client.
    match word.split_once('(').filter(|(_, port)| port.ends_with(')')) {
        Some((address, port)) => format!("{}({port}", names.address(address)),
        None => file_name(names, word),
    }
}

#[cfg(test)]
mod tests {
    use super::{process, program, title};
    use crate::names::{Comms, Names};

    #[test]
    fn what_everybody_runs_stays() {
        let mut names = Names::new(Comms::Known, Vec::new());
        assert_eq!(program(&mut names, "postgres"), "postgres");
        assert_eq!(program(&mut names, "shopd"), "n1");
        assert_eq!(process(&mut names, "shop-rotate.sh/812"), "n2.sh/812");
        assert_eq!(process(&mut names, "cron/9"), "cron/9");
        assert_eq!(
            title(&mut names, "postgres: bob shop [local] idle in transaction"),
            "postgres: n3 n4 [local] idle in transaction"
        );
        assert_eq!(
            title(&mut names, "postgres: bob shop 10.0.0.1(56) UPDATE waiting"),
            "postgres: n3 n4 2001:db8::1(56) UPDATE waiting"
        );
        assert_eq!(title(&mut names, "checkpointer"), "checkpointer");
        assert_eq!(title(&mut names, "backup-acme.py"), "n5.py");
    }
}
