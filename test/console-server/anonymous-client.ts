import { Code, ConnectError } from "@connectrpc/connect";
import { SessionService, type SignInChallenge } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { pageClient } from "../support/console.ts";

let visitors = 0;

/** A visitor from an address that nobody else has, so that no limit counts them together. Needs TRUSTED_PROXY_HOPS=1. */
export function fromAnywhere(): Record<string, string> {
  visitors++;
  return { "x-forwarded-for": `198.51.${100 + (visitors >> 8)}.${visitors & 255}` };
}

/** The session service for a visitor from anywhere. */
export function visitor(gateway: { consoleUrl: string }, headers: Record<string, string> = {}) {
  return pageClient(gateway, SessionService, { ...fromAnywhere(), ...headers });
}

/** A challenge for a visitor. */
export async function challengeOf(gateway: { consoleUrl: string }): Promise<SignInChallenge> {
  const { challenge } = await visitor(gateway).beginSignIn({});
  if (!challenge) throw new Error("no challenge was made");
  return challenge;
}

/** What a refused call was told: the name of its code, and the message. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  return error ? `${Code[error.code]}: ${error.rawMessage}` : "no refusal";
}
