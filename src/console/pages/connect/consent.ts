import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { readJson } from "../playground/exchange.ts";
import { asObject, asText } from "../playground/schema.ts";

/** An app's request to use the account. Its name is the app's own, without invisible characters. */
export interface Consent {
  readonly name: string;
  readonly host: string;
  /** Whether the host vouches for the app. */
  readonly isVerified: boolean;
  /** Host that receives the answer; the scheme of an address that a program on this computer opens. */
  readonly redirectHost: string;
  readonly scopes: readonly string[];
}

const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  429: Code.ResourceExhausted,
  500: Code.Internal,
  503: Code.Unavailable,
};

/** @throws ConnectError NotFound: unknown, expired, answered or of another browser */
export async function getConsent(uid: string, signal: AbortSignal): Promise<Consent> {
  const { client, scopes } = await ask("consent", uid, { signal });
  const { name, host, verified, redirect_host: redirectHost } = asObject(client);
  return {
    name: asText(name),
    host: asText(host),
    isVerified: verified === true,
    redirectHost: asText(redirectHost),
    scopes: Array.isArray(scopes) ? scopes.map(asText) : [],
  };
}

/** Allows or denies the request. @returns where the browser continues @throws ConnectError like getConsent */
export async function answerConsent(uid: string, answer: JsonObject): Promise<string> {
  const { location } = await ask("consent", uid, posted(answer));
  return asText(location);
}

export function posted(answer: JsonObject): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(answer),
  };
}

/** Asks the authorization server about a question of an app. @throws ConnectError */
export async function ask(kind: "consent" | "approval", id: string, init: RequestInit): Promise<JsonObject> {
  const path = `/oauth/${kind}/${encodeURIComponent(id)}`;
  const response = await fetch(path, { ...init, credentials: "same-origin" });
  const body = asObject((await readJson(response)).body);
  if (response.ok) return body;
  throw new ConnectError(asText(body["message"]), CODES[response.status] ?? Code.Unknown, response.headers);
}
