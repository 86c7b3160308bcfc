import { base58 } from "@scure/base";
import { decodeTransaction, type WireTransaction } from "../wire-transaction.ts";
import { invalidParams } from "./errors.ts";
import type { Options } from "./params.ts";

/** One packet holds a legacy or v0 transaction; v1 transactions may take more of them. */
const PACKET_DATA_SIZE = 1232;
const MAX_V1_SIZE = 4096;
/** First byte of a v1 transaction: the message, which precedes its signatures. */
const V1_PREFIX = 0x81;

/** Decodes a parameter of `sendTransaction` or `simulateTransaction`; base58 unless `encoding` is base64. */
export function wireTransaction(text: string, options: Options): WireTransaction {
  const encoding = options.text("encoding") ?? "base58";
  if (encoding !== "base58" && encoding !== "base64") {
    throw invalidParams(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  }
  const bytes = decodeText(text, encoding);
  const limit = bytes[0] === V1_PREFIX ? MAX_V1_SIZE : PACKET_DATA_SIZE;
  if (bytes.length > limit) {
    throw invalidParams(
      `decoded solana_transaction::versioned::VersionedTransaction too large: ${bytes.length} bytes ` +
        `(max: ${limit} bytes)`,
    );
  }
  try {
    return decodeTransaction(bytes);
  } catch (error) {
    throw invalidParams(
      `failed to deserialize solana_transaction::versioned::VersionedTransaction: ${String(error)}`,
    );
  }
}

function decodeText(text: string, encoding: "base58" | "base64"): Uint8Array {
  if (encoding === "base64") {
    const bytes = Buffer.from(text, "base64");
    if (bytes.toString("base64") !== text) throw invalidParams("invalid base64 encoding");
    return Uint8Array.from(bytes);
  }
  try {
    return base58.decode(text);
  } catch {
    throw invalidParams("invalid base58 encoding");
  }
}
