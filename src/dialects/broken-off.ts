import { type JsonObject, objectOf } from "../domain/core/json.ts";
import { displayUsd } from "../domain/core/money.ts";

/** Reasons of an answer that its model server did not end, so that the caller has a part of it. */
const BROKEN: ReadonlySet<unknown> = new Set(["connection_lost", "timeout"]);

export interface BrokenOff {
  readonly message: string;
  readonly code: string;
}

/**
 * Returns what the last event of a broken answer says: what was delivered and charged.
 * @param reason of the gateway @param answer with the charge @returns undefined unless it broke off
 */
export function brokenOff(reason: unknown, characters: number, answer: JsonObject): BrokenOff | undefined {
  if (typeof reason !== "string" || !BROKEN.has(reason)) return undefined;
  const { cost_usdc_microusd: cost, receipt_id: receipt } = objectOf(answer["usage"]);
  const charged =
    typeof cost === "number" && typeof receipt === "string"
      ? `${displayUsd(BigInt(cost))}, receipt ${receipt}`
      : "nothing";
  const message = `the model server broke off its answer after ${characters} characters; charged: ${charged}`;
  return { message, code: reason };
}

/** The members of an answer that say what it cost. */
export function chargeIn({ usage = null, receipt_id, receipt }: JsonObject): JsonObject {
  return {
    usage,
    ...(receipt_id !== undefined && { receipt_id }),
    ...(receipt !== undefined && { receipt }),
  };
}

/** Members that the gateway's own would contradict. */
const OWN = /^(?:cost(?:_.*)?|receipt(?:_id)?|estimated)$/;

/** Returns an object of a server without members that say what the gateway charged. */
export function withoutCharge(object: unknown): JsonObject {
  const members = Object.entries(objectOf(object)).filter(([name]) => !OWN.test(name));
  return Object.fromEntries(members);
}
