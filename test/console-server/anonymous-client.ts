import { Code, ConnectError } from "@connectrpc/connect";
import { SessionService, type SignInChallenge } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { pageClient } from "../support/console.ts";

let clients = 0;

/** A visitor from an address that nobody else has, so that no limit counts them together. Needs TRUSTED_PROXY_HOPS=1. */
export function uniqueAddress(): Record<string, string> {
  clients++;
  return { "x-forwarded-for": `198.51.${100 + (clients >> 8)}.${clients & 255}` };
}

/** The session service for a visitor from anywhere. */
export function anonymousClient(gateway: { consoleUrl: string }, headers: Record<string, string> = {}) {
  return pageClient(gateway, SessionService, { ...uniqueAddress(), ...headers });
}

/** A challenge for a visitor. */
export async function newChallenge(gateway: { consoleUrl: string }): Promise<SignInChallenge> {
  const { challenge } = await anonymousClient(gateway).beginSignIn({});
  if (!challenge) throw new Error("no challenge was made");
  return challenge;
}

/** What a refused call was told: the name of its code, and the message. */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  return error ? `${Code[error.code]}: ${error.rawMessage}` : "no refusal";
}
