import { createHash, randomBytes } from "node:crypto";
import os from "node:os";
import { askTokens, discover, gatewayOf, register } from "./authorization-server.ts";
import { openInBrowser } from "./browser.ts";
import { Loopback } from "./loopback.ts";
import { sessionOf, type SignIn } from "./session.ts";
import { defaultFolder, SignInFile } from "./sign-in-file.ts";

export { SignInError, type SignInProblem } from "./errors.ts";
export type { SignIn } from "./session.ts";

/** Which sign-in. */
export interface StoredOptions {
  /** The gateway's address, such as `https://tools.example.com`. */
  readonly baseUrl: string;
  /** Where sign-ins are stored, readable by their owner alone. Default: `toolgate` in the user's settings. */
  readonly folder?: string;
}

/** How a person signs in. */
export interface SignInOptions extends StoredOptions {
  /** The program's name, which the person sees. Default: `toolgate-client`. */
  readonly clientName?: string;
  /** Shows the person the address to sign in at. Default: prints it to stderr and opens the browser. */
  readonly open?: (address: string) => unknown;
  /** How long the person may take, ms. Default 300000. */
  readonly timeoutMs?: number;
}

/**
 * Signs a person in with the browser of this device (RFC 8252): the person sets what the program may do and
 * spend. Replaces the stored sign-in of the gateway.
 * @throws SignInError; TypeError for an address that is neither https nor on this machine
 */
export async function signIn(options: SignInOptions): Promise<SignIn> {
  const { clientName = "toolgate-client", open = openInBrowser, timeoutMs = 300_000 } = options;
  const gateway = gatewayOf(options.baseUrl);
  const server = await discover(gateway);
  const callback = await Loopback.open();
  try {
    const { redirectUri } = callback;
    const clientId = await register(server, { name: `${clientName} on ${os.hostname()}`, redirectUri });
    const [state, verifier] = [randomText(), randomText()];
    const address = new URL(server.authorize);
    const shared = { client_id: clientId, redirect_uri: redirectUri, resource: server.resource };
    const asked = {
      ...shared,
      response_type: "code",
      state,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
    const expected = { state, issuer: server.issuer };
    const shown = (async () => open(address.href))();
    const [code] = await Promise.all([callback.code(expected, timeoutMs), shown]);
    const grant = { ...shared, grant_type: "authorization_code", code, code_verifier: verifier };
    const tokens = await askTokens(server.token, grant);
    const file = fileOf(gateway, options);
    const { token: tokenUrl, revoke: revokeUrl } = server;
    await file.exclusively(() => file.write({ tokenUrl, revokeUrl, clientId, ...tokens }));
    return sessionOf(gateway, file);
  } finally {
    callback.close();
  }
}

/** Returns the stored sign-in of a gateway; undefined without one. @throws SignInError; TypeError */
export async function storedSignIn(options: StoredOptions): Promise<SignIn | undefined> {
  const gateway = gatewayOf(options.baseUrl);
  const file = fileOf(gateway, options);
  return (await file.read()) && sessionOf(gateway, file);
}

function fileOf(gateway: string, { folder = defaultFolder() }: StoredOptions): SignInFile {
  return new SignInFile(folder, gateway);
}

function randomText(): string {
  return randomBytes(32).toString("base64url");
}
