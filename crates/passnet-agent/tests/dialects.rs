//! Servers of every kind, over real HTTP.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;
mod server;

use std::{sync::atomic::AtomicBool, time::Duration};

use common::{client, client_options};
use passnet_agent::{
    Completion, LanguageModel, ModelError, Request,
    client::{ApiKey, ChatApi, ClientOptions, ModelClient, Prices},
    specs,
};
use passnet_record::agent::{Finish, Message, Reply, ToolCall};
use serde_json::{Value, json};
use server::{Answer, Server, says};

fn ask_with(client: &ModelClient, messages: &[Message]) -> Result<Completion, ModelError> {
    client.complete(&Request {
        task: "t",
        attempt: 0,
        messages,
        tools: &specs(),
        seed: 3,
        stop: &AtomicBool::new(false),
        time_left: Duration::from_secs(20),
    })
}

fn ask(client: &ModelClient) -> Result<Completion, ModelError> {
    let text = |content: &str| content.to_owned();
    ask_with(client, &[Message::System { content: text("s") }, Message::User { content: text("u") }])
}

fn answer_to(body: Value) -> Completion {
    answer_with(body, false)
}

fn answer_with(body: Value, text_tools: bool) -> Completion {
    let server = Server::start(move |_, _| Answer::Json(200, body.clone()));
    ask(&ModelClient::new(ClientOptions { text_tools, ..client_options(&server.url) })).unwrap()
}

#[test]
fn messages_are_understood_in_every_dialect() {
    let choice = |message: Value| json!({"choices": [{"message": message}]});
    let call = json!({"function": {"name": "graph_info", "arguments": {"graph": "000"}}});
    let text = "<tool_call>{\"name\": \"graph_info\", \"arguments\": {\"graph\": \"000\"}}</tool_call>";
    for message in [
        json!({"content": null, "tool_calls": [{"id": "x", "function": {"name": "graph_info", "arguments": "{\"graph\": \"000\"}"}}]}),
        json!({"content": "", "tool_calls": [call]}),
        json!({"tool_calls": call}),
        json!({"content": [], "function_call": {"name": "graph_info", "arguments": "{\"graph\": \"000\"}"}}),
        json!({"content": text, "tool_calls": null}),
        json!({"content": [{"type": "text", "text": text}], "tool_calls": []}),
    ] {
        let in_text = message.to_string().contains("<tool_call>");
        let answer = answer_with(choice(message.clone()), in_text);
        let calls = &answer.reply.tool_calls;
        assert_eq!((calls.len(), &calls[0].arguments), (1, &json!({"graph": "000"})), "{message}");
        assert!(!calls[0].id.is_empty() && answer.finish == Finish::ToolCalls, "{message}");
        assert!(answer.usage.estimated && answer.usage.input > 0, "{message}");
    }
    let parallel = json!({"content": "two", "tool_calls": [call, call]});
    let answer = answer_to(choice(parallel));
    assert_ne!(answer.reply.tool_calls[0].id, answer.reply.tool_calls[1].id);
    for field in ["reasoning", "reasoning_content"] {
        let answer = answer_to(choice(json!({"content": "yes", field: "hm"})));
        assert_eq!(answer.reply.reasoning.as_deref(), Some("hm"), "{field}");
    }
    assert_eq!(answer_to(choice(json!({"content": "<think>hm</think>yes"}))).reply.content, "yes");
}

#[test]
fn calls_in_the_text_stay_text_unless_they_were_asked_for() {
    let text = "<tool_call>{\"name\": \"graph_info\", \"arguments\": {}}</tool_call>";
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    let answer = answer_with(body.clone(), false);
    assert_eq!((answer.reply.content.as_str(), answer.reply.tool_calls.len()), (text, 0));
    assert_eq!((answer.finish, answer.notes), (Finish::Stop, vec!["text_tool_call_ignored".to_owned()]));
    let answer = answer_with(body, true);
    assert_eq!((answer.reply.tool_calls.len(), answer.notes), (1, vec!["text_tool_call".to_owned()]));
}

