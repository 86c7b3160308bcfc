import { createPrivateKey, sign } from "node:crypto";
import type { DescService } from "@bufbuild/protobuf";
import { createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createSignInMessageText } from "@solana/wallet-standard-util";
import type { Keypair } from "@solana/web3.js";
import {
  type Session,
  SessionService,
  type SignInChallenge,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { secret } from "./record.ts";

/** A gateway that can be signed in to. */
interface ConsoleAddress {
  readonly consoleUrl: string;
}

/** A person at the console, as their browser is. */
export interface SignedInPerson {
  readonly session: Session;
  /** The browser's Cookie header. */
  readonly cookie: string;
  /** The browser's headers for every request of the page. */
  readonly headers: Readonly<Record<string, string>>;
  /** The page's client of a service. */
  client<S extends DescService>(service: S): Client<S>;
}

/** Base URL of the console's services. */
export function rpcUrl({ consoleUrl }: ConsoleAddress): string {
  return `${consoleUrl}/rpc`;
}

/** The browser's headers for a console page. */
export function pageHeaders({ consoleUrl }: ConsoleAddress): Record<string, string> {
  return { origin: new URL(consoleUrl).origin, "sec-fetch-site": "same-origin" };
}

/**
 * A client of a service, like a page of the console.
 * @param headers besides {@link pageHeaders}, e.g. a cookie
 * @param heard receives the headers of every response
 */
export function pageClient<S extends DescService>(
  gateway: ConsoleAddress,
  service: S,
  headers: Readonly<Record<string, string>> = {},
  heard: (headers: Headers) => void = () => {},
): Client<S> {
  const asPage: Interceptor = (next) => async (request) => {
    for (const [name, value] of Object.entries({ ...pageHeaders(gateway), ...headers }))
      request.header.set(name, value);
    const answer = await next(request);
    heard(answer.header);
    return answer;
  };
  return createClient(
    service,
    createConnectTransport({ baseUrl: rpcUrl(gateway), httpVersion: "1.1", interceptors: [asPage] }),
  );
}

/** The Ed25519 signature of a wallet over any bytes. */
export function signed(wallet: Keypair, bytes: Uint8Array): Buffer {
  const key = createPrivateKey({
    key: Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      wallet.secretKey.subarray(0, 32),
    ]),
    format: "der",
    type: "pkcs8",
  });
  return sign(null, bytes, key);
}

/** The text of a challenge, as a wallet with this address shows it. */
export function textOf(challenge: SignInChallenge, address: string): string {
  const { domain, statement, uri, version, chainId, nonce, issuedAt, expirationTime } = challenge;
  return createSignInMessageText({
    ...{ domain, address, statement, uri, version, chainId, nonce, issuedAt, expirationTime },
  });
}

/** A wallet's response to a challenge: the request of SignIn. */
export function answerOf(wallet: Keypair, challenge: SignInChallenge) {
  const address = wallet.publicKey.toBase58();
  const signedMessage = Buffer.from(textOf(challenge, address));
  const value = { signedMessage, signature: signed(wallet, signedMessage) };
  return { nonce: challenge.nonce, address, proof: { case: "message" as const, value } };
}

/** The cookie of a response, as the browser sends it. */
function cookieIn(headers: Headers): string | undefined {
  const cookie = headers.get("set-cookie")?.split(";", 1)[0];
  if (cookie !== undefined && !cookie.endsWith("="))
    secret("a session's token", cookie.slice(cookie.indexOf("=") + 1));
  return cookie;
}

/**
 * Signs in at the console like its page.
 * @param wallet of an account, e.g. an agent's; a new one gets an account
 */
export async function signIn(
  { gateway }: { readonly gateway: ConsoleAddress },
  wallet: Keypair,
): Promise<SignedInPerson> {
  let cookie: string | undefined;
  const page = pageClient(gateway, SessionService, {}, (headers) => {
    cookie = cookieIn(headers) ?? cookie;
  });
  const { challenge } = await page.beginSignIn({});
  if (!challenge) throw new Error("no challenge was made");
  const { session } = await page.signIn(answerOf(wallet, challenge));
  if (!session || cookie === undefined) throw new Error("the sign-in gave no session");
  const headers = { cookie };
  return {
    session,
    cookie,
    headers: { ...pageHeaders(gateway), ...headers },
    client: (service) => pageClient(gateway, service, headers),
  };
}
