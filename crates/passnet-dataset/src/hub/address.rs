//! Addresses of datasets on a hub, and the token that permits uploads.

use std::fmt;

use super::error::HubError;

/// A dataset repository on a hub, and a folder in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAddress {
    /// `OWNER/NAME`.
    pub repository: String,
    /// Folder of the dataset in the repository; empty for the root.
    pub folder: String,
}

impl HubAddress {
    /// Reads `hf://datasets/OWNER/NAME[/FOLDER]`.
    ///
    /// # Errors
    /// If it is not such an address, or a part contains characters that names on a hub cannot have.
    pub fn parse(text: &str) -> Result<Self, HubError> {
        let error = || HubError::Address(text.to_owned());
        let rest = text.strip_prefix("hf://datasets/").ok_or_else(error)?;
        let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
        let is_name = |part: &&str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            // The parts become paths of requests, so no part may be `..`.
            !part.is_empty() && !part.starts_with(['.', '-']) && part.chars().all(is_letter)
        };
        match parts.as_slice() {
            [owner, name, folder @ ..] if parts.iter().all(is_name) => {
                Ok(Self { repository: format!("{owner}/{name}"), folder: folder.join("/") })
            }
            _ => Err(error()),
        }
    }

    /// Returns the path in the repository for a file of the dataset.
    pub(super) fn place(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://datasets/{}", self.place_in(&self.repository))
    }
}

impl HubAddress {
    fn place_in(&self, repository: &str) -> String {
        if self.folder.is_empty() { repository.to_owned() } else { format!("{repository}/{}", self.folder) }
    }
}

/// A hub, and a token that permits writing to it.
#[derive(Clone)]
pub struct Hub {
    /// Address without a `/` at the end.
    endpoint: String,
    token: String,
}

impl Hub {
    /// Address of the public hub.
    pub const PUBLIC: &str = "https://huggingface.co";

    /// Returns the hub at an address. The token is sent to no other host.
    ///
    /// # Errors
    /// If the token is empty, or if the address is not encrypted and not on this machine.
    pub fn new(endpoint: &str, token: &str) -> Result<Self, HubError> {
        let (endpoint, token) = (endpoint.trim_end_matches('/'), token.trim());
        let local = ["127.0.0.1", "localhost", "[::1]"];
        let is_local = endpoint.strip_prefix("http://").is_some_and(|rest| {
            local.iter().any(|host| rest.strip_prefix(host).is_some_and(|end| end.is_empty() || end.starts_with(':')))
        });
        if !is_local && !endpoint.starts_with("https://") {
            return Err(HubError::Insecure(endpoint.to_owned()));
        }
        if token.is_empty() {
            return Err(HubError::NoToken);
        }
        Ok(Self { endpoint: endpoint.to_owned(), token: token.to_owned() })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint)
    }

    /// Returns the value of the authorization header for a request to the hub; `None` for other hosts, such as the storage of
    /// large files.
    pub(super) fn authorization(&self, url: &str) -> Option<String> {
        let path = url.strip_prefix(&self.endpoint)?;
        // `https://hub.example.evil` begins with `https://hub.example`, but is another host.
        (path.is_empty() || path.starts_with('/')).then(|| format!("Bearer {}", self.token))
    }

    /// Removes the token from a message.
    pub(super) fn redacted(&self, message: &str) -> String {
        message.replace(&self.token, "***")
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_repository_and_a_folder() {
        let address = HubAddress::parse("hf://datasets/me/my-graphs_1.0/suites/f/").unwrap();
        assert_eq!((address.repository.as_str(), address.folder.as_str()), ("me/my-graphs_1.0", "suites/f"));
        assert_eq!(address.to_string(), "hf://datasets/me/my-graphs_1.0/suites/f");
        assert_eq!(HubAddress::parse("hf://datasets/me/g").unwrap().place("README.md"), "README.md");
        for text in [
            "",
            "me/g",
            "hf://me/g",
            "hf://datasets/me",
            "hf://datasets/me/../x",
            "hf://datasets/me/a b",
            "hf://datasets//g",
        ] {
            assert!(HubAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_goes_to_its_hub_only_and_is_not_shown() {
        let hub = Hub::new("https://hub.example/", " secret\n").unwrap();
        assert_eq!(hub.authorization("https://hub.example/api/x").unwrap(), "Bearer secret");
        for url in ["https://storage.example/api", "https://hub.example.other/api", "http://hub.example/api"] {
            assert_eq!(hub.authorization(url), None, "{url}");
        }
        assert!(!format!("{hub:?}").contains("secret"));
        assert_eq!(hub.redacted("bad token secret"), "bad token ***");
        for endpoint in ["http://hub.example", "http://localhost.example:80", "ftp://x"] {
            assert!(matches!(Hub::new(endpoint, "t"), Err(HubError::Insecure(_))), "{endpoint}");
        }
        assert!(Hub::new("http://127.0.0.1:80", "t").is_ok());
        assert!(matches!(Hub::new(Hub::PUBLIC, " "), Err(HubError::NoToken)));
    }
}
