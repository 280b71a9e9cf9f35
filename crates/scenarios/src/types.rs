//! Object types: those the objects and the keys of a scenario name, and the folder. Their own keys are made up, and
//! stay outside the catalog.

use crate::{facts::Writer, file::Scenario, refused::Problem};
use charter_events::{
    InvalidName, Namespace, ObjectType, ObjectTypeDefinition, ObjectTypesRegistered,
    names::{ANY_TYPE, CORE},
};
use std::collections::BTreeSet;

/// The namespace all types of a scenario but the folder are registered under.
const TYPES: &str = "scenario";

impl Writer {
    pub(crate) fn object_types(&mut self, scenario: &Scenario) -> Result<(), Problem> {
        let named = scenario.objects.iter().map(|entry| &entry.object_type);
        let types: BTreeSet<ObjectType> = named
            .chain(self.keys.values().flatten())
            .filter(|object_type| !object_type.is_folder() && object_type.as_str() != ANY_TYPE)
            .cloned()
            .collect();
        let refused = |error: InvalidName| Problem::item("objects", 0, error.to_string());
        let folder = definition(CORE, &ObjectType::folder()).map_err(refused)?;
        self.push(ObjectTypesRegistered { namespace: Namespace::core(), types: vec![folder] });
        let types: Vec<_> = types
            .iter()
            .map(|object_type| definition(TYPES, object_type))
            .collect::<Result<_, _>>()
            .map_err(refused)?;
        if !types.is_empty() {
            self.push(ObjectTypesRegistered { namespace: TYPES.parse().map_err(refused)?, types });
        }
        Ok(())
    }
}

fn definition(namespace: &str, name: &ObjectType) -> Result<ObjectTypeDefinition, InvalidName> {
    let key = |action: &str| format!("{namespace}.{name}.{action}").parse();
    Ok(ObjectTypeDefinition {
        name: name.clone(),
        read: key("read")?,
        create: key("create")?,
        manage: key("manage")?,
        aliases: Vec::new(),
    })
}
