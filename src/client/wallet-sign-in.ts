import { addressOf, signText, type Signer } from "./signer.ts";
import { toBase58 } from "./base58.ts";
import { fromBase64, isObject, jsonObject, toBase64 } from "./bytes.ts";
import { UnsupportedOfferError } from "./errors.ts";
import { X402_NETWORK } from "./offer.ts";
import type { Endpoint } from "./connect-call.ts";

/** Any path whose answer without a sign-in is a challenge. */
const CHALLENGE_PATH = "/v1/keys";
/** A header is not used for reading when it expires sooner, ms. */
const MARGIN_MS = 60_000;
/** Members of a challenge that are signed as they are. */
interface Challenge {
  readonly domain: string;
  readonly statement: string;
  readonly version: string;
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime: string;
}

/** The header of a signed request. */
type SignInHeader = { readonly "SIGN-IN-WITH-X": string };

/** Signs requests with a wallet in place of an API key (x402 extension `sign-in-with-x`). */
export class WalletSignIn {
  readonly #endpoint: Pick<Endpoint, "baseUrl" | "fetch">;
  readonly #signer: Signer;
  /** Of the last path that was read: its pages share it. */
  #reading: { path: string; header: SignInHeader; until: number } | undefined;

  constructor(endpoint: Pick<Endpoint, "baseUrl" | "fetch">, signer: Signer) {
    this.#endpoint = endpoint;
    this.#signer = signer;
  }

  /** Returns a header for GET requests to this path, which change nothing; the same one for some minutes. */
  async forReading(path: string, signal?: AbortSignal): Promise<SignInHeader> {
    const last = this.#reading;
    if (last?.path === path && Date.now() < last.until) return last.header;
    this.#reading = { path, ...(await this.#sign("GET", path, signal)) };
    return this.#reading.header;
  }

  /** Returns a header for one request. */
  async forOne(method: string, path: string, signal?: AbortSignal): Promise<SignInHeader> {
    return (await this.#sign(method, path, signal)).header;
  }

  async #sign(
    method: string,
    path: string,
    signal?: AbortSignal,
  ): Promise<{ header: SignInHeader; until: number }> {
    const { baseUrl, fetch } = this.#endpoint;
    const init: RequestInit = { redirect: "error", ...(signal && { signal }) };
    const offered = (await fetch(baseUrl + CHALLENGE_PATH, init)).headers.get("payment-required");
    const challenge = challengeIn(offered, baseUrl);
    const { domain, statement, version, nonce, issuedAt, expirationTime } = challenge;
    const address = addressOf(this.#signer);
    const uri = new URL(baseUrl + path).href;
    const text =
      `${domain} wants you to sign in with your Solana account:\n${address}\n\n${statement}\n\n` +
      `URI: ${uri}\nVersion: ${version}\nChain ID: ${X402_NETWORK.slice("solana:".length)}\n` +
      `Nonce: ${nonce}\nIssued At: ${issuedAt}\nExpiration Time: ${expirationTime}\nRequest ID: ${method}`;
    const signature = toBase58(await signText(this.#signer, new TextEncoder().encode(text)));
    const payload = {
      ...challenge,
      requestId: method,
      uri,
      address,
      chainId: X402_NETWORK,
      type: "ed25519",
      signature,
    };
    const header = toBase64(new TextEncoder().encode(JSON.stringify(payload)));
    // By this machine's clock, which may differ from the gateway's.
    const life = Date.parse(expirationTime) - Date.parse(issuedAt);
    return { header: { "SIGN-IN-WITH-X": header }, until: Date.now() + life - MARGIN_MS };
  }
}

/** Returns the challenge of PAYMENT-REQUIRED, of this gateway's domain. @throws UnsupportedOfferError */
function challengeIn(header: string | null, baseUrl: string): Challenge {
  const bytes = header === null ? undefined : fromBase64(header);
  const extensions = bytes && jsonObject(new TextDecoder().decode(bytes))?.["extensions"];
  const offered = isObject(extensions) ? extensions["sign-in-with-x"] : undefined;
  const info = isObject(offered) ? offered["info"] : undefined;
  const member = (name: string): string => {
    const value = isObject(info) ? info[name] : undefined;
    if (typeof value === "string" && !/[^\x20-\x7e]/.test(value)) return value;
    throw new UnsupportedOfferError(`sign-in-with-x: ${name} is missing; is X402_KEYLESS off?`);
  };
  const { host } = new URL(baseUrl);
  if (member("domain") !== host)
    throw new UnsupportedOfferError(
      `sign-in-with-x: domain is ${member("domain")}, called was ${host}; nothing was signed`,
    );
  return {
    domain: host,
    statement: member("statement"),
    version: member("version"),
    nonce: member("nonce"),
    issuedAt: member("issuedAt"),
    expirationTime: member("expirationTime"),
  };
}
