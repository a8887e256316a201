//! The requests that the stand-in knows.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{Answer, Request, State, Stored, TOKEN};

impl Answer {
    fn json(code: u16, body: &Value) -> Self {
        Self { code, headers: Vec::new(), body: body.to_string() }
    }

    fn error(code: u16, message: &str) -> Self {
        Self::json(code, &json!({"error": message}))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn git_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hexadecimal(&hash.finalize())
}

impl State {
    pub(super) fn answer(&mut self, request: &Request, address: &str) -> Answer {
        let path = request.path.split('?').next().unwrap();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let token = request.headers.get("authorization").map(String::as_str);
        // As the storage of a cloud does, which knows its own signatures only.
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if parts[0] == "storage" {
            return if token.is_some() {
                Answer::error(400, "two kinds of right")
            } else {
                self.put(request, &parts[1..], &body)
            };
        }
        if token != Some(&format!("Bearer {TOKEN}")) {
            return Answer::error(401, &format!("Invalid credentials: {}", token.unwrap_or_default()));
        }
        match (request.method.as_str(), parts.as_slice()) {
            // Only the official client asks it.
            ("POST", ["api", "validate-yaml"]) => Answer::json(200, &json!({"warnings": [], "errors": []})),
            ("POST", ["api", "repos", "create"]) => self.create(&body, address),
            _ if self.files.is_none() => Answer::error(404, "Repository not found"),
            ("GET", ["api", "datasets", _, _, "revision", "main"]) => Answer::json(200, &json!({"sha": "0"})),
            ("GET", ["api", "datasets", _, _, "tree", "main", folder @ ..]) => {
                self.tree(request, &folder.join("/"), address)
            }
            ("POST", ["api", "datasets", _, _, "preupload", "main"]) => self.preupload(&body),
            ("POST", ["api", "datasets", _, _, "commit", "main"]) => self.commit(&request.body, address),
            ("POST", ["datasets", _, _, "info", "lfs", "objects", "batch"]) => self.batch(&body, address),
            ("POST", ["verify"]) => self.verify(&body),
            _ => Answer::error(404, &format!("unknown: {} {path}", request.method)),
        }
    }

    fn create(&mut self, body: &Value, address: &str) -> Answer {
        assert_eq!(
            (&body["type"], &body["organization"], &body["name"]),
            (&json!("dataset"), &json!("me"), &json!("graphs"))
        );
        if self.files.is_some() {
            return Answer::error(409, "You already created this dataset repo");
        }
        self.files = Some(Default::default());
        self.is_private = body["visibility"] == "private";
        Answer::json(200, &json!({"url": format!("{address}/datasets/me/graphs")}))
    }

    /// One file in each page.
    fn tree(&self, request: &Request, folder: &str, address: &str) -> Answer {
        let begin: usize = request.path.split("cursor=").nth(1).map_or(0, |cursor| cursor.parse().unwrap());
        let files: Vec<&String> =
            self.files.iter().flatten().map(|(path, _)| path).filter(|path| path.starts_with(folder)).collect();
        if files.is_empty() && !folder.is_empty() {
            return Answer::error(404, "no such folder");
        }
        let page: Vec<Value> =
            files.iter().skip(begin).take(1).map(|path| json!({"type": "file", "path": path})).collect();
        let mut answer = Answer::json(200, &json!(page));
        if begin + 1 < files.len() {
            let path = request.path.split("&cursor").next().unwrap();
            answer.headers.push(("link".to_owned(), format!("<{address}{path}&cursor={}>; rel=\"next\"", begin + 1)));
        }
        answer
    }

    fn preupload(&self, body: &Value) -> Answer {
        let answer = |file: &Value| {
            let path = file["path"].as_str().unwrap();
            assert!(BASE64_STANDARD.decode(file["sample"].as_str().unwrap()).unwrap().len() <= 512);
            let oid = self.files.as_ref().and_then(|files| files.get(path)).map(|stored| stored.oid.clone());
            let mode = if path.ends_with(".parquet") { "lfs" } else { "regular" };
            json!({"path": path, "uploadMode": mode, "shouldIgnore": false, "oid": oid})
        };
        Answer::json(200, &json!({"files": body["files"].as_array().unwrap().iter().map(answer).collect::<Vec<_>>()}))
    }

