//! The modules of one crate do not import from each other in large circles: a part can be read, tested and moved only
//! together with everything that is in a circle with it.

use std::collections::{BTreeMap, BTreeSet};

use super::{is_test_file, sources, without_tests};

/// Most files of an import circle: each of them imports from the next one, directly or through others.
const CIRCLE_FILES_MAX: usize = 4;

/// How many re-exports of re-exports are followed; two that name each other would have no end.
const REEXPORTS_MAX: usize = 8;

/// A module: the names of the modules around it, from the crate's root, and its own.
type Module = Vec<String>;

/// A crate's modules that are files, and what each of them re-exports from which path.
struct Modules {
    code: BTreeMap<Module, String>,
    reexports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

/// The module that a file below a crate's `src` folder is.
fn module_of(file: &str) -> Module {
    let path = file.strip_suffix(".rs").unwrap();
    let path = path.strip_suffix("/mod").unwrap_or(path);
    match path {
        "lib" | "main" | "mod" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn name_of(module: &Module) -> String {
    if module.is_empty() {
        "the root".to_owned()
    } else {
        module.join("::")
    }
}

/// A file's code without its unit tests, comments and the insides of strings.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    for line in without_tests(text).lines() {
        let line = line.split("//").next().unwrap();
        // Where a name may be used is no import.
        let scope = line
            .split_once("pub(in ")
            .and_then(|(_, rest)| rest.split_once(')'));
        let line = scope.map_or(line, |(_, rest)| rest);
        let outside = line.split('"').step_by(2);
        code.extend(outside.flat_map(|part| [part, " "]));
        code.push('\n');
    }
    code
}

fn is_name(of: char) -> bool {
    of.is_alphanumeric() || of == '_'
}

/// Adds every path of a `use` tree, such as `a::{b, c::{self, d as e}}`, with the name that it gets.
fn expand(tree: &str, before: &[String], paths: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if let Some((start, rest)) = tree
        .split_once("::{")
        .filter(|(start, _)| !start.contains('{'))
    {
        let mut path = before.to_vec();
        path.extend(start.split("::").map(|name| name.trim().to_owned()));
        let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
        let (mut depth, mut from) = (0, 0);
        for (at, of) in inner.char_indices() {
            match of {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&inner[from..at], &path, paths);
                    from = at + 1;
                }
                _ => {}
            }
        }
        return expand(&inner[from..], &path, paths);
    }
    if tree.is_empty() {
        return;
    }
    let (target, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let mut path = before.to_vec();
    path.extend(target.split("::").map(|name| name.trim().to_owned()));
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    let name = if alias.is_empty() {
        path.last().unwrap().clone()
    } else {
        alias.trim().to_owned()
    };
    paths.push((path, name));
}

/// The `use` items of a file's code: whether it is public, and its tree; and the code without them.
fn uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let item = line.trim_start();
        let public =
            item.starts_with("pub use ") || (item.starts_with("pub(") && item.contains(") use "));
        if !public && !item.starts_with("use ") {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        let mut tree = item.split_once("use ").unwrap().1.to_owned();
        while !tree.contains(';') {
            tree.push_str(lines.next().expect("a use item ends"));
        }
        found.push((public, tree.split(';').next().unwrap().to_owned()));
    }
    (found, rest)
}

impl Modules {
    /// The modules below a folder, which ends with `src/`.
    fn below(folder: &str, files: &BTreeMap<String, String>) -> Self {
        let mut modules = Self {
            code: BTreeMap::new(),
            reexports: BTreeMap::new(),
        };
        for (path, text) in files {
            let Some(file) = path.strip_prefix(folder) else {
                continue;
            };
            if !is_test_file(path) {
                // A program's `main.rs` next to a `lib.rs` adds to the same root.
                let code = modules.code.entry(module_of(file)).or_default();
                code.push_str(&code_of(text));
            }
        }
        // A module that is written inside its parent's file has only files below it.
        for module in modules.code.keys().cloned().collect::<Vec<_>>() {
            for end in 1..module.len() {
                modules.code.entry(module[..end].to_vec()).or_default();
            }
        }
        for (module, code) in &modules.code {
            let mut names = BTreeMap::new();
            for (public, tree) in uses(code).0 {
                let mut paths = Vec::new();
                expand(&tree, &[], &mut paths);
                let paths = paths.into_iter().filter(|_| public);
                names.extend(paths.map(|(path, name)| (name, path)));
            }
            modules.reexports.insert(module.clone(), names);
        }
        modules
    }

    /// The module in which a path that `from` names is defined; `None` outside the crate.
    fn find(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let mut at = from.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => _ = at.pop(),
            child => {
                at.push(child.to_owned());
                if !self.code.contains_key(&at) {
                    return None;
                }
            }
        }
        for (index, name) in rest.iter().enumerate() {
            if name == "super" {
                at.pop();
                continue;
            }
            at.push(name.clone());
            if self.code.contains_key(&at) {
                continue;
            }
            at.pop();
            let reexported = self.reexports.get(&at).and_then(|names| names.get(name));
            return match reexported.filter(|_| depth < REEXPORTS_MAX) {
                Some(target) => {
                    let target = [target, &rest[index + 1..]].concat();
                    self.find(&at, &target, depth + 1)
                }
                None => Some(at),
            };
        }
        Some(at)
    }

    /// The other modules that a module imports from.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let (uses, rest) = uses(&self.code[module]);
        let mut paths = Vec::new();
        for (public, tree) in uses {
            let mut of_tree = Vec::new();
            expand(&tree, &[], &mut of_tree);
            // What is only re-exported is not used here.
            let is_used = |name: &str| rest.split(|of: char| !is_name(of)).any(|word| word == name);
            of_tree.retain(|(_, name)| !public || is_used(name));
            paths.extend(of_tree.into_iter().map(|(path, _)| path));
        }
        for path in rest.split(|of: char| !is_name(of) && of != ':') {
            if path.contains("::") {
                let names = path.split("::").filter(|name| !name.is_empty());
                paths.push(names.map(str::to_owned).collect());
            }
        }
        let found = paths.iter().filter_map(|path| self.find(module, path, 0));
        found.filter(|found| found != module).collect()
    }

    /// The modules that are reached from one by imports.
    fn reached(arrows: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Module> = arrows[from].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module.clone()) {
                next.extend(&arrows[module]);
            }
        }
        reached
    }

    /// The circles: modules that import from each other, directly or through others.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let imports = self.code.keys().map(|of| (of.clone(), self.imports(of)));
        let arrows: BTreeMap<_, _> = imports.collect();
        let reached = arrows.keys().map(|of| (of, Self::reached(&arrows, of)));
        let reached: BTreeMap<_, _> = reached.collect();
        let mut circles = BTreeSet::new();
        for (module, from_it) in &reached {
            let back = from_it
                .iter()
                .filter(|other| reached[other].contains(*module));
            let circle: Vec<String> = back.map(name_of).collect();
            if !circle.is_empty() {
                circles.insert(circle);
            }
        }
        circles
    }
}

#[test]
fn modules_form_no_large_circles() {
    let files = sources(&[".rs"]);
    let roots = files
        .keys()
        .filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
    let folders: BTreeSet<&str> = roots
        .filter_map(|path| path.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    for folder in folders {
        let circles = Modules::below(&format!("{folder}/"), &files).circles();
        let largest = circles.into_iter().max_by_key(Vec::len).unwrap_or_default();
        let size = largest.len();
        assert!(
            size <= CIRCLE_FILES_MAX,
            "{folder}: {size} modules import from each other in a circle: {largest:?}. \
             Move what they share to a module that imports none of them"
        );
    }
}
