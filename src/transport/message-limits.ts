import type { BinaryReadOptions, BinaryWriteOptions } from "@bufbuild/protobuf";
import type { Endpoint } from "./services/service-impl.ts";

/** Largest request message of a method that needs no API key, bytes: room for a sign-in with all of its fields. */
export const KEYLESS_MESSAGE_LIMIT = 8 * 1024;

/** Unknown fields are skipped: keeping a megabyte of them takes 80 MB. */
export const BINARY_OPTIONS: Partial<BinaryReadOptions & BinaryWriteOptions> = { readUnknownFields: false };

/** Largest request message of a method, bytes. */
export function messageLimit({ key }: Pick<Endpoint, "key">, bodyLimit: number): number {
  return key === "required" ? bodyLimit : Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT);
}
