//! Uploads through the command, to a stand-in for a hub, and the official client on the same stand-in.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

#[path = "../../../passnet-dataset/tests/hub_server/mod.rs"]
mod hub_server;

use std::process::{Command, Output};

use hub_server::{Fault, HubServer, TOKEN};

use crate::command;

fn upload(server: &HubServer, token: &str, flags: &[&str]) -> (i32, String, String) {
    let mut passnet = command(&["dataset", "upload", "suites/passbench-b", "hf://datasets/me/graphs"]);
    passnet.args(flags).env("HF_ENDPOINT", &server.endpoint).env("HF_TOKEN", token);
    texts(&passnet.output().unwrap())
}

fn texts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_suite_is_uploaded_once_and_the_token_is_not_printed() {
    let server = HubServer::start();
    let (code, out, err) = upload(&server, TOKEN, &["--dry-run"]);
    assert!(
        code == 0 && out.contains("subgraphs/part-00000.parquet\t") && out.contains("would commit 5 files"),
        "{out}{err}"
    );
    assert!(server.state().files.is_none());
    server.fail("commit", Fault::Status(503), 1);
    server.fail("PUT", Fault::Drop, 1);
    let (code, out, err) = upload(&server, TOKEN, &[]);
    assert!(code == 0 && out.contains("5 files committed ("), "{out}{err}");
    assert!(err.contains("tasks/part-00000.parquet: 0.0 MiB of"), "{err}");
    let (code, out, again) = upload(&server, TOKEN, &[]);
    assert!(code == 0 && out.starts_with("nothing to do: 5 files already there"), "{out}{again}");
    assert!(![out, err, again].iter().any(|text| text.contains(TOKEN)));

    let (code, _, err) = upload(&server, "hf_other", &[]);
    assert!(code == 1 && err.contains("(401)") && !err.contains("hf_other"), "{code}: {err}");
    let (code, _, err) = upload(&server, "", &[]);
    assert!(code == 2 && err.contains("set HF_TOKEN"), "{code}: {err}");
}

/// The official client sends the requests that the stand-in knows, so the stand-in accepts the same from both clients.
#[test]
fn the_official_client_and_this_one_make_the_same_repository() {
    let Some(python) = std::env::var_os("PASSNET_PYTHON") else {
        println!("skipped: PASSNET_PYTHON names no Python");
        return;
    };
    let server = HubServer::start();
    server.state().part_bytes = Some(50_000);
    let script = format!(
        "import sys\ntry:\n    from huggingface_hub import HfApi\nexcept ImportError:\n    sys.exit(77)\n\
         api = HfApi(endpoint={:?}, token={TOKEN:?})\n\
         api.create_repo('me/graphs', repo_type='dataset')\n\
         api.upload_folder(repo_id='me/graphs', repo_type='dataset', folder_path='suites/passbench-b')\n",
        server.endpoint
    );
    let mut official = Command::new(python);
    official.args(["-c", &script]).current_dir(crate::repository()).env("HF_HUB_DISABLE_XET", "1");
    official.env("HF_HUB_DISABLE_PROGRESS_BARS", "1").env("HF_ENDPOINT", &server.endpoint);
    let (code, out, err) = texts(&official.output().unwrap());
    if code == 77 {
        println!("skipped: huggingface_hub is not installed");
        return;
    }
    assert_eq!(code, 0, "{out}{err}\n{:?}", server.state().log);
    assert!(server.count("POST /storage/complete") > 0, "{:?}", server.state().log);
    let (code, out, err) = upload(&server, TOKEN, &[]);
    assert!(code == 0 && out.starts_with("nothing to do"), "{out}{err}");
}
