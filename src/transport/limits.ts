import type { BinaryReadOptions, BinaryWriteOptions } from "@bufbuild/protobuf";
import type { Endpoint } from "./services/service-impl.ts";

/** Largest request message without an API key, bytes: fits a complete sign-in. */
export const KEYLESS_MESSAGE_LIMIT = 8 * 1024;

/** Largest parameters of a call that a wallet pays, bytes: they are read before anything is paid. */
const WALLET_MESSAGE_LIMIT = 64 * 1024;

/** Skips unknown fields: a megabyte of them would take 80 MB of memory. */
export const BINARY_OPTIONS: Partial<BinaryReadOptions & BinaryWriteOptions> = { readUnknownFields: false };

/** Returns the largest request message of a method, bytes. */
export function messageLimit({ key }: Pick<Endpoint, "key">, bodyLimit: number): number {
  if (key === "wallet") return Math.min(bodyLimit, WALLET_MESSAGE_LIMIT);
  return key === "required" ? bodyLimit : Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT);
}

/** Open connections per port. Further ones are closed at once; existing ones stay. */
export const MAX_CONNECTIONS = 10_000;

/** Status in metrics and logs of a request whose client disconnected before the response. */
export const DISCONNECTED = 499;
