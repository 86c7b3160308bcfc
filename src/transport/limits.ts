import type { BinaryReadOptions, BinaryWriteOptions } from "@bufbuild/protobuf";
import type { Endpoint } from "./services/service-impl.ts";

/** Largest request message without an API key, bytes: fits a complete sign-in. */
export const KEYLESS_MESSAGE_LIMIT = 8 * 1024;

/** Skips unknown fields: a megabyte of them would take 80 MB of memory. */
export const BINARY_OPTIONS: Partial<BinaryReadOptions & BinaryWriteOptions> = { readUnknownFields: false };

/** Returns the largest request message of a method, bytes. */
export function messageLimit({ key }: Pick<Endpoint, "key">, bodyLimit: number): number {
  return key === "required" ? bodyLimit : Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT);
}

/** Open connections per port. Further ones are closed at once; existing ones stay. */
export const MAX_CONNECTIONS = 10_000;
