//! Signed results of submissions, which any reader can verify.

use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use fs_err as fs;
use passnet_record::{ResultStatement, SignedResult};

use crate::BoardError;

/// Error of verifying a signed result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The key or signature is malformed.
    #[error("the {0} is not an Ed25519 key or signature in hexadecimal")]
    Malformed(&'static str),
    /// The result was signed with another key than expected.
    #[error("it was signed with key {found}, not with {expected}")]
    OtherKey {
        /// Key of the result.
        found: String,
        /// The expected key.
        expected: String,
    },
    /// The statement does not match the signature.
    #[error("the signature does not fit the statement, so the result was changed")]
    Changed,
    /// The signed text is not a statement.
    #[error("the signed text is not a statement: {0}")]
    Statement(String),
}

/// Signs a statement.
///
/// # Errors
/// If the statement cannot be written as JSON.
pub(crate) fn sign(statement: &ResultStatement, key: &SigningKey) -> Result<SignedResult, serde_json::Error> {
    let text = serde_json::to_string(statement)?;
    Ok(SignedResult {
        signature: hex(&key.sign(text.as_bytes()).to_bytes()),
        key: hex(key.verifying_key().as_bytes()),
        statement: text,
    })
}

/// Checks the signature and returns the statement. Without an expected key, this proves only that the text was not changed after
/// it was signed with the key in the result.
///
/// # Errors
/// For the first check that fails.
pub fn verify(result: &SignedResult, expected: Option<&str>) -> Result<ResultStatement, SignatureError> {
    if let Some(expected) = expected.filter(|expected| !expected.eq_ignore_ascii_case(&result.key)) {
        return Err(SignatureError::OtherKey { found: result.key.clone(), expected: expected.to_owned() });
    }
    let key = from_hex::<32>(&result.key).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    let key = key.ok_or(SignatureError::Malformed("key"))?;
    let signature = from_hex::<64>(&result.signature).ok_or(SignatureError::Malformed("signature"))?;
    // `verify_strict` also refuses weak keys, for which one signature fits many statements.
    key.verify_strict(result.statement.as_bytes(), &Signature::from_bytes(&signature))
        .map_err(|_| SignatureError::Changed)?;
    serde_json::from_str(&result.statement).map_err(|error| SignatureError::Statement(error.to_string()))
}

/// Reads the key of a board, or creates one. The file holds the 32 secret bytes in hexadecimal and is private.
///
/// # Errors
/// If the file cannot be read or written, or is not a key.
pub(crate) fn key_of(path: &Path) -> Result<SigningKey, BoardError> {
    if !path.exists() {
        let mut secret = [0; 32];
        std::io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut secret)?;
        // The mode is set at creation, so that other users can never read the secret. `create_new` never replaces a key.
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(hex(&secret).as_bytes())?;
        file.sync_all()?;
    }
    let secret = from_hex::<32>(fs::read_to_string(path)?.trim());
    let secret = secret.ok_or_else(|| BoardError::Altered {
        path: path.to_owned(),
        message: "not a key of 64 hexadecimal digits".to_owned(),
    })?;
    Ok(SigningKey::from_bytes(&secret))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use passnet_record::{AuthorSpec, ContentId, RunMetadata};

    use super::*;

    fn signed() -> SignedResult {
        let statement = ResultStatement {
            schema_version: passnet_record::RESULT_VERSION,
            bundle: ContentId::of(b"bundle"),
            run: "run".to_owned(),
            author: AuthorSpec::new("dir", Some("passes".to_owned())),
            metadata: RunMetadata::default(),
            suite: "hidden".to_owned(),
            suite_version: "1".to_owned(),
            device: "Example CPU".to_owned(),
            graphs: 2,
            correct: 1,
            sound: Some(0.9),
            interval: None,
            aggregated: 0.8,
            log: ContentId::of(b"log"),
            at: "2026-01-01T00:00:00Z".to_owned(),
        };
        sign(&statement, &SigningKey::from_bytes(&[7; 32])).unwrap()
    }

    #[test]
    fn a_result_is_verified_and_any_change_is_noticed() {
        let result = signed();
        let statement = verify(&result, None).unwrap();
        assert_eq!((statement.graphs, statement.sound), (2, Some(0.9)));
        assert_eq!(verify(&result, Some(&result.key.to_uppercase())).unwrap(), statement);
        let better = SignedResult { statement: result.statement.replace("0.9", "9.0"), ..result.clone() };
        assert_eq!(verify(&better, None), Err(SignatureError::Changed));
        let other = SigningKey::from_bytes(&[8; 32]);
        let forged = sign(&statement, &other).unwrap();
        assert!(verify(&forged, None).is_ok());
        assert!(matches!(verify(&forged, Some(&result.key)), Err(SignatureError::OtherKey { .. })));
        for (key, what) in [("", "key"), ("é", "key"), (&"g".repeat(64), "key")] {
            let spoilt = SignedResult { key: key.to_owned(), ..result.clone() };
            assert_eq!(verify(&spoilt, None), Err(SignatureError::Malformed(what)));
        }
        let cut = SignedResult { signature: result.signature[..126].to_owned(), ..result };
        assert_eq!(verify(&cut, None), Err(SignatureError::Malformed("signature")));
    }

    #[test]
    fn a_key_is_made_once_and_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = key_of(&path).unwrap();
        assert_eq!(key_of(&path).unwrap().to_bytes(), key.to_bytes());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "rubbish").unwrap();
        assert!(matches!(key_of(&path), Err(BoardError::Altered { .. })));
    }
}