    fn batch(&self, body: &Value, address: &str) -> Answer {
        assert_eq!((&body["operation"], &body["hash_algo"]), (&json!("upload"), &json!("sha256")));
        let answer = |object: &Value| {
            let (oid, size) = (object["oid"].as_str().unwrap(), object["size"].as_u64().unwrap());
            if self.objects.contains_key(oid) {
                return json!({"oid": oid, "size": size});
            }
            let place = format!("{address}/storage/{oid}");
            let parts = self.part_bytes.filter(|bytes| size > *bytes as u64);
            let upload = match parts {
                None => json!({"href": format!("{place}/0?signature=s")}),
                Some(bytes) => {
                    let mut header = json!({"chunk_size": bytes.to_string()});
                    for number in 1..=size.div_ceil(bytes as u64) {
                        header[format!("{number:05}")] = json!(format!("{place}/{number}?signature=s"));
                    }
                    json!({"href": format!("{address}/storage/complete"), "header": header})
                }
            };
            json!({"oid": oid, "size": size, "actions": {"upload": upload, "verify": {"href": format!("{address}/verify")}}})
        };
        Answer::json(
            200,
            &json!({"transfer": "basic", "objects": body["objects"].as_array().unwrap().iter().map(answer).collect::<Vec<_>>()}),
        )
    }

    fn put(&mut self, request: &Request, parts: &[&str], body: &Value) -> Answer {
        if parts == ["complete"] {
            return self.complete(body);
        }
        assert_eq!(request.method, "PUT");
        if request.headers.contains_key("transfer-encoding") {
            return Answer::error(501, "a transfer needs a length");
        }
        let (oid, number) = (parts[0].to_owned(), parts[1].parse().unwrap());
        if number == 0 {
            if hexadecimal(&Sha256::digest(&request.body)) != oid {
                return Answer::error(400, "checksum differs");
            }
            self.objects.insert(oid, request.body.clone());
        } else {
            self.parts.insert((oid, number), request.body.clone());
        }
        Answer { code: 200, headers: vec![("etag".to_owned(), format!("\"e{number}\""))], body: String::new() }
    }

    fn complete(&mut self, body: &Value) -> Answer {
        let oid = body["oid"].as_str().unwrap();
        let mut content = Vec::new();
        for (index, part) in body["parts"].as_array().unwrap().iter().enumerate() {
            let number = index + 1;
            assert_eq!((&part["partNumber"], &part["etag"]), (&json!(number), &json!(format!("\"e{number}\""))));
            content.extend(&self.parts[&(oid.to_owned(), number)]);
        }
        if hexadecimal(&Sha256::digest(&content)) != oid {
            return Answer::error(400, "checksum differs");
        }
        self.objects.insert(oid.to_owned(), content);
        Answer::json(200, &json!({}))
    }

    fn verify(&self, body: &Value) -> Answer {
        let stored = self.objects.get(body["oid"].as_str().unwrap());
        match stored.filter(|content| json!(content.len()) == body["size"]) {
            Some(_) => Answer::json(200, &json!({})),
            None => Answer::error(404, "no such object"),
        }
    }

    fn commit(&mut self, body: &[u8], address: &str) -> Answer {
        let lines: Vec<Value> = body
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(lines[0]["key"], "header");
        let mut files = self.files.clone().unwrap();
        for line in &lines[1..] {
            let (value, path) = (&line["value"], line["value"]["path"].as_str().unwrap().to_owned());
            match line["key"].as_str().unwrap() {
                "lfsFile" => {
                    let oid = value["oid"].as_str().unwrap().to_owned();
                    let Some(content) = self.objects.get(&oid).cloned() else {
                        return Answer::error(400, "no such object");
                    };
                    files.insert(path, Stored { oid, is_large: true, content });
                }
                "file" => {
                    let content = BASE64_STANDARD.decode(value["content"].as_str().unwrap()).unwrap();
                    files.insert(path, Stored { oid: git_id(&content), is_large: false, content });
                }
                "deletedFile" => drop(files.remove(&path).unwrap()),
                key => return Answer::error(400, key),
            }
        }
        self.files = Some(files);
        self.commits.push(lines[0]["value"]["summary"].as_str().unwrap().to_owned());
        let number = self.commits.len();
        Answer::json(
            200,
            &json!({"commitUrl": format!("{address}/datasets/me/graphs/commit/{number}"), "commitOid": number.to_string()}),
        )
    }
}
