//! TLS on a connection: the certificate and key of now, which may be read again while connections go on. Owns what is
//! negotiated; must not know what is said.

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    fmt,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};
use tokio_rustls::TlsAcceptor;

/// What a client may choose to speak, the better first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate and its key, from two files.
#[derive(Clone)]
pub struct Tls {
    certificate: Arc<Path>,
    key: Arc<Path>,
    now: Arc<RwLock<Arc<ServerConfig>>>,
}

/// Why two files can't be used. It names them and tells nothing that is in them.
#[derive(Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.certificate).field("key", &self.key).finish()
    }
}

impl Tls {
    /// Reads a certificate with those that lead to a known one, the server's own first, and its key; both PEM.
    ///
    /// # Errors
    /// When they can't be read, or are no certificate and its key.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let now = Arc::new(RwLock::new(read(certificate, key)?));
        Ok(Self { certificate: certificate.into(), key: key.into(), now })
    }

    /// Reads both files again, for the connections from now on.
    ///
    /// # Errors
    /// As [`Tls::from_files`]; what was read before stays.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let read = read(&self.certificate, &self.key)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let told = |path: &Path, why: &dyn fmt::Display| TlsError(format!("`{}`: {why}", path.display()));
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| told(certificate, &error))?;
    if chain.is_empty() {
        return Err(told(certificate, &"there is no PEM certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| told(key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| told(certificate, &error))?;
    let config = builder.with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.map_err(|error| {
        TlsError(format!(
            "`{}` and `{}` are no certificate and its key: {error}",
            certificate.display(),
            key.display()
        ))
    })?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
    Ok(Arc::new(config))
}