#[test]
fn streams_are_joined_and_half_ones_asked_for_again() {
    let chunk = |delta: Value, end: Value| {
        format!("data: {}\n\n", json!({"choices": [{"delta": delta, "finish_reason": end}]}))
    };
    let server = Server::start(move |count, _| {
        let piece = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
        let begin = json!({"content": "a", "tool_calls": [{"index": 0, "id": "k", "function": {"name": "graph_info", "arguments": ""}}]});
        let half = chunk(begin, Value::Null) + &chunk(piece("{\"graph\":"), Value::Null);
        let rest = chunk(piece("\"1\"}"), json!("tool_calls")) + "data: [DONE]\n\n";
        Answer::Text(200, "content-type: text/event-stream\r\n", if count == 0 { half } else { half + &rest })
    });
    let answer = ask(&client(&server.url)).unwrap();
    assert_eq!((answer.retries, answer.reply.content.as_str()), (1, "a"));
    let expected = ToolCall { id: "k".to_owned(), name: "graph_info".to_owned(), arguments: json!({"graph": "1"}) };
    assert_eq!(answer.reply.tool_calls, [expected]);
}

#[test]
fn temporary_failures_are_retried_and_permanent_ones_reported() {
    let server = Server::start(|count, _| match count {
        0 => Answer::Text(429, "retry-after-ms: 1\r\n", "slow down".to_owned()),
        1 => Answer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\": [".to_vec()),
        2 => Answer::Text(200, "", "{\"choices\": [{\"mess".to_owned()),
        _ => says("fine", &[]),
    });
    let answer = ask(&client(&server.url)).unwrap();
    assert_eq!((answer.retries, answer.reply.content.as_str(), answer.usage.cached), (3, "fine", 60));

    for answer in [
        || Answer::Raw(b"\x00\x01garbage\r\n\r\n".to_vec()),
        || Answer::Json(200, json!({"choices": []})),
        || Answer::Json(200, json!([1, 2, 3])),
        || Answer::Json(200, json!({"choices": [{"message": "text"}]})),
        || Answer::Text(503, "", String::new()),
        || Answer::Json(200, json!({"error": {"message": "overloaded", "code": 529}})),
    ] {
        let server = Server::start(move |_, _| answer());
        let error = ask(&client(&server.url)).unwrap_err();
        assert!(matches!(error, ModelError::Exhausted { tries: 4, .. }), "{error}");
    }
    let server = Server::start(|_, _| Answer::Stall(Duration::from_secs(5)));
    let impatient = ClientOptions { timeout: Duration::from_millis(100), retries: 1, ..client_options(&server.url) };
    assert!(ask(&ModelClient::new(impatient)).unwrap_err().to_string().contains("time limit"));
    let server = Server::start(|_, _| Answer::Json(404, json!({"error": {"message": "no such model"}})));
    assert!(matches!(ask(&client(&server.url)), Err(ModelError::Refused { status: 404, .. })));
    assert_eq!(server.seen.lock().unwrap().len(), 1);
}

/// A port without a server fails after a few tries, however many retries a busy server gets. A server that answered before is
/// given all of them.
#[test]
fn a_closed_port_is_reported_as_a_missing_server() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let patient = ClientOptions { retries: 1000, ..client_options(&format!("http://{closed}/v1")) };
    let error = ask(&ModelClient::new(patient)).unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&closed.to_string()) && text.contains("connection refused"), "{text}");

    // A server that answers once and ends.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        server::answer_once(&stream, says("fine", &[]));
    });
    let client = ModelClient::new(ClientOptions { retries: 4, ..client_options(&url) });
    ask(&client).unwrap();
    server.join().unwrap();
    let error = ask(&client).unwrap_err();
    assert!(matches!(error, ModelError::Exhausted { tries: 5, .. }), "{error}");
}

