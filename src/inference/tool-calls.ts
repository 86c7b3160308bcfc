import type { JsonObject } from "../domain/core/json.ts";
import type { HalfCharacters } from "./half-characters.ts";
import type { Called, CallPart } from "./message-parts.ts";
import { addMembers } from "./other-members.ts";

interface Call {
  readonly place: number;
  readonly id: string;
  type: string;
  /** Undefined until it has a name or input. */
  as: Called["as"] | undefined;
  name: string;
  input: string;
  readonly more: JsonObject;
  readonly calledMore: JsonObject;
}

/** The member that has the input of a call. */
const INPUT = { function: "arguments", custom: "input" } as const;

/** Assembles tool calls. Each gets an index of its own, as some servers send several at one. */
export class ToolCalls {
  readonly #calls: Call[] = [];
  /** By the server's index. */
  readonly #byIndex = new Map<number, Call[]>();
  readonly #halves: HalfCharacters;

  constructor(halves: HalfCharacters) {
    this.#halves = halves;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** Adds parts of calls. @returns them as a delta has them */
  add(parts: readonly CallPart[]): JsonObject[] {
    return parts.map((part, at) => this.#add(part, part.index ?? at));
  }

  result(): JsonObject[] {
    return this.#calls.map(({ id, type, as, name, input, more, calledMore }) => ({
      ...more,
      id,
      type,
      ...(as && { [as]: { ...calledMore, name, [INPUT[as]]: input } }),
    }));
  }

  #add({ id, type, called, more, ...part }: CallPart, index: number): JsonObject {
    const known = this.#find({ id, type, called, more, ...part }, index);
    const call = known ?? this.#start(id.toWellFormed(), index);
    call.type = type.toWellFormed() || call.type;
    addMembers(call.more, more);
    const head = { ...more, index: call.place, ...(!known && { id: call.id, type: call.type }) };
    if (!called) return head;
    // Some servers repeat the name with each part.
    const name = called.name === call.name ? "" : called.name.toWellFormed();
    const input = this.#halves.take(`call ${call.place}`, called.input);
    call.as = called.as;
    call.name += name;
    call.input += input;
    addMembers(call.calledMore, called.more);
    const own = { ...called.more, ...(name !== "" && { name }), [INPUT[called.as]]: input };
    return { ...head, [called.as]: own };
  }

  #start(id: string, index: number): Call {
    const place = this.#calls.length;
    const empty = { type: "function", as: undefined, name: "", input: "", more: {}, calledMore: {} };
    const call: Call = { place, id, ...empty };
    this.#calls.push(call);
    this.#byIndex.set(index, [...(this.#byIndex.get(index) ?? []), call]);
    return call;
  }

  /** Returns the call that a part continues; undefined: it starts one. */
  #find(part: CallPart, index: number): Call | undefined {
    const calls = this.#byIndex.get(index) ?? [];
    const last = calls.at(-1);
    if (part.id !== "" && last && last.id !== "") return calls.findLast(({ id }) => id === part.id);
    return last && startsAnother(part, last) ? undefined : last;
  }
}

/** Without ids: another name after the arguments, or arguments after whole ones. */
function startsAnother({ called }: CallPart, { name, input }: Call): boolean {
  if (!called || called.name === "" || input === "") return false;
  return called.name !== name || (called.input.trimStart().startsWith("{") && isWhole(input));
}

function isWhole(json: string): boolean {
  try {
    return json.trimEnd().endsWith("}") && JSON.parse(json) !== undefined;
  } catch {
    return false;
  }
}
