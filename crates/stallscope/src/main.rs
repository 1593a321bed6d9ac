//! stallscope
fn main() {}
