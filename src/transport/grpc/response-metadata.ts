import { Metadata } from "@grpc/grpc-js";
import type { Header } from "../headers.ts";

/** Response metadata with trusted names and values: skips the validation and the two copies of grpc-js. */
export class ResponseMetadata extends Metadata {
  // grpc-js would offer gzip, which this server rejects.
  readonly #entries: Record<string, string> = { "grpc-accept-encoding": "identity" };

  constructor(headers: readonly Header[]) {
    super();
    for (const [name, value] of headers) this.#entries[name] = value;
  }

  override toHttp2Headers(): Record<string, string> {
    return this.#entries;
  }
}
