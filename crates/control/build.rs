//! Gives the fold a name: a hash over the sources that decide what events become. Two builds of one version whose fold
//! differs then don't read each other's snapshots. It need not be cryptographic: nobody is kept out by it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What decides how an event is read and what it changes.
const SOURCES: [&str; 2] = ["../../projections/policy/src", "../events/src"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.to_string_lossy().into_owned();
        for byte in name.into_bytes().into_iter().chain(fs::read(&file)?) {
            // FNV-1a.
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=CHARTER_FOLD={hash:016x}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
