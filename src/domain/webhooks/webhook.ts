import { createHmac } from "node:crypto";
import { invalidField } from "../core/errors.ts";
import type { Random } from "../core/clock.ts";

export const ACCOUNT_EVENTS = [
  "balance.low",
  "budget.threshold_reached",
  "budget.exhausted",
  "deposit.credited",
  "payment.reversed",
  "receipt.refunded",
  "key.expiring",
  "session.created",
] as const;

export const OPERATOR_EVENTS = ["suspense.received", "audit.violation", "treasury.difference"] as const;

/** Challenges an endpoint, and tests it on request, whatever its types. */
export const TEST_EVENT = "webhook.test";

export type EventType =
  | (typeof ACCOUNT_EVENTS)[number]
  | (typeof OPERATOR_EVENTS)[number]
  | typeof TEST_EVENT;

const MAX_URL_LENGTH = 1_000;

/**
 * Returns the URL in its normal form.
 * @param http whether http:// is allowed
 * @throws ToolgateError INVALID_REQUEST
 */
export function endpointUrl(text: string, { http }: { http: boolean }): string {
  const url = URL.parse(text);
  if (!url || text.length > MAX_URL_LENGTH)
    throw invalidField("url", `must be an absolute URL of at most ${MAX_URL_LENGTH} characters`);
  if (url.protocol !== "https:" && !(http && url.protocol === "http:"))
    throw invalidField("url", "must begin with https://");
  if (url.username !== "" || url.password !== "")
    throw invalidField("url", "must not contain a user name or password; verify the signature instead");
  if (url.hash !== "") throw invalidField("url", "must not contain a fragment (#…)");
  return url.href;
}

/** Delay after the first failure, longest delay, and longest wait that a receiver can ask for, ms. */
const [FIRST_MS, LONGEST_MS, ASKED_MS] = [5_000, 6 * 3_600_000, 24 * 3_600_000];

/** Time of failures after which an endpoint is paused, ms. */
export const GIVE_UP_MS = 72 * 3_600_000;

/**
 * How long to wait before the next attempt, ms: doubles from 5 s up to 6 h, with a fifth of jitter either
 * way, and at least what the receiver asked for, up to a day.
 * @param failures in a row, at least 1
 */
export function retryDelayMs(failures: number, random: Random, retryAfterMs = 0): number {
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30));
  const [high = 0, low = 0] = random.bytes(2);
  const jitter = 0.8 + (0.4 * (high * 256 + low)) / 65_535;
  return Math.round(Math.max(delay * jitter, Math.min(retryAfterMs, ASKED_MS)));
}

/** Reads a Retry-After header, seconds or a date (RFC 9110 section 10.2.3), as ms; undefined if invalid. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const SECRET_PREFIX = "whsec_";

/** Standard Webhooks wants 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** Returns a new secret of an endpoint, `whsec_` and base64. */
export function newSecret(random: Random): string {
  return SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString("base64");
}

interface SignedContent {
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
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}
