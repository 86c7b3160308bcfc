import { type JsonObject, objectOf, objectsOf, parsedJson } from "../../domain/core/json.ts";
import { withoutCharge } from "../broken-off.ts";
import { carry, reasoningItems } from "../carried.ts";
import type { EventMaker } from "../dialect.ts";
import { headOf, thinkingBlock } from "./answer.ts";
import { usageFrom } from "./usage.ts";

interface OpenBlock {
  readonly index: number;
  /** `text`, `thinking`, or the index of a tool call. */
  readonly of: string;
  /** Of a tool call. */
  input: string;
}

/** Events that come after what the model said, with usage and charge. */
const LAST: ReadonlySet<unknown> = new Set(["message_delta", "message_stop"]);

/** Makes the events of a stream until the model ends (Anthropic API, "Streaming messages"). */
export class MessageEvents implements EventMaker {
  readonly #promptTokens: number;
  /** Of a server's own event. */
  #message: JsonObject | undefined;
  #isStarted = false;
  #blocks = 0;
  #open: OpenBlock[] = [];

  constructor(promptTokens: number) {
    this.#promptTokens = promptTokens;
  }

  take(chunk: JsonObject): readonly JsonObject[] {
    const {
      content,
      refusal,
      reasoning_content: reasoning,
      ...more
    } = objectOf(objectsOf(chunk["choices"])[0]?.["delta"]);
    const events = this.#start(chunk);
    const thought = reasoning ?? more["reasoning"];
    if (typeof thought === "string" && thought !== "")
      this.#say(events, "thinking", { type: "thinking_delta", thinking: thought });
    const items = reasoningItems(more).map((item) => ({ signature: carry({ reasoning_items: [item] }) }));
    for (const { signature = "" } of [...objectsOf(more["thinking_blocks"]), ...items]) {
      if (signature === "") continue;
      this.#say(events, "thinking", { type: "signature_delta", signature });
      this.#close(events, ({ of }) => of === "thinking");
    }
    for (const text of [content, refusal])
      if (typeof text === "string" && text !== "") this.#say(events, "text", { type: "text_delta", text });
    for (const call of objectsOf(more["tool_calls"])) this.#call(events, call);
    return events;
  }

  pass(event: JsonObject, head: JsonObject): readonly JsonObject[] {
    const { type } = event;
    if (typeof type !== "string" || !/^\w{1,64}$/.test(type) || LAST.has(type)) return [];
    // Waits for something to deliver: until then another server may be asked.
    if (type === "message_start") this.#message = withoutCharge(event["message"]);
    if (type === "message_start" || type === "ping") return [];
    const events = this.#start(head);
    const { index } = event;
    if (type === "content_block_start") this.#open.push({ index: Number(index), of: "", input: "" });
    if (type === "content_block_stop")
      this.#open = this.#open.filter((block) => block.index !== Number(index));
    return [...events, event];
  }

  end(): readonly JsonObject[] {
    return this.#close([], () => true);
  }

  #start(head: JsonObject): JsonObject[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const counted = this.#message ?? { usage: usageFrom({ prompt_tokens: this.#promptTokens }) };
    const usage = withoutCharge(counted["usage"]);
    const start = { content: [], stop_reason: null, stop_sequence: null, ...counted, usage, ...headOf(head) };
    return [{ type: "message_start", message: start }];
  }

  #say(events: JsonObject[], of: "text" | "thinking", delta: JsonObject): void {
    const block = this.#open.find((one) => one.of === of);
    if (!block) this.#close(events, () => true);
    const { index } =
      block ?? this.#openBlock(events, of, of === "text" ? { type: "text", text: "" } : thinkingBlock(""));
    events.push({ type: "content_block_delta", index, delta });
  }

  #call(events: JsonObject[], call: JsonObject): void {
    const { name = "", arguments: input = "" } = objectOf(call["function"]);
    const of = JSON.stringify(call["index"] ?? 0);
    let block = this.#open.find((one) => one.of === of);
    if (!block) {
      // A call whose input goes on beside others stays open.
      this.#close(
        events,
        (one) => !/^\d/.test(one.of) || parsedJson(one.input) !== undefined || one.input === "",
      );
      block = this.#openBlock(events, of, { type: "tool_use", id: call["id"] ?? "", name, input: {} });
    }
    if (typeof input !== "string" || input === "") return;
    block.input += input;
    const delta = { type: "input_json_delta", partial_json: input };
    events.push({ type: "content_block_delta", index: block.index, delta });
  }

  #openBlock(events: JsonObject[], of: string, content_block: JsonObject): OpenBlock {
    const block = { index: this.#blocks++, of, input: "" };
    this.#open.push(block);
    events.push({ type: "content_block_start", index: block.index, content_block });
    return block;
  }

  #close(events: JsonObject[], isOver: (block: OpenBlock) => boolean): JsonObject[] {
    const over = this.#open.filter(isOver);
    this.#open = this.#open.filter((block) => !over.includes(block));
    events.push(...over.map(({ index }) => ({ type: "content_block_stop", index })));
    return events;
  }
}
