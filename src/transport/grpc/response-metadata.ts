import { Metadata } from "@grpc/grpc-js";
import type { Header } from "../header.ts";

/**
 * Metadata that goes out before an answer. Its names and values are the gateway's own, so that they go as they are: grpc-js would
 * look at each by a pattern, and copy them all twice.
 */
export class ResponseMetadata extends Metadata {
  // grpc-js would offer gzip, which is refused.
  readonly #entries: Record<string, string> = { "grpc-accept-encoding": "identity" };

  constructor(headers: readonly Header[]) {
    super();
    for (const [name, value] of headers) this.#entries[name] = value;
  }

  override toHttp2Headers(): Record<string, string> {
    return this.#entries;
  }
}
