import { randomBytes, randomInt } from "node:crypto";
import { newApiKey } from "../../src/domain/accounts/api-key.ts";
import { type KeyLimits, NO_LIMITS } from "../../src/domain/accounts/budget.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { systemRandom } from "../../src/system.ts";
import type { Agent, World } from "./world.ts";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** An API key of the right form that no deployment has made. */
export function forgedKey(): string {
  const version = { version: 1, secret: randomBytes(32) };
  return newApiKey(version, systemRandom);
}

/** A key with one character mistyped. */
export function mistyped(key: string): string {
  const at = key.length - 1 - randomInt(40);
  const other = ALPHABET[(ALPHABET.indexOf(key[at] ?? "") + 1) % ALPHABET.length] ?? "";
  return key.slice(0, at) + other + key.slice(at + 1);
}

/** A key of the agent's account with limits of its own. */
export async function limitedKey(
  { postgres }: Pick<World, "postgres">,
  { accountId, wallet }: Agent,
  change: Partial<KeyLimits>,
): Promise<Agent> {
  const wanted = { accountId, name: "limited", scopes: DEFAULT_SCOPES, limits: { ...NO_LIMITS, ...change } };
  const { key, secret } = await postgres.apiKeys.create(wanted);
  return { accountId, wallet, keyId: key.keyId, apiKey: secret };
}
