import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  parsedJson,
  textOf,
} from "../../domain/core/json.ts";
import { carry, thinkingBlocks } from "../carried.ts";
import type { EventMaker } from "../dialect.ts";
import { withoutCharge } from "../broken-off.ts";
import { type Asked, digitsOf, reasonOfCut, startedResponse } from "./response.ts";
import { OpenEvents } from "./open-events.ts";
import { ARGUMENTS, GrowingItem, INPUT, type Kind, REFUSAL, SUMMARY, TEXT } from "./growing-item.ts";

/** Events that come after what the model said, with usage and charge. */
const LAST: ReadonlySet<string> = new Set([
  "error",
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

/** A tool call, which starts when its name is known. */
interface Call {
  readonly id: string;
  readonly isCustom: boolean;
  name: string;
  /** What arrived before the name. */
  waiting: string;
  item?: GrowingItem;
}

/** Makes the events of a stream until the model ends (OpenAI API, "Streaming events" of responses). */
export class ResponseEvents implements EventMaker {
  readonly #asked: Asked;
  readonly #output: JsonObject[] = [];
  readonly #calls = new Map<number, Call>();
  readonly #open = new Set<GrowingItem>();
  /** The last item, where it is reasoning or a message that grows. */
  #spoken: { readonly type: string; readonly item: GrowingItem } | undefined;
  #events: JsonObject[] = [];
  /** Of a server's own first event. */
  #own: JsonObject = {};
  readonly #passed = new OpenEvents();
  #held: { readonly type: string; readonly members: JsonObject }[] = [];
  #count = 0;
  #digits: string | undefined;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  /** Returns the events of a chunk. */
  take(chunk: JsonObject): readonly JsonObject[] {
    this.#start(chunk);
    const { delta, logprobs } = choiceOf(chunk);
    if (isJsonObject(delta)) this.#add(delta, isJsonObject(logprobs) ? logprobs : {});
    return this.#taken();
  }

  get output(): JsonObject[] {
    return this.#output;
  }

  pass(event: JsonObject, head: JsonObject): readonly JsonObject[] {
    const { type, response, sequence_number: _, ...members } = event;
    if (typeof type !== "string" || !/^[\w.]{1,64}$/.test(type) || LAST.has(type)) return [];
    if (type === "response.created") {
      this.#own = withoutCharge(response);
      this.#held = [];
    }
    if (response !== undefined) return [];
    this.#held.push({ type, members });
    // Waits for something to deliver: until then another server may be asked.
    if (type.endsWith(".added") && !isCall(objectOf(members["item"]))) return [];
    this.#start(head);
    for (const held of this.#held) {
      this.#passed.note(held.type, held.members);
      this.#send(held.type, held.members);
    }
    this.#held = [];
    return this.#taken();
  }

  end(completion: JsonObject, passed?: JsonObject): readonly JsonObject[] {
    const status = reasonOfCut(choiceOf(completion)) ? "incomplete" : "completed";
    for (const call of this.#calls.values()) call.item ??= this.#startCall(call);
    for (const item of this.#open) this.#end(item, status);
    this.#spoken = undefined;
    this.#passed.end(objectsOf(passed?.["output"]), (type, members) => this.#send(type, members));
    return this.#taken();
  }

  #start(head: JsonObject): void {
    if (this.#digits !== undefined) return;
    this.#digits = digitsOf(head);
    const response = startedResponse(this.#asked, head, this.#own);
    this.#send("response.created", { response });
    this.#send("response.in_progress", { response });
  }

  #add(delta: JsonObject, logprobs: JsonObject): void {
    const {
      reasoning_content: thoughts,
      reasoning = null,
      content,
      refusal,
      annotations,
      tool_calls: calls,
    } = delta;
    this.#say("reasoning", SUMMARY, thoughts ?? reasoning);
    this.#sign(thinkingBlocks(delta));
    this.#say("message", TEXT, content, objectsOf(logprobs["content"]));
    for (const annotation of objectsOf(annotations))
      this.#speaker("message").annotate(annotationOf(annotation));
    this.#say("message", REFUSAL, refusal);
    for (const call of objectsOf(calls)) this.#addCall(call);
  }

  /** Only their server reads signed thoughts: clients send encrypted content back as it is. */
  #sign(thinking_blocks: JsonObject[]): void {
    if (thinking_blocks.length === 0) return;
    this.#speaker("reasoning").set("encrypted_content", carry({ thinking_blocks }));
    this.#endSpoken();
  }

  #say(type: Spoken, kind: Kind, piece: JsonValue | undefined, logprobs: readonly JsonObject[] = []): void {
    if (typeof piece === "string" && piece !== "") this.#speaker(type).add(kind, piece, logprobs);
  }

  #speaker(type: Spoken): GrowingItem {
    if (this.#spoken?.type === type) return this.#spoken.item;
    this.#endSpoken();
    const own = type === "reasoning" ? { summary: [] } : { role: "assistant", content: [] };
    const item = this.#grow(type === "reasoning" ? "rs" : "msg", { type, ...own });
    this.#spoken = { type, item };
    return item;
  }

  #endSpoken(): void {
    if (this.#spoken) this.#end(this.#spoken.item);
    this.#spoken = undefined;
  }

  #addCall(part: JsonObject): void {
    const { index = 0, id, type } = part;
    const isCustom = type === "custom" || isJsonObject(part["custom"]);
    const called = part[isCustom ? "custom" : "function"];
    const { name, arguments: args, input } = objectOf(called);
    const piece = textOf(isCustom ? input : args);
    const call = this.#calls.get(Number(index)) ?? { id: textOf(id), isCustom, name: "", waiting: "" };
    this.#calls.set(Number(index), call);
    call.name += textOf(name);
    if (call.name === "") call.waiting += piece;
    else (call.item ??= this.#startCall(call)).add(kindOf(call), piece);
  }

  #startCall(call: Call): GrowingItem {
    this.#endSpoken();
    // Parts of several calls may alternate, so a call without its end stays open.
    for (const { item } of this.#calls.values()) if (item && isWhole(item.text)) this.#end(item);
    const { name, namespace } = this.#asked.names.get(call.name) ?? { name: call.name };
    const own = { call_id: call.id, name, ...(namespace !== undefined && { namespace }) };
    const item = call.isCustom
      ? this.#grow("ctc", { type: "custom_tool_call", ...own, input: "" })
      : this.#grow("fc", { type: "function_call", ...own, arguments: "" });
    item.add(kindOf(call), call.waiting);
    return item;
  }

  #grow(prefix: string, own: JsonObject): GrowingItem {
    const index = this.#output.length;
    const id = `${prefix}_${this.#digits}${index.toString(36).padStart(2, "0")}`;
    const item = { id, status: "in_progress", ...own };
    this.#output.push(item);
    const growing = new GrowingItem(item, index, (type, members) => this.#send(type, members));
    this.#open.add(growing);
    return growing;
  }

  #end(item: GrowingItem, status = "completed"): void {
    if (this.#open.delete(item)) item.end(status);
  }

  #send(type: string, members: JsonObject): void {
    this.#events.push({ type, sequence_number: this.#count++, ...members });
  }

  #taken(): readonly JsonObject[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

type Spoken = "reasoning" | "message";

function kindOf({ isCustom }: Call): Kind {
  return isCustom ? INPUT : ARGUMENTS;
}

function isCall({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function choiceOf({ choices }: JsonObject): JsonObject {
  return objectsOf(choices)[0] ?? {};
}

/** One API has the members of an annotation flat, the other one by its type. */
function annotationOf(annotation: JsonObject): JsonObject {
  const { type, ...others } = annotation;
  const own = typeof type === "string" ? others[type] : undefined;
  return isJsonObject(own) ? { type: type ?? "", ...own } : annotation;
}

function isWhole(json: string): boolean {
  return json.trimEnd().endsWith("}") && isJsonObject(parsedJson(json));
}

/** Returns the items of a whole answer. */
export function outputFrom(
  completion: JsonObject,
  { message, logprobs = null }: JsonObject,
  asked: Asked,
): JsonObject[] {
  const events = new ResponseEvents(asked);
  const { tool_calls: calls, ...others } = objectOf(message);
  const delta = { ...others, tool_calls: objectsOf(calls).map((call, index) => ({ ...call, index })) };
  events.take({ ...completion, choices: [{ delta, logprobs }] });
  events.end(completion);
  return events.output;
}
