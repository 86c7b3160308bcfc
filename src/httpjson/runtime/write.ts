import { base64Encode } from "@bufbuild/protobuf/wire";
import { setOwn } from "./read.ts";

/** Result of the generated writers: the object for one JSON.stringify, which omits undefined members. */
export type WireJson =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly WireJson[]
  | { readonly [name: string]: WireJson };

/** A double or float as ProtoJSON writes it. */
export type DoubleJson = number | "NaN" | "Infinity" | "-Infinity";

/** Writes a 64-bit integer as a number within ±(2^53-1), else as a decimal string. */
export function int64ToJson(value: bigint): number | string {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
    ? Number(value)
    : value.toString();
}

/** Writes a 64-bit integer as a decimal string, as ProtoJSON does. */
export function int64ToString(value: bigint): string {
  return value.toString();
}

export function doubleToJson(value: number): DoubleJson {
  if (Number.isFinite(value)) {
    return value;
  }
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

export function bytesToJson(value: Uint8Array): string {
  return base64Encode(value);
}

/** Writes a map field whose values need their own writer. */
export function mapToJson<T, J>(
  map: { readonly [key: string]: T },
  item: (value: T) => J,
): { [key: string]: J } {
  const json: { [key: string]: J } = {};
  for (const [key, value] of Object.entries(map)) {
    setOwn(json, key, item(value));
  }
  return json;
}
