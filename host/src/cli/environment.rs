//! Variables of others that are set but empty. They count as not set, but the libraries that read them disagree.

/// Variables that a library takes at their word when they are empty: it then looks for certificates nowhere.
#[cfg(unix)]
const EMPTY_IS_NOT_SET: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Starts the program anew in this process without such variables, if there are any: a process cannot safely change its
/// own. Returns where there is nothing to do, or it cannot be done.
#[cfg(unix)]
pub fn without_empty_variables() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let is_empty = |name: &&str| env::var_os(name).is_some_and(|value| value.is_empty());
    let empty: Vec<&str> = EMPTY_IS_NOT_SET.into_iter().filter(is_empty).collect();
    if empty.is_empty() {
        return;
    }
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut arguments = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    again.args(arguments);
    for name in &empty {
        again.env_remove(name);
    }
    let error = again.exec();
    tracing::warn!(%error, "{} is empty and cannot be ignored", empty.join(" and "));
}

/// Does nothing where certificates come from the system alone.
#[cfg(not(unix))]
pub const fn without_empty_variables() {}
