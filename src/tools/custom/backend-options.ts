import type { Guard } from "../../outbound/address-guard.ts";

/** What each kind of backend is made with. */
export interface BackendOptions<Section> {
  /** The tool's name, for what the caller is told. */
  readonly tool: string;
  /** What stands behind it, as the operator wrote it; paths are absolute. */
  readonly section: Section;
  /** Headers, or metadata, of each call: secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** For what the caller is told; the call's signal aborts by then. ms */
  readonly timeoutMs: number;
  /** Longest answer that is read, bytes, after decompression. */
  readonly maxResponseBytes: number;
  readonly guard: Guard;
}
