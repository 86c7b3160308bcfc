import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ToolgateError } from "../domain/core/errors.ts";
import { SMALL_PARAMS_BYTES, type Tool } from "../domain/tools/tool.ts";

/** Most values of a larger message. Texts and numbers are cheap; objects, lists and members are not. */
const MAX_VALUES = 50_000;

/** No client encodes as many fields beside each other: a call has a handful. */
const MAX_FIELDS = 100;

/** Longer strings name no tool. */
const MAX_NAME_BYTES = 256;

/** Of the keys `tool`, `name` and `params`, characters. Others are not read. */
const LONGEST_KEY = 6;

/** What a large JSON message says about its tool call, found without building its values. */
interface Outline {
  /** `tool`, as the contract names it. */
  tool?: string;
  /** `params.name`, as MCP does. */
  name?: string;
}

/**
 * Checks the size of a message before it is read: what one tool needs would be a burden of all others. Up to
 * {@link SMALL_PARAMS_BYTES} anything goes.
 */
export class MessageSizes {
  readonly #tools: () => readonly Pick<Tool, "name" | "maxParamsBytes">[];

  constructor(tools: () => readonly Pick<Tool, "name" | "maxParamsBytes">[]) {
    this.#tools = tools;
  }

  /** Largest message of a call of the tool, bytes. */
  limitOf(tool: string | undefined): number {
    return this.#tools().find(({ name }) => name === tool)?.maxParamsBytes ?? SMALL_PARAMS_BYTES;
  }

  /** @param tool undefined: the message names it @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST */
  requireJson(bytes: Uint8Array, tool?: string): void {
    if (bytes.length <= SMALL_PARAMS_BYTES) return;
    const outline = outlineOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#require(bytes, tool ?? outline.tool ?? outline.name);
  }

  /** @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST */
  requireBinary({ fields }: DescMessage, bytes: Uint8Array): void {
    if (bytes.length <= SMALL_PARAMS_BYTES) return;
    const field = fields.find(({ name }) => name === "tool");
    this.#require(bytes, field && textOf(bytes, field.number));
  }

  #require({ length }: Uint8Array, tool: string | undefined): void {
    const limit = this.limitOf(tool);
    if (length <= limit) return;
    const whose = tool === undefined ? "and names no tool" : `the limit of ${tool.slice(0, MAX_NAME_BYTES)}`;
    throw new ToolgateError("PAYLOAD_TOO_LARGE", `body: is larger than ${limit} bytes, ${whose}; send less`);
  }
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, OPEN_LIST, CLOSE_OBJECT, CLOSE_LIST] = [0x7b, 0x5b, 0x7d, 0x5d];

/** Looks through JSON once; what is no JSON has some outline too. @throws ToolgateError INVALID_REQUEST */
function outlineOf(bytes: Buffer): Outline {
  const outline: Outline = {};
  /** The last string before a colon, by depth. */
  const keys: string[] = [];
  let [depth, values, text] = [0, 0, ""];
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfText(bytes, at + 1);
        const named = () => (end - at <= MAX_NAME_BYTES ? bytes.toString("utf8", at + 1, end) : "");
        if (depth === 1 && keys[1] === "tool") outline.tool = named();
        if (depth === 2 && keys[1] === "params" && keys[2] === "name") outline.name = named();
        text = depth <= 2 && end - at <= LONGEST_KEY + 1 ? named() : "";
        at = end;
        values++;
        break;
      }
      case COLON:
        keys[depth] = text;
        values++;
        break;
      case COMMA:
        keys[depth] = "";
        values++;
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        keys[++depth] = "";
        values++;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth--;
        break;
      default:
    }
    if (values > MAX_VALUES)
      throw new ToolgateError("INVALID_REQUEST", `body: has more than ${MAX_VALUES} values; send fewer`);
  }
  return outline;
}

/** In a longer text the next quote is searched first, which is faster. */
const SHORT_TEXT = 64;

/** Returns the index of the quote that ends a text. */
function endOfText(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (at === start + SHORT_TEXT) {
      const quote = bytes.indexOf(QUOTE, at);
      if (quote === -1) break;
      if (bytes[quote - 1] !== BACKSLASH) return quote;
    }
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at;
  }
  return bytes.length;
}

/** Returns a text field among the first fields of an encoded message, the last one if it repeats. */
function textOf(bytes: Uint8Array, number: number): string | undefined {
  const reader = new BinaryReader(bytes);
  let text: string | undefined;
  try {
    for (let fields = 0; fields < MAX_FIELDS && reader.pos < reader.len; fields++) {
      const [field, type] = reader.tag();
      if (field === number && type === WireType.LengthDelimited) text = reader.string();
      else reader.skip(type, field);
    }
  } catch {
    // Reading the message will say what is wrong with it.
  }
  return text;
}
