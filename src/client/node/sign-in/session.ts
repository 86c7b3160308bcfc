import { askTokens, revoke } from "./authorization-server.ts";
import { SignInError } from "./errors.ts";
import type { SignInFile, StoredSignIn } from "./sign-in-file.ts";

/** An access token is not used when it expires sooner, ms. */
const MARGIN_MS = 60_000;

/** A sign-in at a gateway, which lasts until it is revoked or unused for 30 days. */
export interface SignIn {
  /** Returns an access token that is valid for a minute at least. Takes the place of an API key. */
  readonly token: () => Promise<string>;
  /** A fetch that sends the token to the gateway, and to no other server. */
  readonly fetch: typeof fetch;
  /** Revokes it at the gateway, for all programs, and deletes its file. */
  readonly signOut: () => Promise<void>;
}

/** Returns the sign-in of a file. Methods throw SignInError. */
export function sessionOf(gateway: string, file: SignInFile): SignIn {
  let last: StoredSignIn | undefined;
  let refreshing: Promise<StoredSignIn> | undefined;
  const token = async (): Promise<string> => {
    if (!last || !isFresh(last)) {
      refreshing ??= freshOf(gateway, file).finally(() => (refreshing = undefined));
      last = await refreshing;
    }
    return last.accessToken;
  };
  return {
    token,
    async fetch(input, init) {
      const url = input instanceof Request ? input.url : input;
      if (new URL(url).origin !== gateway) return fetch(input, init);
      const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
      // A payment of the scheme Payment has that header.
      const isPayment = headers.get("authorization")?.startsWith("Payment ") === true;
      const sent = await token();
      if (isPayment) headers.set("x-api-key", sent);
      else headers.set("authorization", `Bearer ${sent}`);
      return fetch(input, { ...init, headers });
    },
    async signOut() {
      last = undefined;
      await file.exclusively(async () => {
        const stored = await file.read();
        if (stored) await revoke(stored.revokeUrl, stored.clientId, stored.refreshToken);
        await file.remove();
      });
    },
  };
}

function isFresh({ expiresAt }: StoredSignIn): boolean {
  return Date.now() < expiresAt - MARGIN_MS;
}

/** Refreshes the stored tokens, unless another process has. */
async function freshOf(gateway: string, file: SignInFile): Promise<StoredSignIn> {
  const stored = await required(gateway, file);
  if (isFresh(stored)) return stored;
  return file.exclusively(async () => {
    const current = await required(gateway, file);
    if (isFresh(current)) return current;
    const { tokenUrl, clientId, refreshToken } = current;
    const parameters = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: clientId };
    const next = { ...current, ...(await askTokens(tokenUrl, parameters)) };
    await file.write(next);
    return next;
  });
}

async function required(gateway: string, file: SignInFile): Promise<StoredSignIn> {
  const stored = await file.read();
  if (stored) return stored;
  throw new SignInError("SIGNED_OUT", `not signed in to ${gateway}; sign in first`);
}
