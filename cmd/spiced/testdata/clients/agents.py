"""Asks an agent with the official clients for Python, at each protocol, streaming and
not: writes what they understood, with the events of the agents, as a JSON list."""

import json
import sys

import anthropic
import openai

url, model, question = sys.argv[1:4]
options = {"api_key": "none", "max_retries": 0, "timeout": 40, "default_headers": {"X-Spiced-Events": "include"}}
to_openai = openai.OpenAI(base_url=url + "/v1", **options)
to_anthropic = anthropic.Anthropic(base_url=url, **options)
messages = [{"role": "user", "content": question}]


def chat(stream):
    if not stream:
        answer = to_openai.chat.completions.create(model=model, messages=messages)
        choice = answer.choices[0]
        return choice.message.content, choice.finish_reason, answer.usage.total_tokens, answer.model_extra["spiced_events"]
    text, reason, tokens, events = "", None, 0, []
    for chunk in to_openai.chat.completions.create(model=model, messages=messages, stream=True, stream_options={"include_usage": True}):
        if "spiced_event" in chunk.model_extra:
            events.append(chunk.model_extra["spiced_event"])
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
        if chunk.usage:
            tokens = chunk.usage.total_tokens
    return text, reason, tokens, events


def responses(stream):
    if not stream:
        answer = to_openai.responses.create(model=model, input=question)
        return answer.output_text, answer.status, answer.usage.total_tokens, answer.model_extra["spiced_events"]
    text, events, done = "", [], None
    for event in to_openai.responses.create(model=model, input=question, stream=True):
        extra = event.model_extra or {}
        if "spiced_event" in extra:
            events.append(extra["spiced_event"])
        elif event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.completed":
            done = event.response
    return text, done.status, done.usage.total_tokens, events


def claude(stream):
    body = {"model": model, "max_tokens": 1000, "messages": messages}
    if not stream:
        answer = to_anthropic.messages.create(**body)
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, answer.stop_reason, answer.usage.input_tokens + answer.usage.output_tokens, answer.model_extra["spiced_events"]
    with to_anthropic.messages.stream(**body) as got:
        answer = got.get_final_message()
    text = "".join(block.text for block in answer.content if block.type == "text")
    # The client leaves out events that it does not know: they are read as lines.
    events = []
    with to_anthropic.messages.with_streaming_response.create(**body, stream=True) as raw:
        for line in raw.iter_lines():
            if line.startswith("data: {") and '"spiced.' in line:
                event = json.loads(line[len("data: "):])
                events.append({"type": event["type"].removeprefix("spiced."), **event["data"]})
    return text, answer.stop_reason, answer.usage.input_tokens + answer.usage.output_tokens, events


saw = []
for ask in (chat, responses, claude):
    for stream in (False, True):
        text, reason, tokens, events = ask(stream)
        saw.append({"protocol": ask.__name__, "stream": stream, "text": text, "reason": reason, "tokens": tokens, "events": events})
print(json.dumps(saw))
