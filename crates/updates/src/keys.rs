//! Ed25519 keys (RFC 8032) and their files: PEM as OpenSSL and others have it (RFC 8410).

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// So many bytes of a public key say which one it is.
pub const SENDER: usize = 8;

/// What signs updates.
#[derive(Clone, Debug)]
pub struct SecretKey(SigningKey);

/// What tells whose updates are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("not a public key of Ed25519 in PEM (`-----BEGIN PUBLIC KEY-----`)")]
    Public,
    #[error("not a secret key of Ed25519 in PEM (`-----BEGIN PRIVATE KEY-----`)")]
    Secret,
    #[error("no key that a signature could be made for: it is of low order")]
    Weak,
    #[error("the system gives no random bytes: {0}")]
    Random(String),
}

impl SecretKey {
    /// # Errors
    /// `Random`.
    pub fn new() -> Result<SecretKey, KeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| KeyError::Random(error.to_string()))?;
        Ok(SecretKey::of_seed(&seed))
    }

    /// The key that 32 bytes make (RFC 8032 § 5.1.5).
    pub fn of_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(seed))
    }

    /// # Errors
    /// `Secret`.
    pub fn from_pem(text: &str) -> Result<SecretKey, KeyError> {
        SigningKey::from_pkcs8_pem(text).map(SecretKey).map_err(|_| KeyError::Secret)
    }

    /// # Errors
    /// `Secret` where the key cannot be written.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        // With the public key behind it, OpenSSL 3.0 cannot read it (RFC 5958 against RFC 8410 § 7).
        let alone = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = alone.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Secret)?;
        Ok(pem.as_str().to_string())
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl PublicKey {
    /// # Errors
    /// `Public`, `Weak`.
    pub fn from_pem(text: &str) -> Result<PublicKey, KeyError> {
        let key = VerifyingKey::from_public_key_pem(text).map_err(|_| KeyError::Public)?;
        if key.is_weak() { Err(KeyError::Weak) } else { Ok(PublicKey(key)) }
    }

    /// # Errors
    /// `Public` where the key cannot be written.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Public)
    }

    /// What datagrams call the key.
    pub fn sender(&self) -> [u8; SENDER] {
        std::array::from_fn(|index| self.0.as_bytes()[index])
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Only signatures of one form count: nobody makes another one of a signature that was seen.
    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_files_of_openssl() {
        // openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout
        // The seed is that of the first test of RFC 8032 § 7.1.
        let secret = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
        let key = SecretKey::from_pem(secret).unwrap();
        let public = key.public().to_pem().unwrap();
        assert_eq!(
            public,
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
             -----END PUBLIC KEY-----\n"
        );
        assert_eq!(PublicKey::from_pem(&public).unwrap(), key.public());
        assert_eq!(key.public().sender(), [0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7]);
        assert_eq!(key.to_pem().unwrap(), secret);
        let again = SecretKey::from_pem(&key.to_pem().unwrap()).unwrap();
        assert_eq!(again.public(), key.public());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert_eq!(PublicKey::from_pem("").unwrap_err(), KeyError::Public);
        assert_eq!(SecretKey::from_pem("-----BEGIN PRIVATE KEY-----\n").unwrap_err(), KeyError::Secret);
        let new = SecretKey::new().unwrap();
        assert_eq!(SecretKey::from_pem(&new.public().to_pem().unwrap()).unwrap_err(), KeyError::Secret);
        assert_ne!(SecretKey::new().unwrap().public(), new.public());
        // The point (0, 1): any signature of its would do.
        let weak = VerifyingKey::from_bytes(&std::array::from_fn(|index| u8::from(index == 0))).unwrap();
        assert_eq!(PublicKey::from_pem(&PublicKey(weak).to_pem().unwrap()).unwrap_err(), KeyError::Weak);
    }
}
