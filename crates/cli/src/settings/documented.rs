//! The table of options in `docs/configuration.md`: made of the options themselves, so that it can't fall behind.

use super::options::options;

const BEGINS: &str = "<!-- options: begin -->\n";
const ENDS: &str = "<!-- options: end -->\n";

fn table() -> String {
    let mut text = "| key | flag and variable | what it sets | default |\n|---|---|---|---|\n".to_owned();
    for option in options() {
        let names = format!("`{}`<br>`{}`", option.flag(), option.variable());
        let kind = match (option.is_switch(), option.is_list(), option.is_secret()) {
            (true, ..) => " `true` or `false`.",
            (_, true, _) => " A list.",
            (.., true) => " May hold a secret.",
            _ => "",
        };
        let default = option.default().map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"));
        text += &format!("| `{}` | {names} | {}.{kind} | {default} |\n", option.key(), option.help());
    }
    text
}

#[test]
fn the_documented_options_are_those_of_the_command_line() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGINS).unwrap();
    let (_, after) = rest.split_once(ENDS).unwrap();
    let right = format!("{before}{BEGINS}\n{}\n{ENDS}{after}", table());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, right).unwrap();
    } else {
        assert_eq!(page, right, "BLESS=1 writes it again");
    }
}
