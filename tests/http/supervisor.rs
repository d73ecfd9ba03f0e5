//! The supervisor of the listener: sockets that die or hang, how often they are opened again, and when that ends.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use glovebox::jobs::clock::WallClock;
use glovebox::transport::http::gate::Host;
use glovebox::transport::http::listener::ListenAddress;
use glovebox::transport::http::supervisor::{Sockets, SupervisorError, Watch, supervise};
use glovebox::transport::http::takeover::{self, BindError, Takeover};
use glovebox::transport::http::token::TokenFile;
use glovebox::transport::http::{Config, Http};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::fixture::Fixture;
use crate::support::GENEROUS;

/// What becomes of a socket that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It serves.
    Serves,
    /// It no longer listens.
    Dies,
    /// It takes connections and nobody answers them.
    Hangs,
}

/// Opens sockets of the fates that a test wants, the last one again and again.
struct Scripted {
    port: u16,
    fates: Mutex<VecDeque<Fate>>,
    /// What nobody answers is held here until the next is opened.
    hanging: Mutex<Option<std::net::TcpListener>>,
    opened: mpsc::UnboundedSender<Fate>,
}

impl Scripted {
    async fn open(&self) -> Vec<TcpListener> {
        *self.hanging.lock().unwrap() = None;
        let fate = {
            let mut fates = self.fates.lock().unwrap();
            if fates.len() > 1 {
                fates.pop_front().unwrap()
            } else {
                fates[0]
            }
        };
        let socket = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        let _ = self.opened.send(fate);
        match fate {
            Fate::Serves => vec![socket],
            Fate::Dies => {
                socket2::SockRef::from(&socket)
                    .shutdown(Shutdown::Both)
                    .unwrap();
                vec![socket]
            }
            Fate::Hangs => {
                *self.hanging.lock().unwrap() = Some(socket.into_std().unwrap());
                Vec::new()
            }
        }
    }
}

impl Sockets for Scripted {
    fn bind(&self) -> BoxFuture<'_, Result<Vec<TcpListener>, BindError>> {
        async { Ok(self.open().await) }.boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        takeover::check(([127, 0, 0, 1], self.port).into(), None).boxed()
    }
}

fn watch() -> Watch {
    Watch {
        check_every: Duration::from_millis(50),
        failed_checks: 2,
        restart_after: Duration::from_millis(10),
        restarts: 4,
        // Longer than any of the tests but the one about it.
        healthy_after: GENEROUS,
    }
}

struct Running {
    http: Arc<Http>,
    opened: mpsc::UnboundedReceiver<Fate>,
    ended: tokio::task::JoinHandle<Result<(), SupervisorError>>,
    port: u16,
    _folder: tempfile::TempDir,
}

async fn start(fates: &[Fate], watch: Watch) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let probe = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let (sender, opened) = mpsc::unbounded_channel();
    let scripted = Scripted {
        port,
        fates: Mutex::new(fates.iter().copied().collect()),
        hanging: Mutex::default(),
        opened: sender,
    };
    let config = Config::local(TokenFile::new(folder.path().join("token")));
    let http = Http::new(
        config,
        port,
        Arc::new(Fixture::default()),
        None,
        Arc::new(WallClock),
    );
    let http = Arc::new(http);
    let serving = Arc::clone(&http);
    let ended = tokio::spawn(async move {
        let sockets = scripted.open().await;
        supervise(serving, sockets, &scripted, watch).await
    });
    Running {
        http,
        opened,
        ended,
        port,
        _folder: folder,
    }
}

impl Running {
    async fn opens(&mut self, fate: Fate) {
        let opened = tokio::time::timeout(GENEROUS, self.opened.recv()).await;
        assert_eq!(opened.expect("it is opened again"), Some(fate));
    }

    async fn serves(&self) {
        let address = ([127, 0, 0, 1], self.port).into();
        takeover::check(address, None).await.unwrap();
    }

    async fn stops(self) -> Result<(), SupervisorError> {
        tokio::time::timeout(GENEROUS, self.ended)
            .await
            .unwrap()
            .unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_dies_or_hangs_is_opened_again_and_a_stop_is_a_stop() {
    for fate in [Fate::Dies, Fate::Hangs] {
        let mut running = start(&[fate, Fate::Serves], watch()).await;
        running.opens(fate).await;
        running.opens(Fate::Serves).await;
        running.serves().await;
        running.http.stopping().cancel();
        assert!(running.stops().await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_four_restarts_in_a_row_it_is_given_up() {
    let mut running = start(&[Fate::Dies], watch()).await;
    for _ in 0..5 {
        running.opens(Fate::Dies).await;
    }
    let stopping = running.http.stopping();
    let error = running.stops().await.unwrap_err();
    assert!(matches!(error, SupervisorError::TooOften(5, _)), "{error}");
    assert!(error.to_string().contains("5 times"), "{error}");
    // What it served comes to its end as at any other stop.
    assert!(stopping.is_cancelled());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_while_begins_the_count_anew() {
    use Fate::{Hangs, Serves};
    // A socket that hangs is found out by a check that waits for longer than this.
    let watch = Watch {
        healthy_after: Duration::from_millis(50),
        failed_checks: 1,
        ..watch()
    };
    let mut running = start(&[Hangs, Hangs, Hangs, Hangs, Hangs, Hangs, Serves], watch).await;
    for _ in 0..6 {
        running.opens(Hangs).await;
    }
    running.opens(Serves).await;
    running.serves().await;
    running.http.stopping().cancel();
    assert!(running.stops().await.is_ok());
}

/// Opens the socket of an address as `glovebox serve` does.
struct Bound {
    listen: ListenAddress,
    token: TokenFile,
}

impl Sockets for Bound {
    fn bind(&self) -> BoxFuture<'_, Result<Vec<TcpListener>, BindError>> {
        async {
            let takeover = Takeover {
                listen: &self.listen,
                token: &self.token,
                tls: None,
                clock: &WallClock,
            };
            takeover::bind(&takeover).await
        }
        .boxed()
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        async { Ok(()) }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_a_stranger_took_is_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = stranger.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = stranger.accept().await {
            drop(stream)
        }
    });
    let token = TokenFile::new(folder.path().join("token"));
    token.read_or_make().unwrap();
    let bound = Bound {
        listen: ListenAddress {
            host: Host::parse("127.0.0.1").unwrap(),
            port,
        },
        token,
    };
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap();
    socket2::SockRef::from(&dead)
        .shutdown(Shutdown::Both)
        .unwrap();
    let config = Config::local(TokenFile::new(folder.path().join("token")));
    let http = Arc::new(Http::new(
        config,
        port,
        Arc::new(Fixture::default()),
        None,
        Arc::new(WallClock),
    ));
    let error = supervise(http, vec![dead], &bound, watch())
        .await
        .unwrap_err();
    assert!(
        matches!(error, SupervisorError::Bind(BindError::Held(_))),
        "{error}"
    );
    assert!(
        error.to_string().contains("does not answer as a glovebox"),
        "{error}"
    );
}
