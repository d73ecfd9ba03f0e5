// The protocols that agent clients speak to a model: how a request is read and how a reply is written.
//
// A protocol is { matches(url), tools(body), items(body), calls(item), results(item), reply(res, body, id, plan) }:
// `tools` gives the names of the offered tools, `items` the conversation in order, `calls` the number of turns of
// the model in an item, `results` the tool results in an item as [{ call, text }], and `reply` answers with `plan`,
// which is { text } or { tool, args }.

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function json(res, body) {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

function stream(res, lines) {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  res.end(lines.join(''));
}

const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const named = (event) => `event: ${event.type}\n${data(event)}`;

// The text of a tool result as a model gets it: a string, a list of text blocks, or an object.
function textOf(content) {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map((part) => part.text ?? JSON.stringify(part)).join('\n');
  return content === undefined || content === null ? '' : JSON.stringify(content);
}

const chat = {
  name: 'OpenAI chat',
  matches: (url) => url.includes('/chat/completions'),
  tools: (body) => (body.tools ?? []).map((tool) => tool.function?.name ?? tool.name),
  items: (body) => body.messages ?? [],
  calls: (item) => (item.role === 'assistant' ? 1 : 0),
  results: (item) => (item.role === 'tool' ? [{ call: item.tool_call_id, text: textOf(item.content) }] : []),
  reply(res, body, id, plan) {
    const call = plan.tool && {
      index: 0,
      id,
      type: 'function',
      function: { name: plan.tool, arguments: JSON.stringify(plan.args) },
    };
    const message = call
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: plan.text };
    const reason = call ? 'tool_calls' : 'stop';
    if (!body.stream) {
      if (call) delete call.index;
      return json(res, {
        id,
        object: 'chat.completion',
        created: 1,
        model: 'scripted',
        choices: [{ index: 0, message, finish_reason: reason }],
        usage: USAGE,
      });
    }
    const chunk = (delta, finish_reason, extra) => ({
      id,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason }],
      ...extra,
    });
    stream(res, [data(chunk(message, null)), data(chunk({}, reason, { usage: USAGE })), 'data: [DONE]\n\n']);
  },
};

// Tools may lie in namespaces; a call then names the namespace apart from the tool.
function flattened(body) {
  return (body.tools ?? []).flatMap((tool) =>
    tool.type === 'namespace'
      ? (tool.tools ?? []).map((inner) => ({
          namespace: tool.name,
          name: inner.name,
          full: `${tool.name}${tool.name.endsWith('_') ? '' : '__'}${inner.name}`,
        }))
      : [{ name: tool.name ?? tool.type, full: tool.name ?? tool.type }],
  );
}

const responses = {
  name: 'OpenAI responses',
  matches: (url) => url.includes('/responses'),
  tools: (body) => flattened(body).map((tool) => tool.full),
  items: (body) => (Array.isArray(body.input) ? body.input : []),
  calls: (item) => (item.type === 'function_call' || item.role === 'assistant' ? 1 : 0),
  results: (item) =>
    item.type === 'function_call_output' ? [{ call: item.call_id, text: textOf(item.output) }] : [],
  reply(res, body, id, plan) {
    const item = plan.tool ? functionCall(body, id, plan) : message(id, plan.text);
    const base = {
      id: `resp_${id}`,
      object: 'response',
      created_at: 1,
      model: 'scripted',
      status: 'in_progress',
      output: [],
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
    };
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    };
    const done = { ...base, status: 'completed', output: [item], usage };
    if (!body.stream) return json(res, done);
    const events = [
      { type: 'response.created', response: base },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
    ];
    if (!plan.tool) {
      events.push({
        type: 'response.output_text.delta',
        item_id: item.id,
        output_index: 0,
        content_index: 0,
        delta: plan.text,
      });
    }
    events.push(
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: done },
    );
    stream(
      res,
      events.map((event, sequence_number) => named({ ...event, sequence_number })),
    );
  },
};

function functionCall(body, id, plan) {
  const tool = flattened(body).find((offered) => offered.full === plan.tool);
  const call = {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: tool.name,
    arguments: JSON.stringify(plan.args),
    status: 'completed',
  };
  return tool.namespace ? { ...call, namespace: tool.namespace } : call;
}

function message(id, text) {
  return {
    type: 'message',
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

const messages = {
  name: 'Anthropic messages',
  matches: (url) => url.includes('/messages'),
  tools: (body) => (body.tools ?? []).map((tool) => tool.name),
  items: (body) => body.messages ?? [],
  calls: (item) => (item.role === 'assistant' ? 1 : 0),
  results: (item) =>
    (Array.isArray(item.content) ? item.content : [])
      .filter((block) => block.type === 'tool_result')
      .map((block) => ({ call: block.tool_use_id, text: textOf(block.content) })),
  reply(res, body, id, plan) {
    const block = plan.tool
      ? { type: 'tool_use', id, name: plan.tool, input: plan.args }
      : { type: 'text', text: plan.text };
    const stop_reason = plan.tool ? 'tool_use' : 'end_turn';
    const whole = {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [block],
      stop_reason,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    };
    if (!body.stream) return json(res, whole);
    const empty = plan.tool ? { ...block, input: {} } : { type: 'text', text: '' };
    const delta = plan.tool
      ? { type: 'input_json_delta', partial_json: JSON.stringify(plan.args) }
      : { type: 'text_delta', text: plan.text };
    stream(
      res,
      [
        { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: empty },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: 'message_stop' },
      ].map(named),
    );
  },
};

// Gemini has no ids of calls in every version; the name of the tool stands in.
const gemini = {
  name: 'Gemini',
  matches: (url) => /generateContent/i.test(url),
  tools: (body) => (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map(({ name }) => name)),
  items: (body) => body.contents ?? [],
  calls: (item) => (item.role === 'model' ? 1 : 0),
  results: (item) =>
    (item.parts ?? [])
      .filter((part) => part.functionResponse)
      .map(({ functionResponse: { name, response } }) => ({
        call: name,
        text: Object.keys(response ?? {}).join() === 'output' ? textOf(response.output) : textOf(response),
      })),
  reply(res, _body, _id, plan) {
    const part = plan.tool ? { functionCall: { name: plan.tool, args: plan.args } } : { text: plan.text };
    const reply = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      modelVersion: 'scripted',
    };
    return /stream/i.test(res.req.url) ? stream(res, [data(reply)]) : json(res, reply);
  },
};

export const PROTOCOLS = [chat, responses, messages, gemini];

// Requests beside the conversation that clients make of a model's server. Gives whether it was one.
export function answeredAside(req, res) {
  if (req.url.includes('count_tokens')) json(res, { input_tokens: 10 });
  else if (req.url.includes('countTokens')) json(res, { totalTokens: 10 });
  else if (req.method === 'GET' && req.url.includes('models')) {
    const model = { id: 'scripted', object: 'model', type: 'model', created: 1, owned_by: 'test', display_name: 'scripted', created_at: '2026-01-01T00:00:00Z' };
    json(res, { object: 'list', data: [model], models: [], has_more: false, first_id: 'scripted', last_id: 'scripted' });
  } else return false;
  return true;
}
