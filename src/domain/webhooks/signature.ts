import { createHmac } from "node:crypto";
import type { Random } from "../core/clock.ts";

const PREFIX = "whsec_";

/** Standard Webhooks wants 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** Returns a new secret of an endpoint, `whsec_` and base64. */
export function newSecret(random: Random): string {
  return PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString("base64");
}

/** A request as it is signed. */
export interface SignedContent {
  /** `evt_…`, equal in all attempts. */
  readonly id: string;
  /** Of the attempt, Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Headers of a webhook (Standard Webhooks 1.0). Each secret signs, so that a receiver may use either during a
 * rotation.
 */
export function webhookHeaders(
  secrets: readonly string[],
  { id, timestamp, body }: SignedContent,
): Record<string, string> {
  const content = `${id}.${timestamp}.${body}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": secrets.map((secret) => `v1,${signatureOf(secret, content)}`).join(" "),
  };
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}
