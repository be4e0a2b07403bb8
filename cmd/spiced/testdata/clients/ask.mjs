// Asks questions with the official clients for JavaScript: reads a JSON list
// of them, {url, questions}, and writes the list of what the clients
// understood. The tests in chat_javascript_test.go say what it should be.
import { writeFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const parameters = { type: 'object', properties: {} };
const image = (data) => `data:image/png;base64,${data}`;

// openai asks at POST /v1/chat/completions.
async function openai(client, q) {
  const content = [{ type: 'text', text: q.text }];
  if (q.image) content.push({ type: 'image_url', image_url: { url: image(q.image) } });
  const messages = [{ role: 'user', content }];
  for (;;) {
    const body = {
      model: q.model,
      messages,
      ...(q.tools && { tools: q.tools.map((name) => ({ type: 'function', function: { name, parameters } })) }),
    };
    const answer = q.stream
      ? await client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      : await client.chat.completions.create(body);
    const { message, finish_reason } = answer.choices[0];
    const calls = (message.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name }));
    const usage = answer.usage;
    if (!calls.length || !q.reply) {
      return {
        text: message.content ?? '', reason: finish_reason, calls, replied: messages.length > 1,
        usage: {
          Input: usage.prompt_tokens, Output: usage.completion_tokens,
          CacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0, CacheWrite: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
        },
      };
    }
    messages.push(message, ...calls.map((c) => ({ role: 'tool', tool_call_id: c.id, content: q.reply })));
  }
}

// responses asks at POST /v1/responses, and sends all of it again with the
// results: the clients for Go name the answer before.
async function responses(client, q) {
  const content = [{ type: 'input_text', text: q.text }];
  if (q.image) content.push({ type: 'input_image', detail: 'auto', image_url: image(q.image) });
  const input = [{ role: 'user', content }];
  for (;;) {
    const body = {
      model: q.model,
      input,
      ...(q.tools && { tools: q.tools.map((name) => ({ type: 'function', name, parameters, strict: false })) }),
    };
    const answer = q.stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    const calls = answer.output.filter((item) => item.type === 'function_call').map((c) => ({ id: c.call_id, name: c.name }));
    const usage = answer.usage;
    if (!calls.length || !q.reply) {
      return {
        text: answer.output_text, reason: answer.status, calls, replied: input.length > 1,
        usage: {
          Input: usage.input_tokens, Output: usage.output_tokens,
          CacheRead: usage.input_tokens_details?.cached_tokens ?? 0, CacheWrite: usage.input_tokens_details?.cache_write_tokens ?? 0,
        },
      };
    }
    const sent = answer.output.map(({ parsed_arguments, ...item }) => item);
    input.push(...sent, ...calls.map((c) => ({ type: 'function_call_output', call_id: c.id, output: q.reply })));
  }
}

// anthropic asks at POST /v1/messages.
async function anthropic(client, q) {
  const content = [{ type: 'text', text: q.text }];
  if (q.image) content.push({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: q.image } });
  const messages = [{ role: 'user', content }];
  for (;;) {
    const body = {
      model: q.model,
      max_tokens: 1000,
      messages,
      ...(q.tools && { tools: q.tools.map((name) => ({ name, input_schema: parameters })) }),
    };
    const answer = q.stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const calls = answer.content.filter((b) => b.type === 'tool_use').map((c) => ({ id: c.id, name: c.name }));
    const usage = answer.usage;
    if (!calls.length || !q.reply) {
      const [read, written] = [usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0];
      return {
        text: answer.content.map((b) => b.text ?? '').join(''), reason: answer.stop_reason, calls, replied: messages.length > 1,
        usage: { Input: usage.input_tokens + read + written, Output: usage.output_tokens, CacheRead: read, CacheWrite: written },
      };
    }
    messages.push(
      { role: 'assistant', content: answer.content },
      { role: 'user', content: calls.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: q.reply })) },
    );
  }
}

// failure is an error as the client throws it. own tells that it is of the
// client's type for answers with a status.
function failure(err, APIError) {
  return {
    own: err instanceof APIError, class: err.constructor.name, status: err.status ?? 0,
    kind: err.error?.error?.type ?? err.type ?? '', message: String(err.message),
  };
}

let text = '';
for await (const chunk of process.stdin) text += chunk;
const { url, questions } = JSON.parse(text);
const options = { apiKey: 'none', maxRetries: 0, timeout: 20_000, defaultHeaders: { 'X-Spiced-Events': 'include' } };
const toOpenAI = new OpenAI({ ...options, baseURL: `${url}/v1` });
const toAnthropic = new Anthropic({ ...options, baseURL: url });
const protocols = {
  openai: [openai, toOpenAI, OpenAI.APIError],
  responses: [responses, toOpenAI, OpenAI.APIError],
  anthropic: [anthropic, toAnthropic, Anthropic.APIError],
};

const answers = [];
for (const q of questions) {
  const [ask, client, APIError] = protocols[q.protocol];
  try {
    answers.push(await ask(client, q));
  } catch (err) {
    answers.push({ error: failure(err, APIError) });
  }
}
writeFileSync(process.stdout.fd, JSON.stringify(answers));
