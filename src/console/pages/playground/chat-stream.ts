import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { post, readJson, type Exchange, type ReadBody } from "./exchange.ts";
import { asObject, asText, parseJson } from "./schema.ts";

const CHAT_PATH = "/openai/v1/chat/completions";

export function isStreamed(tool: string): boolean {
  return tool === "inference_chat";
}

/** Sends a call of `inference_chat` as a stream; its exchange has the answer of a tool call. */
export function postChat(
  { params, idempotency_key: idempotencyKey }: JsonObject,
  key: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<Exchange> {
  const body = { ...asObject(params), stream: true };
  const keyed = { ...headers, "Idempotency-Key": asText(idempotencyKey) };
  const read: ReadBody = (response) =>
    response.headers.get("content-type")?.startsWith("text/event-stream") && response.body
      ? readChunks(response.body, onText)
      : readJson(response);
  return post(CHAT_PATH, key, body, keyed, signal, read);
}

async function readChunks(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (text: string) => void,
): ReturnType<ReadBody> {
  let text = "";
  let end: JsonObject = {};
  let finish: JsonValue = null;
  const toolCalls = new ToolCalls();
  for await (const event of eventsOf(body)) {
    // With a receipt the answer broke off, and what came was charged.
    if (event["error"] !== undefined && event["receipt"] === undefined) return { status: 500, body: event };
    const [choice] = Array.isArray(event["choices"]) ? event["choices"].map(asObject) : [];
    const delta = asObject(choice?.["delta"]);
    toolCalls.add(delta["tool_calls"]);
    const { original_finish_reason: original, finish_reason: reason } = choice ?? {};
    finish = asObject(event["error"])["code"] ?? original ?? reason ?? finish;
    end = event;
    if (asText(delta["content"]) === "") continue;
    text += asText(delta["content"]);
    onText(text);
  }
  const { receipt, id = null, model = null, usage = null } = end;
  if (receipt === undefined) throw new TypeError("The stream ended before its last chunk.");
  const calls = toolCalls.whole();
  const message = { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: calls }) };
  const result = { id, model, choices: [{ index: 0, message, finish_reason: finish }], usage };
  return { body: { ok: true, result, receipt } };
}

/** The `data` of each event (HTML Standard, server-sent events), without the end mark of the OpenAI API. */
async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncIterable<JsonObject> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const parsed = line.startsWith("data:") ? parseJson(line.slice("data:".length)) : { error: "" };
      if ("value" in parsed) yield asObject(parsed.value);
    }
    if (done) return;
  }
}

/** Merges the parts of streamed tool calls, by their index. */
class ToolCalls {
  readonly #calls = new Map<number, { id: string; type: string; name: string; input: string }>();

  /** @param parts `tool_calls` of a chunk's delta */
  add(parts: JsonValue | undefined): void {
    if (!Array.isArray(parts)) return;
    for (const [at, part] of parts.map(asObject).entries()) {
      const index = typeof part["index"] === "number" ? part["index"] : at;
      const call = this.#calls.get(index) ?? { id: "", type: "function", name: "", input: "" };
      const { name, arguments: input } = asObject(part["function"]);
      this.#calls.set(index, {
        id: call.id || asText(part["id"]),
        type: asText(part["type"]) || call.type,
        name: call.name + asText(name),
        input: call.input + asText(input),
      });
    }
  }

  /** The calls of a whole message, in their order. */
  whole(): JsonObject[] {
    const ordered = [...this.#calls].toSorted(([one], [other]) => one - other);
    return ordered.map(([, { id, type, name, input }]) => ({
      id,
      type,
      function: { name, arguments: input },
    }));
  }
}
