//! The service as a whole: what it listens at, its privileges, its threads, its end.

use crate::ServeError;
use crate::activation;
use crate::calls::{Calls, Share};
use crate::config::Config;
use crate::connections::incoming;
use crate::eclat_service::EclatService;
use crate::limits::{ASIDE, FETCH, IN_FLIGHT, MAX_ANSWER, MAX_CALL, PARTING, PING, PONG, STREAMS};
use crate::privileges;
use crate::proto::DESCRIBED;
use crate::proto::eclat::eclat_server::EclatServer;
use crate::proto::v1::moonhook_server::MoonhookServer;
use crate::scripts::Scripts;
use crate::service::Service;
use crate::token::{Token, Tokens};
use moonhook_session::threads;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::Router;
use tonic::transport::{Identity, Server, ServerTlsConfig};

/// How long a wish to end can go unnoticed.
const NAP: Duration = Duration::from_millis(50);

/// Threads of the service; what may wait for the kernel, and the scripts, have others.
const THREADS: usize = 2;

/// What the process has while it still has one thread: a socket, the keys, no more privileges than it needs.
pub struct Bound {
    listener: TcpListener,
    tls: Option<Identity>,
}

impl Bound {
    /// Listens, and drops privileges. To be called while the process has one thread: others would keep theirs.
    ///
    /// # Errors
    /// `Activation`, `Listen`, `Exposed`, `Tls`, `Privileges`.
    pub fn new(config: &Config) -> Result<Bound, ServeError> {
        let listener = match activation::given()? {
            Some(listener) => listener,
            None => activation::listen(config.listen)?,
        };
        let address = listener.local_addr().map_err(|error| failed(config, &error))?;
        if !address.ip().is_loopback() && config.token.is_none() {
            return Err(ServeError::Exposed { address: address.to_string() });
        }
        listener.set_nonblocking(true).map_err(|error| failed(config, &error))?;
        let tls = config.tls.as_ref().map(|(certificate, key)| identity(certificate, key)).transpose()?;
        if !config.keep_privileges {
            privileges::drop_others(config.enter_netns)?;
        }
        Ok(Bound { listener, tls })
    }

    /// Serves until `stop` is set or a client says so. Then nothing is attached but what is pinned.
    ///
    /// # Errors
    /// What keeps it from serving; scripts that are refused are named in the log.
    pub fn serve(self, config: Config, stop: &Arc<AtomicBool>) -> Result<(), ServeError> {
        let Bound { listener, tls } = self;
        let config = Arc::new(config);
        let scripts = Scripts::new(Arc::clone(&config))?;
        let runtime = runtime().map_err(|error| failed(&config, &error))?;
        if let Ok(address) = listener.local_addr() {
            config.log.line(&format!("listening at {address}"));
        }
        let served = runtime.block_on(run(scripts.clone(), listener, tls, stop));
        // What clients still wait for comes to nothing.
        runtime.shutdown_timeout(PARTING);
        scripts.end_all();
        served
    }
}

/// The service's threads, and those of what is done aside, which parses scripts: these can nest.
fn runtime() -> std::io::Result<Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(THREADS).max_blocking_threads(ASIDE);
    runtime.thread_stack_size(threads::STACK).enable_all().build()
}

fn failed(config: &Config, problem: &dyn std::fmt::Display) -> ServeError {
    ServeError::Listen { address: config.listen.to_string(), problem: problem.to_string() }
}

fn identity(certificate: &Path, key: &Path) -> Result<Identity, ServeError> {
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| ServeError::Tls { path: path.to_path_buf(), problem: error.to_string() })
    };
    Ok(Identity::from_pem(read(certificate)?, read(key)?))
}

/// Serves until the end is wanted, and a moment longer for what is being answered.
async fn run(
    scripts: Scripts,
    listener: TcpListener,
    tls: Option<Identity>,
    stop: &Arc<AtomicBool>,
) -> Result<(), ServeError> {
    let listener = tokio::net::TcpListener::from_std(listener);
    let listener = listener.map_err(|error| failed(scripts.config(), &error))?;
    let quit = Arc::<AtomicBool>::default();
    let router = router(&scripts, &quit, tls)?;
    let stop = Arc::clone(stop);
    let is_wanted = Arc::new(move || stop.load(Ordering::Relaxed) || quit.load(Ordering::Relaxed));
    let until = Arc::clone(&is_wanted);
    let until = async move {
        while !until() {
            tokio::time::sleep(NAP).await;
        }
    };
    let serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming(listener), until));
    let beginning = scripts.clone();
    let starting = tokio::spawn(async move { beginning.start_all().await });
    while !is_wanted() && !serving.is_finished() {
        tokio::time::sleep(NAP).await;
    }
    starting.abort();
    scripts.events().end();
    match tokio::time::timeout(PARTING, serving).await {
        Ok(Ok(Err(error))) => Err(failed(scripts.config(), &error)),
        // Who does not read its answer is cut off.
        _ => Ok(()),
    }
}

/// The services, with what clients have to bring.
fn router(scripts: &Scripts, quit: &Arc<AtomicBool>, tls: Option<Identity>) -> Result<Router, ServeError> {
    let config = scripts.config();
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PONG))
        .max_concurrent_streams(STREAMS)
        .timeout(FETCH);
    if let (Some(identity), Some((certificate, _))) = (tls, &config.tls) {
        let tls = ServerTlsConfig::new().identity(identity).timeout(PONG);
        let failed = |error: tonic::transport::Error| ServeError::Tls {
            path: certificate.clone(),
            problem: std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string),
        };
        server = server.tls_config(tls).map_err(failed)?;
    }
    let eclat = EclatService { scripts: scripts.clone(), quit: Arc::clone(quit) };
    let service = Service { scripts: scripts.clone(), started: Instant::now() };
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIBED)
        .build_v1()
        .map_err(|error| ServeError::Call { problem: error.to_string() })?;
    let older = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIBED)
        .build_v1alpha()
        .map_err(|error| ServeError::Call { problem: error.to_string() })?;
    let eclat =
        EclatServer::new(eclat).max_decoding_message_size(MAX_CALL).max_encoding_message_size(MAX_ANSWER);
    let service = MoonhookServer::new(service)
        .max_decoding_message_size(MAX_CALL)
        .max_encoding_message_size(MAX_ANSWER);
    // What has no token is not read, and keeps no connection.
    let (tokens, bytes) = (Tokens(config.token.clone().map(Token::new)), Share::of(IN_FLIGHT));
    Ok(server
        .add_service(InterceptedService::new(Calls::new(eclat, &bytes), tokens.clone()))
        .add_service(InterceptedService::new(Calls::new(service, &bytes), tokens.clone()))
        .add_service(InterceptedService::new(Calls::new(reflection, &bytes), tokens.clone()))
        .add_service(InterceptedService::new(Calls::new(older, &bytes), tokens)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    /// As a parser does it that calls itself for what is nested.
    fn nested(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 512]);
        if depth == 0 { 0 } else { nested(depth - 1) + usize::from(frame[depth % 512] == depth) }
    }

    #[test]
    fn what_is_done_aside_has_room_for_what_scripts_nest() {
        let runtime = runtime().unwrap();
        let work = runtime.spawn_blocking(|| nested(700));
        assert_eq!(runtime.block_on(work).unwrap(), 700);
        // There are turns for no more than the threads.
        let Limits { fetches, reads, parses, .. } = Limits::default();
        let turns = [fetches, reads, parses].map(|turns| turns.available_permits());
        assert!(turns.iter().sum::<usize>() <= ASIDE);
    }
}
