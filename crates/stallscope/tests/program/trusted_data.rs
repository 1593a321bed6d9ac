//! Root works in directories of other users, who put links where its files are going to be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::stage::{Ended, folder, is_root, run};

const NOBODY: u32 = 65534;

const RECIPE: &str = r#"
name = "victim"
about = "new files in place of old ones, and reads"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "1s"

[files.set]
count = 4
size = "64k"

[[actor]]
name = "creator"
count = 1
work = true

[[actor.step]]
do = "create"
from = "set"

[[actor.step]]
do = "walk"
from = "set"
"#;

/// A directory of another user, and files of root beside it.
struct Scene {
    folder: tempfile::TempDir,
    recipe: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let folder = folder();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let recipe = folder.path().join("victim.toml");
        fs::write(&recipe, RECIPE).unwrap();
        fs::create_dir_all(folder.path().join("victims/0000")).unwrap();
        for name in ["file", "0000/000", "0000/002"] {
            fs::write(folder.path().join("victims").join(name), "kept").unwrap();
        }
        fs::create_dir(folder.path().join("theirs")).unwrap();
        chown(folder.path().join("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
        Scene { folder, recipe }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("theirs/stallscope-victim")
    }

    fn run(&self, flags: &str, out: &str) -> Ended {
        let (recipe, out, theirs) = (self.recipe.display(), self.path(out), self.path("theirs"));
        run(&format!("run {recipe} -q --no-trace {flags} --out {} {}", out.display(), theirs.display()))
    }

    fn is_untouched(&self, what: &str) {
        for name in ["file", "0000/000", "0000/002"] {
            let text = fs::read_to_string(self.path("victims").join(name)).unwrap_or_default();
            assert_eq!(text, "kept", "{what}: {name}");
        }
        assert_eq!(fs::read_dir(self.path("victims/0000")).unwrap().count(), 2, "{what}");
    }
}

fn replace(path: &Path, target: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
    symlink(target, path).unwrap();
}

#[test]
fn root_follows_no_link_in_the_data_directory_of_another_user() {
    if !is_root("directories of another user") {
        return;
    }
    let links: [(&str, &str); 5] = [
        ("set/0000/002", "victims/file"),
        ("set/0000", "victims/0000"),
        ("set", "victims"),
        (".stallscope.new", "victims/file"),
        (".stallscope", "victims/file"),
    ];
    for (number, (link, target)) in links.iter().enumerate() {
        let scene = Scene::new();
        let first = scene.run("--keep", "first");
        assert_eq!(first.code, Some(0), "{}", first.stderr);
        let data = scene.data();
        // Root's own directory: what is not as the fill made it is removed.
        replace(&data.join(link), &scene.path(target));
        fs::remove_file(data.join("set/0000/001")).ok();
        let second = scene.run("", "second");
        scene.is_untouched(&format!("link {number}, of root"));
        assert!(matches!(second.code, Some(0 | 2 | 3)), "{}", second.stderr);
        // Another user's, with a marker of ours: refused, and left.
        let _ = fs::remove_file(data.join(link));
        fs::create_dir_all(data.join("set/0000")).ok();
        fs::write(data.join(".stallscope"), first_marker()).ok();
        replace(&data.join(link), &scene.path(target));
        lchown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
        let third = scene.run("", "third");
        scene.is_untouched(&format!("link {number}, of another user"));
        assert!(matches!(third.code, Some(2 | 3)), "{}", third.stderr);
        assert!(third.error().contains("belongs to user 65534"), "{}", third.error());
        assert!(data.join(link).is_symlink() && !scene.path("third").exists(), "link {number}");
    }
}

fn first_marker() -> String {
    r#"{"format":1,"recipe":"victim","seed":1,"state":"complete","file_sets":[{"name":"set","files":4,"size_bytes":65536}]}"#
        .to_owned()
}

/// The owner of the directory above may rename what is in it.
#[test]
fn a_data_directory_that_is_replaced_during_a_run_stays_the_one_that_was_checked() {
    if !is_root("directories of another user") {
        return;
    }
    let scene = Scene::new();
    fs::write(&scene.recipe, RECIPE.replace("\"1s\"", "\"3s\"")).unwrap();
    let (recipe, theirs) = (scene.recipe.display(), scene.path("theirs"));
    let words = format!("run {recipe} -q --no-trace --out {} {}", scene.path("run").display(), theirs.display());
    let mut running = crate::stage::Running::start(&words);
    let marker = scene.data().join(".stallscope");
    running
        .wait_until("the set is filled", |_| fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete")));
    fs::rename(scene.data(), theirs.join("moved")).unwrap();
    fs::create_dir_all(scene.path("victims/set")).unwrap();
    fs::rename(scene.path("victims/0000"), scene.path("victims/set/0000")).unwrap();
    symlink(scene.path("victims"), scene.data()).unwrap();
    let ended = running.wait();
    println!("{:?}\n{}", ended.code, ended.stderr);
    fs::rename(scene.path("victims/set/0000"), scene.path("victims/0000")).unwrap();
    scene.is_untouched("replaced");
    assert!(theirs.join("moved/set/0000/000").exists(), "what was moved away is not removed");
}
