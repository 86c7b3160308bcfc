import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import type { ObjectStore } from "./object-store.ts";

export interface S3Options {
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
  /** Of an S3-compatible service; default: that of AWS. */
  readonly endpoint?: string | undefined;
}

/** Longest wait for one object, ms. */
const TIMEOUT_MS = 60_000;
/** Repeats after an error of the service, and the longest first pause, ms. */
const [RETRIES, FIRST_PAUSE_MS] = [4, 200];

/** Objects in a bucket of Amazon S3 or a compatible service. */
export class S3Store implements ObjectStore {
  readonly address: string;
  readonly #client: AwsClient;
  readonly #base: string;

  constructor({ bucket, prefix, endpoint, ...access }: S3Options) {
    const { sessionToken, ...credentials } = access;
    this.address = `s3://${bucket}/${prefix}`;
    // A compatible service may not know the bucket as a part of its host name.
    const root =
      endpoint === undefined
        ? `https://${bucket}.s3.${access.region}.amazonaws.com`
        : `${endpoint.replace(/\/$/, "")}/${bucket}`;
    this.#base = `${root}/${prefix}`;
    this.#client = new AwsClient({
      ...credentials,
      ...(sessionToken !== undefined && { sessionToken }),
      service: "s3",
      retries: RETRIES,
      initRetryMs: FIRST_PAUSE_MS,
    });
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    const response = await this.#send("GET", name);
    if (response.status === 404) return undefined;
    await requireOk(response, `reading ${this.address}${name}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  async create(name: string, content: Uint8Array): Promise<boolean> {
    // Not every compatible service knows If-None-Match.
    const found = await this.#send("HEAD", name);
    if (found.ok) return false;
    if (found.status !== 404) await requireOk(found, `looking for ${this.address}${name}`);
    const response = await this.#send("PUT", name, content);
    if (response.status === 412) return false;
    await requireOk(response, `writing ${this.address}${name}`);
    await response.arrayBuffer();
    return true;
  }

  #send(method: "GET" | "HEAD" | "PUT", name: string, content?: Uint8Array): Promise<Response> {
    const body = content && new Uint8Array(content);
    return this.#client.fetch(`${this.#base}${name}`, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body && {
        body,
        headers: {
          "If-None-Match": "*",
          "Content-Type": "application/octet-stream",
          // The service refuses content that was changed on its way.
          "X-Amz-Content-Sha256": createHash("sha256").update(body).digest("hex"),
        },
      }),
    });
  }
}

/** @throws Error with the service's error code, such as AccessDenied */
async function requireOk(response: Response, what: string): Promise<void> {
  if (response.ok) return;
  const text = await response.text();
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1];
  throw new Error(`${what}: HTTP ${response.status}${code === undefined ? "" : ` ${code}`}`);
}
