//! The families of this program.

mod answers;
mod common;
mod traffic;

use super::family::Families;

/// The families of this program, in the order in which they are listed.
pub const FAMILIES: Families = Families(&[answers::FAMILY, common::FAMILY, traffic::FAMILY]);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_the_answers_family_stays_small() {
        let tools = FAMILIES.tools();
        let selected = tools.filter(|(_, tool)| tool.groups.contains(&"answers"));
        let listed: Vec<_> = selected.map(|(_, tool)| tool.listed(true)).collect();
        let bytes = serde_json::to_vec(&listed).unwrap().len();
        assert!(bytes < 8 << 10, "{bytes} bytes");
    }

    #[test]
    fn names_differ_and_are_short() {
        let names: Vec<_> = FAMILIES.tools().map(|(_, tool)| tool.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() <= 32);
            assert_eq!(names.iter().position(|other| other == name), Some(index));
        }
    }

    #[test]
    fn a_tool_that_spends_says_how_much_and_no_other_does() {
        for (_, tool) in FAMILIES.tools() {
            assert_eq!(tool.flags.spends, tool.spending.is_some(), "{}", tool.name);
            if let Some(spending) = tool.spending {
                let has = tool
                    .params
                    .iter()
                    .any(|param| param.name == spending.subject);
                assert!(has, "{}", tool.name);
            }
        }
    }
}
