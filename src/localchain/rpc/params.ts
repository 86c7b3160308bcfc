import { base58 } from "@scure/base";
import { isAddress, type Address } from "@solana/kit";
import { type Json, isObject, toJson } from "../json.ts";
import { COMMITMENTS, type Commitment } from "../slots.ts";
import type { ChainView } from "../chain-view.ts";

/** Error codes of JSON-RPC 2.0 section 5.1 and of Agave's `rpc-client-api` custom errors. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
export const PREFLIGHT_FAILURE = -32002;
export const SIGNATURE_VERIFICATION_FAILURE = -32003;
export const BLOCK_NOT_AVAILABLE = -32004;
export const UNSUPPORTED_TRANSACTION_VERSION = -32015;
const MIN_CONTEXT_SLOT_NOT_REACHED = -32016;

/** An answer with an `error` member. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(INVALID_PARAMS, message);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isCount = (value: unknown): value is number => isInteger(value) && value >= 0;
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The members of an object parameter; every reader refuses a wrong type with `-32602`. */
export class Options {
  readonly #members: Readonly<Record<string, unknown>>;

  constructor(value: unknown) {
    if (value !== undefined && value !== null && !isObject(value)) {
      throw invalidParams("Invalid params: invalid type: expected a configuration object.");
    }
    this.#members = isObject(value) ? value : {};
  }

  text(name: string): string | undefined {
    return this.#read(name, "string", isText);
  }

  flag(name: string): boolean | undefined {
    return this.#read(name, "boolean", isFlag);
  }

  /** A non-negative integer. */
  count(name: string): number | undefined {
    return this.#read(name, "usize", isCount);
  }

  integer(name: string): number | undefined {
    return this.#read(name, "integer", isInteger);
  }

  object(name: string): Options | undefined {
    const value = this.#members[name];
    return value === undefined || value === null ? undefined : new Options(value);
  }

  list(name: string): readonly unknown[] | undefined {
    return this.#read(name, "array", isList);
  }

  json(name: string): Json {
    return toJson(this.#members[name] ?? null);
  }

  /** The requested commitment; validators default to `finalized`. */
  commitment(name = "commitment"): Commitment {
    const text = this.text(name) ?? "finalized";
    const known = COMMITMENTS.find((commitment) => commitment === text);
    if (known === undefined)
      throw invalidParams(`Invalid params: unknown variant \`${text}\`, expected a commitment.`);
    return known;
  }

  /** Refuses to respond from a state older than the client has seen. */
  requireContextSlot(view: ChainView, commitment: Commitment): void {
    const minimum = this.count("minContextSlot");
    const contextSlot = view.slotAt(commitment);
    if (minimum !== undefined && contextSlot < minimum) {
      throw new RpcError(MIN_CONTEXT_SLOT_NOT_REACHED, "Minimum context slot has not been reached", {
        contextSlot,
      });
    }
  }

  #read<T>(name: string, type: string, accepts: (value: unknown) => value is T): T | undefined {
    const value = this.#members[name];
    if (value === undefined || value === null) return undefined;
    if (!accepts(value)) throw invalidParams(`Invalid params: ${name}: expected ${type}.`);
    return value;
  }
}

/** The positional parameters of a call. */
export class Params {
  readonly #values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  text(index: number): string {
    const value = this.#values[index];
    if (typeof value !== "string") throw invalidParams("Invalid params: invalid type: expected a string.");
    return value;
  }

  address(index: number): Address {
    return parseAddress(this.text(index));
  }

  addresses(index: number): readonly Address[] {
    return this.texts(index).map(parseAddress);
  }

  texts(index: number): readonly string[] {
    const value = this.#values[index];
    if (!Array.isArray(value)) throw invalidParams("Invalid params: invalid type: expected a sequence.");
    return value.map((each: unknown) => new Params([each]).text(0));
  }

  signature(index: number): string {
    return parseSignature(this.text(index));
  }

  /** A non-negative integer, in a JSON number. */
  count(index: number): number {
    const value = this.#values[index];
    if (!isCount(value)) throw invalidParams("Invalid params: invalid type: expected u64.");
    return value;
  }

  /** An integer of either sign, in a JSON number. */
  integer(index: number): number {
    const value = this.#values[index];
    if (!isInteger(value)) throw invalidParams("Invalid params: invalid type: expected i64.");
    return value;
  }

  options(index: number): Options {
    return new Options(this.#values[index]);
  }

  raw(index: number): unknown {
    return this.#values[index];
  }
}

export function parseAddress(text: string): Address {
  if (!isAddress(text)) throw invalidParams("Invalid param: Invalid");
  return text;
}

/** base58 of exactly 64 bytes. */
export function parseSignature(text: string): string {
  let length: number;
  try {
    length = base58.decode(text).length;
  } catch {
    throw invalidParams("Invalid param: Invalid");
  }
  if (length !== 64) throw invalidParams("Invalid param: WrongSize");
  return text;
}

/** One JSON-RPC method: reads the chain through a view, returns `result` or throws an `RpcError`. */
export type Method = (view: ChainView, params: Params) => Json;
export type MethodTable = Readonly<Record<string, Method>>;

/** Version of the imitated validator. */
export const VALIDATOR_VERSION = "3.0.0";

/** An `RpcResponse`: a value and the slot it was read at. */
export function withContext(view: ChainView, commitment: Commitment, value: Json): Json {
  return { context: { apiVersion: VALIDATOR_VERSION, slot: view.slotAt(commitment) }, value };
}
