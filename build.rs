//! Build script: recompiles the crate when the console was built again, since its file names change.

fn main() {
    println!("cargo::rerun-if-changed=dashboards/console/dist");
}
