//! Has the crate compiled again when the console was built again: its files have new names then.

fn main() {
    println!("cargo::rerun-if-changed=dashboards/console/dist");
}