#[test]
fn a_server_is_asked_the_way_it_wants() {
    let server = Server::start(|_, request| {
        let no = |message: &str| Answer::Json(400, json!({"error": {"message": message}}));
        if request.get("max_tokens").is_some() {
            no("Unsupported parameter: use 'max_completion_tokens' instead")
        } else if request.get("temperature").is_some() {
            no("Unsupported value: 'temperature'")
        } else if request.get("tools").is_some() {
            no("this model does not support tools")
        } else {
            assert!(request["messages"][0]["content"].as_str().unwrap().contains("<tools>"));
            says("<tool_call>{\"name\": \"graph_info\"}</tool_call>", &[])
        }
    });
    let client = client(&server.url);
    assert_eq!(ask(&client).unwrap().reply.tool_calls[0].name, "graph_info");
    assert_eq!(server.seen.lock().unwrap().len(), 4);
    ask(&client).unwrap();
    assert_eq!(server.seen.lock().unwrap().len(), 5, "what was learnt is remembered");
}

#[test]
fn keys_are_sent_once_and_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sk-very-secret\n").unwrap();
    let key = ApiKey::from_file(&file).unwrap();
    let server = Server::start(|count, _| match count {
        0 => Answer::Json(200, json!({"choices": [{"message": {"content": "ok"}}], "echo": "sk-very-secret"})),
        _ => Answer::Json(401, json!({"error": {"message": "Incorrect API key: sk-very-secret"}})),
    });
    let prices = Some(Prices { input: 1e6, output: 1e6, cached: 0.0 });
    let options = ClientOptions { key, prices, ..client_options(&server.url) };
    let client = ModelClient::new(options);
    let answer = ask(&client).unwrap();
    assert!(!String::from_utf8(answer.raw).unwrap().contains("sk-very-secret"));
    assert!(answer.usage.cost_usd.unwrap() > 0.0);
    let error = ask(&client).unwrap_err();
    assert!(!error.to_string().contains("secret") && !format!("{client:?}{error:?}").contains("secret"), "{error}");
    assert!(server.seen.lock().unwrap()[0].headers.contains("Bearer sk-very-secret"));
}

#[test]
fn the_messages_api_of_anthropic() {
    let server = Server::start(|_, _| {
        let content = json!([
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "graph_info", "input": {"graph": "000"}},
        ]);
        let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 7});
        Answer::Json(200, json!({"content": content, "stop_reason": "tool_use", "usage": usage}))
    });
    let base = server.url.trim_end_matches("/v1").to_owned();
    let options = ClientOptions { api: ChatApi::Anthropic, base_url: base, ..client_options("") };
    let client = ModelClient::new(options);
    let first = ask(&client).unwrap();
    assert_eq!(first.reply.reasoning.as_deref(), Some("hm"));
    assert_eq!((first.usage.input, first.usage.cached, first.usage.output), (100, 90, 7));
    let observed =
        Message::Tool { call_id: "toolu_1".to_owned(), name: "graph_info".to_owned(), content: "x".to_owned() };
    let system = Message::System { content: "s".to_owned() };
    let user = Message::User { content: "u".to_owned() };
    ask_with(&client, &[system, user, Message::Assistant(first.reply), observed]).unwrap();
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen[1].path, "/v1/messages");
    assert!(seen[1].headers.to_lowercase().contains("anthropic-version"));
    let messages = &seen[1].body["messages"];
    assert_eq!(messages[1]["content"][0]["signature"], "s", "signed reasoning goes back as it came");
    assert_eq!(messages[2]["content"][0]["type"], "tool_result");
    assert_eq!(messages[2]["content"][0]["cache_control"]["type"], "ephemeral");
    let plain = Message::Assistant(Reply { content: String::new(), ..Reply::default() });
    drop(seen);
    ask_with(&client, &[Message::User { content: "u".to_owned() }, plain, Message::User { content: "v".to_owned() }])
        .unwrap();
}
