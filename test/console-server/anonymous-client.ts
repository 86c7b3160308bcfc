import { Code, ConnectError } from "@connectrpc/connect";
import { SessionService, type SignInChallenge } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { pageClient } from "../support/console.ts";

let clients = 0;

/**
 * Returns headers with a unique client address, so that rate limits do not interfere. Needs
 * TRUSTED_PROXY_HOPS=1.
 */
export function uniqueAddress(): Record<string, string> {
  clients++;
  return { "x-forwarded-for": `198.51.${100 + (clients >> 8)}.${clients & 255}` };
}

export function anonymousClient(gateway: { consoleUrl: string }, headers: Record<string, string> = {}) {
  return pageClient(gateway, SessionService, { ...uniqueAddress(), ...headers });
}

export async function newChallenge(gateway: { consoleUrl: string }): Promise<SignInChallenge> {
  const { challenge } = await anonymousClient(gateway).beginSignIn({});
  if (!challenge) throw new Error("no challenge was made");
  return challenge;
}

/** Returns the code and message of a failed call, or "no error". */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  return error ? `${Code[error.code]}: ${error.rawMessage}` : "no error";
}
