import type { BinaryReadOptions, BinaryWriteOptions } from "@bufbuild/protobuf";
import type { Operation } from "./pipeline.ts";
import { SMALL_PARAMS_BYTES } from "../domain/tools/tool.ts";

/** Largest request message without an API key, bytes: fits a complete sign-in. */
export const KEYLESS_MESSAGE_LIMIT = 8 * 1024;

/** Skips unknown fields: a megabyte of them would take 80 MB of memory. */
export const BINARY_OPTIONS: Partial<BinaryReadOptions & BinaryWriteOptions> = { readUnknownFields: false };

/** Returns the largest request message of a method, bytes. Those of {@link namesTool} depend on the tool. */
export function messageLimit({ method, endpoint }: Operation, bodyLimit: number): number {
  const { key } = endpoint;
  if (key !== "required" && key !== "wallet") return Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT);
  const mayBeLarge = key === "required" && (endpoint.operator === true || namesTool(method));
  return mayBeLarge ? bodyLimit : Math.min(bodyLimit, SMALL_PARAMS_BYTES);
}

/** Whether the requests of a method name a tool, which may take large ones. */
export function namesTool({ input }: Operation["method"]): boolean {
  return input.fields.some(({ name }) => name === "tool");
}

/** Open connections per port. Further ones are closed at once; existing ones stay. */
export const MAX_CONNECTIONS = 10_000;

/** Status in metrics and logs of a request whose client disconnected before the response. */
export const DISCONNECTED = 499;
