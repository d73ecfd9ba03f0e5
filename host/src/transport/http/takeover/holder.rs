//! Which process listens on a port, where the system tells.

/// Returns ` by NAME (process ID)` for the process that listens on a port, for a message; `None` where the system does
/// not tell.
#[cfg(target_os = "linux")]
pub fn of_port(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .find_map(|table| listening_inode(&table, port))?;
    let wanted = format!("socket:[{inode}]");
    let processes = std::fs::read_dir("/proc").ok()?;
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| has_handle(*id, &wanted)).find_map(|id| {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
        // A process gives itself its name.
        let name: String = name
            .trim()
            .chars()
            .filter(|char| !char.is_control())
            .collect();
        Some(format!(" by {name} (process {id})"))
    })
}

/// Returns ` by NAME (process ID)` for the process that listens on a port; here the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn of_port(_port: u16) -> Option<String> {
    None
}

/// Returns the inode of the socket that listens on a port, from a table of the kernel.
#[cfg(target_os = "linux")]
fn listening_inode(table: &str, port: u16) -> Option<u64> {
    /// The state of a socket that listens.
    const LISTENING: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let listens = *fields.get(3)? == LISTENING;
        let same = u16::from_str_radix(local_port, 16).ok()? == port;
        (listens && same).then(|| fields.get(9)?.parse().ok())?
    })
}

#[cfg(target_os = "linux")]
fn has_handle(process: u32, wanted: &str) -> bool {
    let handles = std::fs::read_dir(format!("/proc/{process}/fd"));
    let mut handles = handles.into_iter().flatten().flatten();
    handles.any(|handle| {
        let target = std::fs::read_link(handle.path());
        target.is_ok_and(|target| target.to_str() == Some(wanted))
    })
}
