import { request as httpRequest } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { base58 } from "@scure/base";
import { z } from "zod";
import { parseAddress } from "../../domain/core/base58.ts";
import { isSignedBy } from "../../domain/core/ed25519.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { FeePayerKey } from "./sponsor.ts";

export interface SignerOptions {
  /** `unix:///path` or `https://host/path`. */
  readonly url: string;
  /** Sent as a bearer token. */
  readonly token: string | undefined;
  /** PEM certificates of the authorities that HTTPS accepts; default: the public ones. */
  readonly ca?: string | undefined;
  /** Time limit of a request. */
  readonly timeoutMs: number;
}

/** Largest answer, bytes, and signatures kept between the check of a payment and its relay. */
const [MAX_ANSWER, MAX_KEPT] = [4_096, 1_000];

const publicKeyAnswer = z.object({ public_key: z.string() });
const signatureAnswer = z.object({ signature: z.base64() });

/** A fee payer's key outside of the gateway. The protocol is in docs/reference/gasless.md. */
export class ExternalSigner implements FeePayerKey {
  readonly publicKey: Buffer;
  readonly #options: SignerOptions;
  readonly #signatures = new Lru<string, Buffer>(MAX_KEPT);

  private constructor(publicKey: Buffer, options: SignerOptions) {
    this.publicKey = publicKey;
    this.#options = options;
  }

  /** Asks for the public key. @throws TypeError when the signer does not answer with one */
  static async open(options: SignerOptions): Promise<ExternalSigner> {
    const answer = await ask(options, "public-key").catch((error: unknown) => {
      throw new TypeError(`FEE_PAYER_SIGNER: the signer does not answer GET public-key: ${messageOf(error)}`);
    });
    const key = parseAddress(publicKeyAnswer.safeParse(answer).data?.public_key ?? "");
    if (!key)
      throw new TypeError(
        'FEE_PAYER_SIGNER: the signer must answer GET public-key with {"public_key":"<base58>"}',
      );
    return new ExternalSigner(Buffer.from(key), options);
  }

  /** @throws Error unless {@link prepare} fetched the signature */
  sign(message: Uint8Array): Buffer {
    const signature = this.#signatures.get(nameOf(message));
    if (!signature) throw new Error("the signer was not asked to sign this message");
    return signature;
  }

  async prepare(message: Uint8Array): Promise<void> {
    if (this.#signatures.get(nameOf(message))) return;
    const body = { public_key: base58.encode(this.publicKey), message: nameOf(message) };
    try {
      const { signature } = signatureAnswer.parse(await ask(this.#options, "sign", body));
      const bytes = Buffer.from(signature, "base64");
      if (!isSignedBy(this.publicKey, message, bytes))
        throw new Error("its signature is not of the public key that it had at start");
      // A copy: a part of Node's pool would keep 64 KB of it.
      this.#signatures.set(nameOf(message), Buffer.alloc(bytes.length, bytes));
    } catch (cause) {
      throw new ToolgateError(
        "UNAVAILABLE",
        "the gateway's fee payer cannot sign now; nothing was sent, repeat the call",
        { retryAfterSeconds: 2, cause: new Error(`FEE_PAYER_SIGNER: ${messageOf(cause)}`) },
      );
    }
  }
}

/** Sends one request. @throws Error when it is not answered with 200 and JSON */
function ask({ url, token, ca, timeoutMs }: SignerOptions, path: string, body?: object): Promise<unknown> {
  const { protocol, hostname, port, pathname } = new URL(url);
  const local = protocol === "unix:";
  const options: RequestOptions = {
    ...(local
      ? { socketPath: decodeURIComponent(pathname), path: `/${path}` }
      : { hostname, port, path: `${pathname.replace(/\/$/, "")}/${path}` }),
    method: body ? "POST" : "GET",
    headers: {
      ...(local && { host: "localhost" }),
      ...(body && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    signal: AbortSignal.timeout(timeoutMs),
    ...(ca !== undefined && { ca }),
  };
  return new Promise((resolve, reject) => {
    const sent = (local ? httpRequest : httpsRequest)(options, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > MAX_ANSWER) sent.destroy(new Error(`its answer is longer than ${MAX_ANSWER} bytes`));
        else chunks.push(chunk);
      });
      response.on("end", () => {
        if (response.statusCode !== 200) return reject(new Error(`it answered ${response.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        } catch {
          reject(new Error("its answer is not JSON"));
        }
      });
      response.on("error", reject);
    });
    sent.on("error", (error) =>
      reject(error.name === "AbortError" ? new Error(`no answer within ${timeoutMs} ms`) : error),
    );
    sent.end(body && JSON.stringify(body));
  });
}

function nameOf(message: Uint8Array): string {
  return Buffer.from(message).toString("base64");
}

function messageOf(error: unknown): string {
  if (error instanceof z.ZodError) return 'its answer must be {"signature":"<base64>"}';
  return error instanceof Error ? error.message : String(error);
}
